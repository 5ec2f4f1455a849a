"""Loop programs as LLVM IR text.

A kernel is `void @NAME(ptr %operands)`: an array of pointers to the inputs, the outputs, and last
the workspace where there is one. Loops are bottom-tested, unrolled and vectorised ones are expanded
here, and buffers of scope `register` are SSA values carried by phis, so that the text runs at full
speed without an optimiser (see `jit.py`). A parallel loop becomes a function `void (ptr context,
i64 begin, i64 end)` that the pool calls with chunks of the loop; where it is all of the program,
its context is the operands.
"""

from __future__ import annotations

from collections.abc import Callable

from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Block,
    Guard,
    Loop,
    LoopProgram,
    Prefetch,
    Statement,
    Store,
    Tensorized,
)
from tilewright_x86.llvm_ir.index_text import Indexes, LaneVaryingDivisionError, Linear
from tilewright_x86.llvm_ir.lane_folding import LaneFold, lane_fold_of
from tilewright_x86.llvm_ir.llvm_text import FunctionText
from tilewright_x86.llvm_ir.memory_text import Memory, SsaValue
from tilewright_x86.llvm_ir.module_text import KernelText, handing_over, workspace_layout
from tilewright_x86.llvm_ir.register_slots import NeedsMemoryError, RegisterSlots
from tilewright_x86.llvm_ir.stack_memory import StackMemory
from tilewright_x86.machine.isa import Isa
from tilewright_x86.text.arithmetic_text import check_dtype
from tilewright_x86.text.instruction_text import InstructionText
from tilewright_x86.text.loop_ends import ROWS, LoopEnds, ends_early
from tilewright_x86.text.loop_facts import LoopFacts
from tilewright_x86.text.needs import Needs
from tilewright_x86.text.value_text import Values

_CHUNKS_UNROLLED = 8
_SERIAL_KINDS = ("serial", "parallel")
_EXPANDED_KINDS = ("unrolled", "vectorized")


def emit(program: LoopProgram, isa: Isa, threads: int, symbol: str = "kernel") -> KernelText:
    """Text of a kernel as a function of a name.

    Raises ValueError for a program that x86 cannot run, also for dtypes that it has not.
    """
    for buffer in (*program.inputs, *program.outputs):
        check_dtype(buffer.dtype, isa)
    in_memory: set[str] = set()
    while True:
        try:
            return _Kernel(program, isa, threads, symbol, frozenset(in_memory)).emit()
        except NeedsMemoryError as error:
            if error.buffer.name in in_memory:
                raise ValueError(
                    f"buffer {error.buffer.name!r} is used where it is not allocated"
                ) from None
            in_memory.add(error.buffer.name)


class _Kernel:
    """One attempt at a kernel, some register buffers put into memory."""

    def __init__(
        self,
        program: LoopProgram,
        isa: Isa,
        threads: int,
        symbol: str,
        in_memory: frozenset[str],
    ) -> None:
        self.program = program
        self.symbol = symbol
        self.needs = Needs(isa)
        self.threads = threads
        self.in_memory = in_memory
        self.functions: list[str] = []
        self.facts = LoopFacts(isa)
        self.joins = False
        self.ends_early = ends_early(program)

    def emit(self) -> KernelText:
        body = self.program.body
        fixed = not self.ends_early
        if fixed and isinstance(body, Loop) and body.extent > 1 and self.is_shared(body):
            function = _Function(self, outlined=True)
            workspace_bytes = self._operands(function)
            function.chunk(body)
            name = f"{self.symbol}.parallel"
            main = function.text.text(
                f"hidden void @{name}(ptr noalias %operands, i64 %begin, i64 %end) #0"
            )
            entry = handing_over(self.symbol, name, body.extent, self.threads)
            self.functions.append(entry)
        else:
            function = _Function(self)
            workspace_bytes = self._operands(function)
            function.statement(body)
            function.leave()
            main = function.text.text(f"void @{self.symbol}(ptr noalias %operands) #0")
        return KernelText(
            self.symbol,
            (main, *self.functions),
            frozenset(self.needs.declarations),
            frozenset(self.needs.features),
            workspace_bytes,
            self.joins,
        )

    def is_shared(self, loop: Loop) -> bool:
        """Whether threads share the iterations of a loop that is in no other parallel one."""
        return loop.kind == "parallel" and self.threads > 1

    def _operands(self, function: _Function) -> int:
        """Load the pointers to operands and workspace; gives the bytes of the workspace."""
        entry, bases = function.text.entry, function.memory.bases
        operands = (*self.program.inputs, *self.program.outputs)
        for position, buffer in enumerate(operands):
            bases[buffer.name] = _loaded(entry, "ptr", "%operands", position, f"op{position}")
        offsets, workspace_bytes = workspace_layout(self.program)
        if workspace_bytes:
            base = _loaded(entry, "ptr", "%operands", len(operands), "workspace")
            for number, (name, offset) in enumerate(offsets.items()):
                entry.append(f"  %ws{number} = getelementptr i8, ptr {base}, i64 {offset}")
                bases[name] = f"%ws{number}"
        if self.ends_early:
            bases[ROWS] = _loaded(entry, "ptr", "%operands", len(operands) + 1, "rows")
        return workspace_bytes


