"""Loads and stores of one function.

Buffers never alias, so a load is repeated only after a store to its own buffer. In a vectorised
loop an access with lane stride 1 is a vector access, with stride 0 a scalar one, with another a
gather or scatter. Lanes that a guard or the loop's end cut off are masked, except for loads that
provably stay inside their buffer: these are cheaper unmasked, and surplus lanes are never stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import NamedTuple

from tilewright_tensor.expressions.affine import Affine
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Load, leaves
from tilewright_tensor.ir.loop_ir import Prefetch, Store
from tilewright_x86.llvm_ir.index_text import Indexes, Lanes, LaneVaryingDivisionError, Linear
from tilewright_x86.llvm_ir.llvm_text import LLVM_TYPES, FunctionText, mangled, memory_type
from tilewright_x86.llvm_ir.register_slots import NeedsMemoryError, RegisterSlots
from tilewright_x86.llvm_ir.whole_stores import whole


class SsaValue(NamedTuple):
    """An SSA name or literal, and whether it differs from lane to lane."""

    text: str
    varies: bool


class Memory:
    """Accesses to the buffers of one function; `bases` maps those in memory to pointers."""

    def __init__(
        self,
        function: FunctionText,
        indexes: Indexes,
        registers: RegisterSlots,
        declare: Callable[[str], None],
    ) -> None:
        self.function = function
        self.indexes = indexes
        self.registers = registers
        self.declare = declare
        self.bases: dict[str, str] = {}
        self._loaded: dict[str, dict[str, str]] = {}
        self._flat: dict[int, Affine] = {}  # by identity: the program keeps its nodes alive
        self._lane: tuple[Lanes, int] | None = None  # the one of a vector that is written alone

    # --- what is still valid ---

    def enter(self, stored: Iterable[str]) -> dict[str, dict[str, str]]:
        """Begin a region that stores to some buffers; returns what `leave` takes."""
        before = self._loaded
        self._loaded = {name: dict(loads) for name, loads in before.items() if name not in stored}
        return before

    def leave(self, before: dict[str, dict[str, str]], stored: Iterable[str]) -> None:
        """End the region: its loads are out of reach, those of stored buffers are stale."""
        self._loaded = {name: loads for name, loads in before.items() if name not in stored}

    def forget(self, buffer: Buffer) -> None:
        """Loads of the buffer are stale: something was stored to it."""
        self._loaded.pop(buffer.name, None)

    # --- addresses ---

    def flat(self, node: Load | Store | Prefetch) -> Affine:
        """The access as one index into row-major memory."""
        known = self._flat.get(id(node))
        if known is None:
            known = self._flat[id(node)] = node.buffer.flat(node.indices)
        return known

    def in_bounds(self, node: Load) -> bool:
        """Whether the access stays inside its buffer for all of the open loops, guards or not."""
        loads = [leaf for leaf in leaves(node)[1:] if isinstance(leaf, Load)]
        if not all(map(self.in_bounds, loads)):
            return False
        try:
            low, high = self.indexes.range(self.indexes.linear(self.flat(node)))
        except LaneVaryingDivisionError:
            return False
        return low >= 0 and high < prod(node.buffer.shape)

    def address(self, buffer: Buffer, at: Linear) -> tuple[str, int]:
        """Pointer to the first lane, and its alignment in bytes.

        Operands start on 64-byte lines.
        """
        item = buffer.item_bytes
        base = self.bases.get(buffer.name)
        if base is None:
            raise NeedsMemoryError(buffer)
        pointer = self.indexes.pointer(base, at.terms, memory_type(buffer.dtype))
        bits = at.constant
        for _, coefficient in at.terms:
            bits |= coefficient
        bits = bits * item | 64
        if at.constant:
            pointer = self.function.define(
                f"getelementptr i8, ptr {pointer}, i64 {at.constant * item}"
            )
        return pointer, bits & -bits

    # --- loads ---

    def load(self, node: Load) -> SsaValue:
        """The element, or the elements of all lanes."""
        buffer, lanes = node.buffer, self.indexes.lanes
        try:
            at = self.indexes.linear(self.flat(node))
        except LaneVaryingDivisionError:
            return self._load_lane_by_lane(node)
        if buffer.name not in self.bases:
            return self._load_register(buffer, at)
        if lanes is None or not at.stride:
            if lanes and lanes.mask and not self.in_bounds(node):
                return SsaValue(self._load_if_any(buffer, at, lanes.mask, lanes.width), False)
            if lanes is None and self._lane and self._lane[0].mask and not self.in_bounds(node):
                condition = self._lane_condition(*self._lane)
                return SsaValue(self._load_if(buffer, at, condition), False)
            return SsaValue(self._load_scalar(buffer, at), False)
        unmasked = (lanes.mask is None and lanes.tail is None) or self.in_bounds(node)
        if at.stride == 1:
            return SsaValue(self._load_vector(buffer, at, None if unmasked else self._mask()), True)
        if at.stride == 2 and unmasked:
            return SsaValue(self._load_every_second(buffer, at, lanes.width), True)
        if lanes.mask and not unmasked:
            return SsaValue(self._gather(buffer, at), True)
        return self._load_lane_by_lane(node)

    def _load_register(self, buffer: Buffer, at: Linear) -> SsaValue:
        lanes = self.indexes.lanes
        if at.terms:
            raise NeedsMemoryError(buffer)
        if lanes is None or not at.stride:
            return SsaValue(self.registers.read_scalar(buffer, at.constant), False)
        if at.stride == 1 and self.registers.has_vector(
            buffer, at.constant, lanes.width, lanes.valid
        ):
            value = self.registers.read_vector(buffer, at.constant, lanes.width, lanes.valid)
            return SsaValue(value, True)
        if at.stride > 1:
            across = self.registers.read_across(
                buffer, at.constant, at.stride, lanes.width, lanes.valid
            )
            if across is not None:
                return SsaValue(across, True)
        scalars = [
            self.registers.read_scalar(buffer, at.constant + lane * at.stride)
            for lane in range(lanes.valid)
        ]
        return SsaValue(self._vector_of(scalars, LLVM_TYPES[buffer.dtype], lanes.width), True)

    def remember(self, buffer: Buffer, instruction: str, lanes: int) -> str:
        """The load's result, loaded once; a bool is narrowed to i1."""
        loads = self._loaded.setdefault(buffer.name, {})
        name = loads.get(instruction)
        if name is None:
            name = self.function.value(instruction)
            if buffer.dtype == "bool":
                kind = f"<{lanes} x i8>" if lanes else "i8"
                zero = "zeroinitializer" if lanes else "0"
                name = self.function.value(f"icmp ne {kind} {name}, {zero}")
            loads[instruction] = name
        return name

    def _load_scalar(self, buffer: Buffer, at: Linear) -> str:
        return self.remember(buffer, self._scalar(buffer, at), 0)

    def _scalar(self, buffer: Buffer, at: Linear) -> str:
        pointer, align = self.address(buffer, at)
        return f"load {memory_type(buffer.dtype)}, ptr {pointer}, align {align}"

    def _load_vector(self, buffer: Buffer, at: Linear, mask: str | None) -> str:
        assert self.indexes.lanes is not None
        width = self.indexes.lanes.width
        pointer, align = self.address(buffer, at)
        item = memory_type(buffer.dtype)
        kind = f"<{width} x {item}>"
        if mask is None:
            return self.remember(buffer, f"load {kind}, ptr {pointer}, align {align}", width)
        name = f"@llvm.masked.load.v{width}{mangled(item)}.p0"
        self.declare(f"{kind} {name}(ptr, i32, <{width} x i1>, {kind})")
        return self.remember(
            buffer,
            f"call {kind} {name}(ptr {pointer}, i32 {align}, <{width} x i1> {mask}, "
            f"{kind} zeroinitializer)",
            width,
        )

    def _load_every_second(self, buffer: Buffer, at: Linear, width: int) -> str:
        """Stride 2 as two vector loads and a shuffle.

        The second starts so that it ends on the last element.
        """
        low = self._load_vector(buffer, at, None)
        high = self._load_vector(buffer, at._replace(constant=at.constant + width - 1), None)
        picks = [2 * i if 2 * i < width else width + 2 * i - (width - 1) for i in range(width)]
        kind = f"<{width} x {LLVM_TYPES[buffer.dtype]}>"
        order = ", ".join(f"i32 {pick}" for pick in picks)
        return self.function.define(
            f"shufflevector {kind} {low}, {kind} {high}, <{width} x i32> <{order}>"
        )

    def _load_if_any(self, buffer: Buffer, at: Linear, mask: str, width: int) -> str:
        """A scalar load that may lie outside the buffer where no lane is left.

        The values loaded for the other lanes are taken.
        """
        known = self._loaded.get(buffer.name, {}).get(self._scalar(buffer, at))
        if known is not None:
            return known
        reduce = f"@llvm.vector.reduce.or.v{width}i1"
        self.declare(f"i1 {reduce}(<{width} x i1>)")
        any_lane = self.function.define(f"call i1 {reduce}(<{width} x i1> {mask})")
        return self._load_if(buffer, at, any_lane)

    def _load_if(self, buffer: Buffer, at: Linear, condition: str) -> str:
        one = self.function.define(f"insertelement <1 x i1> poison, i1 {condition}, i32 0")
        pointer, align = self.address(buffer, at)
        item = memory_type(buffer.dtype)
        name = f"@llvm.masked.load.v1{mangled(item)}.p0"
        self.declare(f"<1 x {item}> {name}(ptr, i32, <1 x i1>, <1 x {item}>)")
        vector = self.remember(
            buffer,
            f"call <1 x {item}> {name}(ptr {pointer}, i32 {align}, <1 x i1> {one}, "
            f"<1 x {item}> zeroinitializer)",
            1,
        )
        return self.function.define(
            f"extractelement <1 x {LLVM_TYPES[buffer.dtype]}> {vector}, i32 0"
        )

    def _gather(self, buffer: Buffer, at: Linear) -> str:
        assert self.indexes.lanes is not None
        width, item = self.indexes.lanes.width, memory_type(buffer.dtype)
        pointer, align = self.address(buffer, at)
        align = min(align, buffer.item_bytes)
        steps = ", ".join(f"i64 {lane * at.stride}" for lane in range(width))
        pointers = self.function.define(
            f"getelementptr {item}, ptr {pointer}, <{width} x i64> <{steps}>"
        )
        kind = f"<{width} x {item}>"
        name = f"@llvm.masked.gather.v{width}{mangled(item)}.v{width}p0"
        self.declare(f"{kind} {name}(<{width} x ptr>, i32, <{width} x i1>, {kind})")
        return self.remember(
            buffer,
            f"call {kind} {name}(<{width} x ptr> {pointers}, i32 {align}, "
            f"<{width} x i1> {self._mask()}, {kind} zeroinitializer)",
            width,
        )

    def _load_lane_by_lane(self, node: Load) -> SsaValue:
        return self.lane_by_lane(LLVM_TYPES[node.buffer.dtype], lambda: self.load(node).text)

    def lane_by_lane(self, item: str, scalar: Callable[[], str]) -> SsaValue:
        """A vector of what `scalar` writes at each lane; it loads where the lane is wanted."""
        lanes = self.indexes.lanes
        assert lanes is not None
        scalars = []
        for lane in range(lanes.valid):
            self._lane = (lanes, lane)
            with self.indexes.at_lane(lane):
                scalars.append(scalar())
            self._lane = None
        return SsaValue(self._vector_of(scalars, item, lanes.width), True)

    def _lane_condition(self, lanes: Lanes, lane: int) -> str:
        return self.function.define(f"extractelement <{lanes.width} x i1> {lanes.mask}, i32 {lane}")

    def _vector_of(self, scalars: list[str], item: str, width: int) -> str:
        vector = "poison"
        for lane, scalar in enumerate(scalars):
            vector = self.function.define(
                f"insertelement <{width} x {item}> {vector}, {item} {scalar}, i32 {lane}"
            )
        return vector

    def _mask(self) -> str:
        """Lanes that may be touched: those that guards leave and that lie inside the loop."""
        lanes = self.indexes.lanes
        assert lanes is not None
        if lanes.mask is None or lanes.tail is None:
            return lanes.mask or lanes.tail or ""
        return self.function.define(f"and <{lanes.width} x i1> {lanes.mask}, {lanes.tail}")

    # --- stores ---

    def store(self, node: Store, value: SsaValue) -> None:
        """`node.buffer[...] = value`; a value that varies has one element a lane."""
        buffer, lanes = node.buffer, self.indexes.lanes
        try:
            at = self.indexes.linear(self.flat(node))
        except LaneVaryingDivisionError:
            self._store_lane_by_lane(node, value)
            return
        if buffer.name not in self.bases:
            self._store_register(buffer, at, value)
            return
        loads = set(self._loaded.pop(buffer.name, {}).values())
        if lanes is None:
            self._store_scalar(buffer, at, value.text)
        elif at.stride == 1:
            self._store_vector(buffer, at, whole(self.function, value.text, loads))
        else:
            self._store_lane_by_lane(node, value)

    def _store_register(self, buffer: Buffer, at: Linear, value: SsaValue) -> None:
        lanes = self.indexes.lanes
        if at.terms:
            raise NeedsMemoryError(buffer)
        if lanes is None:
            self.registers.write_scalar(buffer, at.constant, value.text)
            return
        if at.stride != 1:
            raise NeedsMemoryError(buffer)
        text, width, valid = value.text, lanes.width, lanes.valid
        if lanes.mask and self.registers.has_vector(buffer, at.constant, width, valid):
            old = self.registers.read_vector(buffer, at.constant, width, valid)
            kind = f"<{width} x {LLVM_TYPES[buffer.dtype]}>"
            text = self.function.define(
                f"select <{width} x i1> {lanes.mask}, {kind} {text}, {kind} {old}"
            )
        self.registers.write_vector(buffer, at.constant, width, valid, text)

    def _store_scalar(self, buffer: Buffer, at: Linear, text: str) -> None:
        pointer, align = self.address(buffer, at)
        if buffer.dtype == "bool":
            text = self.function.define(f"zext i1 {text} to i8")
        self.function.effect(
            f"store {memory_type(buffer.dtype)} {text}, ptr {pointer}, align {align}"
        )

    def _store_vector(self, buffer: Buffer, at: Linear, text: str) -> None:
        assert self.indexes.lanes is not None
        width, item = self.indexes.lanes.width, memory_type(buffer.dtype)
        pointer, align = self.address(buffer, at)
        kind = f"<{width} x {item}>"
        if buffer.dtype == "bool":
            text = self.function.define(f"zext <{width} x i1> {text} to {kind}")
        mask = self._mask()
        if not mask:
            self.function.effect(f"store {kind} {text}, ptr {pointer}, align {align}")
            return
        name = f"@llvm.masked.store.v{width}{mangled(item)}.p0"
        self.declare(f"void {name}({kind}, ptr, i32, <{width} x i1>)")
        self.function.effect(
            f"call void {name}({kind} {text}, ptr {pointer}, i32 {align}, <{width} x i1> {mask})"
        )

    def _store_lane_by_lane(self, node: Store, value: SsaValue) -> None:
        lanes = self.indexes.lanes
        assert lanes is not None
        kind = LLVM_TYPES[node.buffer.dtype]
        for lane in range(lanes.valid):
            condition = self._lane_condition(lanes, lane) if lanes.mask else None
            scalar = self.function.define(
                f"extractelement <{lanes.width} x {kind}> {value.text}, i32 {lane}"
            )
            with self.indexes.at_lane(lane):
                if condition is None:
                    self.store(node, SsaValue(scalar, False))
                else:
                    self._store_if(node, scalar, condition)

    def _store_if(self, node: Store, scalar: str, condition: str) -> None:
        buffer = node.buffer
        if buffer.name not in self.bases:
            raise NeedsMemoryError(buffer)
        self.forget(buffer)
        pointer, align = self.address(buffer, self.indexes.linear(self.flat(node)))
        item = memory_type(buffer.dtype)
        if buffer.dtype == "bool":
            scalar = self.function.define(f"zext i1 {scalar} to i8")
        one = self.function.define(f"insertelement <1 x {item}> poison, {item} {scalar}, i32 0")
        name = f"@llvm.masked.store.v1{mangled(item)}.p0"
        self.declare(f"void {name}(<1 x {item}>, ptr, i32, <1 x i1>)")
        mask = self.function.define(f"insertelement <1 x i1> poison, i1 {condition}, i32 0")
        self.function.effect(
            f"call void {name}(<1 x {item}> {one}, ptr {pointer}, i32 {align}, <1 x i1> {mask})"
        )

    def prefetch(self, node: Prefetch) -> None:
        """Ask for the line of the element; into all cache levels, for reading."""
        if node.buffer.name not in self.bases:
            return
        try:
            at = self.indexes.linear(self.flat(node))
        except LaneVaryingDivisionError:
            return
        pointer, _ = self.address(node.buffer, at)
        if node.offset_bytes:
            pointer = self.function.define(
                f"getelementptr i8, ptr {pointer}, i64 {node.offset_bytes}"
            )
        self.declare("void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.function.effect(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 3, i32 1)")
