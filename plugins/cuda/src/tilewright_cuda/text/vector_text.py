"""Vectorised loops: two or four elements of memory at once where they are aligned, else one by one.

A load or store is one instruction for `width` lanes where its index grows by one with the loop and
is else made of multiples of the width. Guards and selects in which the lanes cannot differ stay
around the whole vector; where they may differ, each lane has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tilewright_cuda.text.value_text import KernelValues, is_copy, unmasked
from tilewright_tensor.expressions.affine import Affine, Var
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Const, IndexValue, Load, Op, Value, indexes_in
from tilewright_tensor.ir.facts import Condition, condition_of
from tilewright_tensor.ir.loop_ir import Block, Guard, Loop, Statement, Store

_LANES = "xyzw"
_COPIED_LANES = 4
_TYPES = {
    "float32": "float", "tf32": "float", "int32": "int", "float16": "ushort", "bfloat16": "ushort",
    "int8": "char", "uint8": "uchar",
}  # fmt: skip
Lanes = tuple[str, ...]


class VectorText:
    """Writes vectorised loops."""

    def __init__(self, values: KernelValues) -> None:
        self.values = values
        self._named = 0
        self.copies = False
        """Whether stores are asynchronous copies where they can be."""

    def fresh(self) -> str:
        """A name for the next vector."""
        self._named += 1
        return self.values.index.names.of(f"v{self._named}")

    def loop(self, loop: Loop, once: Callable[[Buffer], str]) -> Iterator[str]:
        """Lines of the loop; `once` gives what stands before a store to a buffer."""
        index = self.values.index
        index.bounds[loop.var] = (0, loop.extent - 1)
        name = index.names.of(loop.var)
        width = self._width(loop)
        if width == loop.extent:
            yield from _Chunk(self, loop.var, Affine(), width, once).statement(loop.body)
            return
        step = f"{name} += {width}" if width > 1 else f"++{name}"
        yield "#pragma unroll"
        yield f"for (int {name} = 0; {name} < {loop.extent}; {step}) {{"
        first = Affine(((loop.var, 1),))
        chunk = _Chunk(self, loop.var, first, width, once)
        for line in chunk.statement(loop.body):
            yield f"  {line}"
        yield "}"

    def _width(self, loop: Loop) -> int:
        """The widest access in the loop; 1 where memory is accessed by element only."""
        for width in (4, 2):
            if loop.extent % width == 0 and any(
                is_whole(self.values, access, loop.var, width) for access in _accesses(loop.body)
            ):
                return width
        return 1


def is_whole(values: KernelValues, access: Load, var: Var, width: int) -> bool:
    """Whether the lanes of an access are one aligned vector in memory."""
    buffer = access.buffer
    if buffer.scope not in ("global", "shared") or buffer.dtype not in _TYPES:
        return False
    return is_run(values.index.flat(buffer, access.indices), var, width)


def is_run(flat: Affine, var: Var, width: int) -> bool:
    """Whether an index is `var` plus multiples of the width."""
    own = 0
    for atom, coefficient in flat.terms:
        if atom == var:
            own = coefficient
        elif coefficient % width or (not isinstance(atom, Var) and var in atom.variables()):
            return False
    return own == 1 and flat.constant % width == 0


class _Chunk:
    """The lanes `at`, `at + 1`, ... of a loop."""

    def __init__(
        self,
        vectors: VectorText,
        var: Var,
        at: Affine,
        width: int,
        once: Callable[[Buffer], str],
    ) -> None:
        self.vectors, self.values = vectors, vectors.values
        self.var, self.at, self.width, self.once = var, at, width, once
        self.by_lane = [self.values.at({var: at + lane}) for lane in range(width)]
        self.lines: list[str] = []

    def statement(self, statement: Statement) -> list[str]:
        """Lines of the body."""
        self.lines = []
        self._statement(statement)
        return self.lines

    def _statement(self, statement: Statement) -> None:
        if isinstance(statement, Block):
            for one in statement.statements:
                self._statement(one)
        elif isinstance(statement, Guard):
            if all(self._is_uniform(condition) for condition in statement.conditions):
                head = f"if ({self.by_lane[0].index.conditions(statement.conditions)})"
                self._indented(head, lambda: self._statement(statement.body))
            else:
                self._lane_by_lane(statement)
        else:
            assert isinstance(statement, Store)
            self._store(statement)

    def _indented(self, head: str, write: Callable[[], None]) -> None:
        outer, self.lines = self.lines, []
        write()
        inner, self.lines = self.lines, outer
        self.lines += [f"{head} {{", *(f"  {line}" for line in inner), "}"]

    def _lane_by_lane(self, guard: Guard) -> None:
        for lane in range(self.width):
            one = _Chunk(self.vectors, self.var, self.at + lane, 1, self.once)
            self.lines += one.statement(guard)

    def _store(self, store: Store) -> None:
        target = Load(store.buffer, store.indices)
        once = self.once(store.buffer)
        if self.vectors.copies and self._copy(store, once):
            return
        lanes = self._lanes(store.value)
        if self.width > 1 and is_whole(self.values, target, self.var, self.width):
            place = self._whole(target, "")
            self.lines.append(f"{once}{place} = {self._joined(lanes, store.buffer.dtype)};")
            return
        for lane, text in enumerate(lanes):
            self.lines.append(f"{once}{self._scalar(target, lane)} = {text};")

    def _copy(self, store: Store, once: str) -> bool:
        """Writes asynchronous copies, of 16 bytes or by lane; False where the store is no copy."""
        condition, value = unmasked(store.value)
        if not (
            is_copy(store)
            and isinstance(value, Load)
            and (condition is None or self._decided_at_once(condition))
            and is_whole(self.values, value, self.var, self.width)
        ):
            lanes = [lane.copy(store) for lane in self.by_lane]
            self.lines += [f"{once}{text};" for text in lanes if text]
            return None not in lanes
        target = Load(store.buffer, store.indices)
        whole = self.width == _COPIED_LANES and is_whole(self.values, target, self.var, self.width)
        size, count = (16, 1) if whole else (4, self.width)
        name, source = self.values.index.helper(f"cp{size}"), self._scalar(value, 0)
        valid = f", {self._scalar(condition, 0)} ? {size} : 0" if condition is not None else ""
        for lane in range(count):
            step = f" + {lane}" if lane else ""
            to = self._scalar(target, lane)
            self.lines.append(f"{once}{name}(&{to}, &{source}{step}{valid});")
        return True

    # --- values ---

    def _lanes(self, value: Value) -> Lanes:
        """C expressions of all lanes; what they need is written before."""
        if isinstance(value, Const) or self.width == 1 or not self._varies(value):
            return (self._scalar(value, 0),) * self.width
        if isinstance(value, Load):
            if is_whole(self.values, value, self.var, self.width):
                return self._named(value.buffer.dtype, self._whole(value, "const "))
        elif isinstance(value, Op) and value.name == "select":
            if value.dtype in _TYPES and self._decided_at_once(value.args[0]):
                return self._select(value)
        elif isinstance(value, Op) and not _compares_indexes(value):
            args = [self._lanes(arg) for arg in value.args]
            return tuple(
                self.values.operation(value, [arg[lane] for arg in args])
                for lane in range(self.width)
            )
        return tuple(self._scalar(value, lane) for lane in range(self.width))

    def _select(self, value: Op) -> Lanes:
        """One test for all lanes; the side not taken is not read."""
        condition = self._scalar(value.args[0], 0)
        kind = f"{_TYPES[value.dtype]}{self.width}"
        then, otherwise = value.args[1:]
        if (
            isinstance(then, Load)
            and isinstance(otherwise, Const)
            and is_whole(self.values, then, self.var, self.width)
        ):
            other = self._joined(self._lanes(otherwise), value.dtype)
            text = f"{condition} ? {self._whole(then, 'const ')} : {other}"
            return self._named(value.dtype, text)
        name = self.vectors.fresh()
        self.lines.append(f"{kind} {name};")
        for head, side in ((f"if ({condition})", then), ("else", otherwise)):

            def write(side: Value = side) -> None:
                joined = self._joined(self._lanes(side), value.dtype)
                self.lines.append(f"{name} = {joined};")

            self._indented(head, write)
        return tuple(f"{name}.{lane}" for lane in _LANES[: self.width])

    def _named(self, dtype: str, text: str) -> Lanes:
        """A vector as a variable of its own."""
        name = self.vectors.fresh()
        self.lines.append(f"const {_TYPES[dtype]}{self.width} {name} = {text};")
        return tuple(f"{name}.{lane}" for lane in _LANES[: self.width])

    def _joined(self, lanes: Lanes, dtype: str) -> str:
        name = lanes[0].removesuffix(".x")
        if lanes == tuple(f"{name}.{lane}" for lane in _LANES[: self.width]):
            return name
        return f"make_{_TYPES[dtype]}{self.width}({', '.join(lanes)})"

    def _whole(self, access: Load, constant: str) -> str:
        kind = f"{constant}{_TYPES[access.buffer.dtype]}{self.width} *"
        return f"*({kind})&{self._scalar(access, 0)}"

    def _scalar(self, value: Value, lane: int) -> str:
        """The value in one lane, as text."""
        return self.by_lane[lane].value(value)

    # --- where lanes differ ---

    def _varies(self, value: Value) -> bool:
        return any(self.var in index.variables() for index in indexes_in(value))

    def _decided_at_once(self, condition: Value) -> bool:
        if not self._varies(condition):
            return True
        if not isinstance(condition, Op):
            return False
        if condition.name in ("and", "or", "not"):
            return all(self._decided_at_once(arg) for arg in condition.args)
        less = condition_of(condition.name, condition.args)
        return less is not None and self._is_uniform(less)

    def _is_uniform(self, condition: Condition) -> bool:
        """Whether the condition holds for all lanes or for none."""
        index, limit = condition
        if self.width == 1 or self.var not in index.variables():
            return True
        # run < limit - constant, or run >= constant - limit + 1
        for sign, threshold in ((1, limit - index.constant), (-1, index.constant - limit + 1)):
            run = Affine(index.terms) * sign
            if is_run(run, self.var, self.width) and threshold % self.width == 0:
                return True
        return False


def _compares_indexes(value: Op) -> bool:
    return value.dtype == "bool" and all(isinstance(arg, IndexValue) for arg in value.args)


def _accesses(statement: Statement) -> Iterator[Load]:
    if isinstance(statement, Block):
        for one in statement.statements:
            yield from _accesses(one)
    elif isinstance(statement, Guard):
        yield from _accesses(statement.body)
    elif isinstance(statement, Store):
        yield Load(statement.buffer, statement.indices)
        yield from _loads(statement.value)


def _loads(value: Value) -> Iterator[Load]:
    if isinstance(value, Load):
        yield value
    elif isinstance(value, Op):
        for arg in value.args:
            yield from _loads(arg)