class _Function:
    """Writes the statements of one function: the kernel itself or an outlined parallel body."""

    def __init__(self, kernel: _Kernel, outlined: bool = False) -> None:
        self.kernel = kernel
        self.outlined = outlined
        self.text = FunctionText()
        self.indexes = Indexes(self.text)
        self.registers = RegisterSlots(self.text)
        self.memory = Memory(self.text, self.indexes, self.registers, kernel.needs.declare)
        self.values = Values(self.text, self.indexes, self.memory, kernel.needs)
        self.instructions = InstructionText(self.memory, kernel.needs)
        self.stack = StackMemory(self.text)
        self.ends = LoopEnds(self.text, self.indexes, self.memory.bases)

    def statement(self, node: Statement) -> None:
        """Write a statement at the present place."""
        if isinstance(node, Store):
            self.memory.store(node, self.values.emit_all_lanes(node.value))
            self.instructions.tiles.forget()
        elif isinstance(node, Block):
            for child in node.statements:
                self.statement(child)
        elif isinstance(node, Loop):
            self._loop(node)
        elif isinstance(node, Guard):
            self._guard(node)
        elif isinstance(node, Allocate):
            self._allocate(node)
        elif isinstance(node, Prefetch):
            self.memory.prefetch(node)
        elif isinstance(node, Tensorized):
            if not self.instructions.write(node):
                self.statement(node.body)
        else:
            raise ValueError(f"x86 has no {type(node).__name__.lower()}")  # noqa: TRY004 - build says so

    def _allocate(self, node: Allocate) -> None:
        buffer = node.buffer
        if buffer.scope == "register" and buffer.name not in self.kernel.in_memory:
            self.registers.held[buffer.name] = {}
            self.statement(node.body)
            self.registers.held.pop(buffer.name, None)
            return
        if self.instructions.has_tiles(buffer):
            self.statement(node.body)
            self.instructions.tiles.release(buffer)
            return
        place = self.stack.take(buffer)
        _, self.memory.bases[buffer.name] = place
        self.statement(node.body)
        del self.memory.bases[buffer.name]
        self.stack.give_back(place)

    # --- loops ---

    def _loop(self, node: Loop) -> None:
        kind = node.kind
        if kind not in _SERIAL_KINDS and kind not in _EXPANDED_KINDS:
            raise ValueError(f"x86 has no loops of kind {kind!r}")
        if node.extent <= 0:
            return
        if (
            kind == "vectorized"
            and self.indexes.lanes is None
            and self.kernel.facts.is_vectorisable(node)
        ):
            self._vector_loop(node)
        elif (fold := lane_fold_of(node)) and self._folded(node, fold):
            return
        elif kind in _EXPANDED_KINDS or node.extent == 1:
            for number in range(node.extent):
                self.indexes.bind(node.var.name, Linear(number))
                self.statement(node.body)
        elif self.kernel.is_shared(node) and not self.outlined and self.indexes.lanes is None:
            self._parallel_loop(node)
        else:
            self._rolled(node, node.extent, lambda: self.statement(node.body))

    def _folded(self, node: Loop, fold: LaneFold) -> bool:
        """Whether the lanes are those of one register; then they are folded."""
        lanes, dtype = fold.lanes, fold.lanes.buffer.dtype
        if self.indexes.lanes is not None or lanes.buffer.name not in self.registers.held:
            return False
        self.indexes.bind(node.var.name, Linear(0))
        at = self.indexes.linear(self.memory.flat(lanes))
        place = lanes.buffer, at.constant, node.extent, node.extent
        if at.terms or not self.registers.has_vector(*place):
            return False
        vector, arithmetic = self.registers.read_vector(*place), self.values.arithmetic
        one = arithmetic.folded(fold.operation, vector, dtype, node.extent)
        held = self.values.emit(fold.held).text
        result = arithmetic.float_(fold.operation, [held, one], dtype, 0)
        self.memory.store(fold.store, SsaValue(result, False))
        self.instructions.tiles.forget()
        return True

    def _rolled(
        self,
        node: Loop,
        count: int,
        body: Callable[[], None],
        *,
        scale: int = 1,
        bounds: tuple[str, str] | None = None,
    ) -> None:
        """A bottom-tested loop that runs at least once; `node.var` is `scale` times its counter.

        The counter runs from 0 to `count`, or ends early, or runs between `bounds` that lie inside.
        """
        begin, end = bounds or ("0", self.ends.of(node) if node.rows else str(count))
        text, registers = self.text, self.registers
        stored = self.kernel.facts.stored_buffers(node.body)
        names = {buffer.name for buffer in stored}
        number = text.fresh("")
        label, counter, following = f"loop{number}", f"%i{number}", f"%n{number}"
        before_label = text.label
        text.effect(f"br label %{label}")
        text.block(label)
        phis: list[str] = []
        text.lines.append(phis)
        carried = registers.phis_at_loop(stored)
        loads = self.memory.enter(names)
        text.open_scope()
        self.indexes.name(counter, 0, count - 1, text.depth)
        if bounds is None:
            self.indexes.run(counter)
        self.indexes.bind(node.var.name, Linear(0, ((counter, scale),)))
        body()
        text.close_scope()
        self.memory.leave(loads, names)
        latch = text.label
        phis.append(
            f"  {counter} = phi i64 [ {begin}, %{before_label} ], [ {following}, %{latch} ]"
        )
        phis += registers.loop_phi_lines(carried, before_label, latch)
        if bounds is None:
            phis += self.indexes.moved_on(counter, before_label, latch)
        text.effect(f"{following} = add nuw nsw i64 {counter}, 1")
        again = text.value(f"icmp ult i64 {following}, {end}")
        text.effect(f"br i1 {again}, label %{label}, label %exit{number}")
        text.block(f"exit{number}")

    def _vector_loop(self, node: Loop) -> None:
        pieces = self.kernel.facts.pieces(node)
        indexes, whole = self.indexes, node.extent // pieces[0].width
        if whole > _CHUNKS_UNROLLED and not self._touches_registers(node.body):

            def full() -> None:
                indexes.lanes = pieces[0]
                self.statement(node.body)
                indexes.lanes = None

            self._rolled(node, whole, full, scale=pieces[0].width)
            pieces, start = pieces[whole:], whole * pieces[0].width
        else:
            start = 0
        for piece in pieces:
            indexes.bind(node.var.name, Linear(start))
            indexes.lanes = piece
            self.statement(node.body)
            indexes.lanes = None
            start += piece.valid

    def _touches_registers(self, node: Statement) -> bool:
        return bool(self.registers.held.keys() & self.kernel.facts.buffers(node))

    def chunk(self, node: Loop) -> None:
        """The loop from `%begin` to `%end`, as all of the function."""
        bounds = "%begin", "%end"
        self._rolled(node, node.extent, lambda: self.statement(node.body), bounds=bounds)
        self.leave()

    def leave(self) -> None:
        """End the function."""
        self.instructions.tiles.leave()
        self.text.effect("ret void")

    def _parallel_loop(self, node: Loop) -> None:
        """Outline the body; the context is an array of every pointer and loop counter in reach."""
        name = f"{self.kernel.symbol}.parallel{len(self.kernel.functions)}"
        outlined = _Function(self.kernel, outlined=True)
        entry = outlined.text.entry
        slots: list[str] = []
        for buffer, pointer in self.memory.bases.items():
            outlined.memory.bases[buffer] = _loaded(
                entry, "ptr", "%context", len(slots), f"c{len(slots)}"
            )
            slots.append(f"ptr {pointer}")
        for variable, (value, ranges) in self.indexes.open_names.items():
            terms = []
            for counter, factor in value.terms:
                inner = _loaded(entry, "i64", "%context", len(slots), f"c{len(slots)}")
                slots.append(f"i64 {counter}")
                outlined.indexes.name(inner, *ranges[counter], 0)
                terms.append((inner, factor))
            outlined.indexes.bind(variable, Linear(value.constant, tuple(terms)))
        outlined.chunk(node)
        signature = f"internal void @{name}(ptr noalias %context, i64 %begin, i64 %end) #0"
        self.kernel.functions.append(outlined.text.text(signature))
        context = self.text.alloca(8 * len(slots))
        for position, slot in enumerate(slots):
            at = self.text.define(f"getelementptr ptr, ptr {context}, i64 {position}")
            self.text.effect(f"store {slot}, ptr {at}, align 8")
        self.kernel.needs.declare("void @tw_parallel_for(ptr, ptr, i64, i64)")
        self.text.effect(
            f"call void @tw_parallel_for(ptr @{name}, ptr {context}, i64 {self.ends.of(node)}, "
            f"i64 {self.kernel.threads})"
        )
        names = {buffer.name for buffer in self.kernel.facts.stored_buffers(node.body)}
        self.memory.leave(self.memory.enter(()), names)
        self.instructions.tiles.called(outlined.instructions.tiles)

    # --- guards ---

    def _guard(self, node: Guard) -> None:
        before_lanes = self.indexes.lanes
        uniform: list[str] = []
        for index, limit in node.conditions:
            try:
                condition = self.values.less(self.indexes.linear(index), limit)
            except LaneVaryingDivisionError:
                condition = self.values.less_lane_by_lane(index, limit)
            if condition.text == "false":
                self.indexes.lanes = before_lanes
                return
            if condition.varies:
                self.indexes.masked(condition.text)
            elif condition.text != "true":
                uniform.append(condition.text)
        if uniform:
            self._branch(uniform, node.body)
        else:
            self.statement(node.body)
        self.indexes.lanes = before_lanes

    def _branch(self, conditions: list[str], body: Statement) -> None:
        text = self.text
        condition = conditions[0]
        for other in conditions[1:]:
            condition = text.define(f"and i1 {condition}, {other}")
        stored = self.kernel.facts.stored_buffers(body)
        names = {buffer.name for buffer in stored}
        number = text.fresh("")
        skipped_label = text.label
        skipped = self.registers.snapshot(stored)
        text.effect(f"br i1 {condition}, label %guarded{number}, label %after{number}")
        text.block(f"guarded{number}")
        text.open_scope()
        loads = self.memory.enter(names)
        self.statement(body)
        self.memory.leave(loads, names)
        text.close_scope()
        label = text.label
        text.effect(f"br label %after{number}")
        text.block(f"after{number}")
        if self.registers.merge(skipped, skipped_label, label):
            self.kernel.joins = True


def _loaded(entry: list[str], kind: str, array: str, position: int, name: str) -> str:
    """Load one slot of an array of pointers or counters at the start of a function."""
    entry.append(f"  %{name}.at = getelementptr ptr, ptr {array}, i64 {position}")
    entry.append(f"  %{name} = load {kind}, ptr %{name}.at, align 8")
    return f"%{name}"
