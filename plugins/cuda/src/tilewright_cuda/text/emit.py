"""From loop programs to CUDA C: every nest at the top becomes a kernel of its own.

A loop bound to blocks or threads declares its variable as the machine's index. What stands outside
the loops of threads is done by the first thread where others would see it, and by each thread for
itself where its result is private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright_cuda.text.cuda_c import CUDA_C
from tilewright_cuda.text.instruction_text import HAS_INSTRUCTIONS, InstructionText
from tilewright_cuda.text.launch_shape import (
    GRID,
    THREADS,
    LaunchShape,
    aligned_bytes,
    launch_shape,
)
from tilewright_cuda.text.through_registers import ThroughRegisters
from tilewright_cuda.text.value_text import KernelValues
from tilewright_cuda.text.vector_text import VectorText
from tilewright_tensor.c_text.c_names import CNames
from tilewright_tensor.c_text.statement_text import StatementText
from tilewright_tensor.expressions.affine import Var
from tilewright_tensor.expressions.buffer import IN_REGISTERS, Buffer
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Barrier,
    Block,
    CopyGroup,
    CopyWait,
    Guard,
    Loop,
    LoopKind,
    LoopProgram,
    Statement,
    Store,
    Tensorized,
    walk,
)
from tilewright_tensor.lowering.virtual_threads import without_virtual_threads


@dataclass(frozen=True, slots=True)
class KernelText:
    """A kernel's text and how it is launched.

    operands   numbers of the program's global buffers that are its parameters, in order
    helpers    names of the prelude that the text uses
    """

    name: str
    text: str
    shape: LaunchShape
    operands: tuple[int, ...]
    helpers: frozenset[str]


def emit_kernels(program: LoopProgram) -> tuple[KernelText, ...]:
    """The kernels of a program, in the order in which they run.

    Global buffers are numbered inputs first, then outputs, then workspace. Raises ValueError for
    what cannot be expressed.
    """
    body = without_virtual_threads(program.body)
    nests = body.statements if isinstance(body, Block) else (body,)
    buffers = (*program.inputs, *program.outputs, *program.workspace)
    names = CNames(CUDA_C.reserved)
    base = names.of(program.name)
    titles = [names.of(f"{base}_{n}") if len(nests) > 1 else base for n in range(len(nests))]
    return tuple(
        _Kernel(title, nest, buffers).text() for title, nest in zip(titles, nests, strict=True)
    )


class _Kernel(StatementText):
    values: KernelValues
    values_class = KernelValues
    pragmas = {"unrolled": "#pragma unroll"}

    def __init__(self, name: str, nest: Statement, buffers: Sequence[Buffer]) -> None:
        super().__init__(CUDA_C)
        apart = ThroughRegisters()
        self.name, self.nest, self.buffers = name, apart.changed(nest), buffers
        self.own = frozenset(apart.registers)
        self.shape = launch_shape(self.nest)
        self.names.of(name)
        for buffer in buffers:
            self.names.of(buffer)
        self.written: set[str] = set()
        self.vectors = VectorText(self.values)
        self.instructions = InstructionText(self.indexes, self.names)
        self.open: set[LoopKind] = set()
        self.thread_variables: set[Var] = set()
        self.shared_bytes = 0

    def text(self) -> KernelText:
        if self.shape.shared_bytes:
            self.line(f"{self.indexes.helper('TW_DYN_SMEM')}(unsigned char, tw_shared);")
        self.statement(self.nest)
        numbers = tuple(n for n, one in enumerate(self.buffers) if one.name in self.accessed)
        parameters = ", ".join(self._parameter(self.buffers[number]) for number in numbers)
        bounds = f"__launch_bounds__({self.shape.threads})"
        head = f'extern "C" __global__ void {bounds} {self.name}({parameters}) {{'
        text = "\n".join((head, *self.lines, "}", ""))
        return KernelText(self.name, text, self.shape, numbers, frozenset(self.indexes.helpers))

    def _parameter(self, buffer: Buffer) -> str:
        constant = "" if buffer.name in self.written else "const "
        kind = self.dialect.type_of(buffer.dtype)
        return f"{constant}{kind} *__restrict__ {self.names.of(buffer)}"

    # --- statements ---

    def loop(self, loop: Loop) -> None:
        if loop.kind in GRID or loop.kind in THREADS:
            self._bound_loop(loop)
        elif loop.kind == "vectorized":
            for line in self.vectors.loop(loop, self._storing):
                self.line(line)
        else:
            super().loop(loop)

    def guard(self, guard: Guard) -> None:
        if _has_barrier(guard) and self._differs(guard):
            raise ValueError("a barrier stands inside a guard in which threads differ")
        super().guard(guard)

    def store(self, store: Store) -> None:
        copied = self.values.copy(store) if self.vectors.copies else None
        self.line(f"{self._storing(store.buffer)}{copied or self.assignment(store)};")

    def tensorized(self, node: Tensorized) -> None:
        self.lines.append(HAS_INSTRUCTIONS)
        self.line(self.instructions.call(node))
        self.lines.append("#else")
        self.statement(node.body)
        self.lines.append("#endif")

    def synchronise(self, statement: Statement) -> None:
        if isinstance(statement, CopyGroup):
            self.vectors.copies = True
            self.statement(statement.body)
            self.vectors.copies = False
            self.line(f"{self.indexes.helper('cp_commit')}();")
        elif isinstance(statement, CopyWait):
            self.line(f"{self.indexes.helper('cp_wait')}<{statement.pending}>();")
        else:
            assert isinstance(statement, Barrier)
            self.line("__syncthreads();")

    def _bound_loop(self, loop: Loop) -> None:
        name = self.names.of(loop.var)
        self.indexes.bounds[loop.var] = (0, loop.extent - 1)
        if loop.kind in THREADS:
            self.thread_variables.add(loop.var)
        around = loop.kind in self.open
        self.open.add(loop.kind)
        self.line(f"const int {name} = {loop.kind};")
        if loop.extent < self.shape.extents[loop.kind]:
            if loop.kind in THREADS and _has_barrier(loop.body):
                raise ValueError(
                    f"a barrier stands in a loop of {loop.extent} {loop.kind}, "
                    f"of which the block has {self.shape.extents[loop.kind]}"
                )
            self.braced(f"if ({name} < {loop.extent})", loop.body)
        else:
            self.statement(loop.body)
        if not around:
            self.open.discard(loop.kind)

    def allocate(self, allocate: Allocate) -> None:
        buffer = allocate.buffer
        name, kind = self.names.of(buffer), self.dialect.type_of(buffer.dtype)
        if buffer.scope == "shared":
            at = self.shared_bytes
            self.line(f"{kind} *const {name} = ({kind} *)(tw_shared + {at});")
            self.shared_bytes = at + aligned_bytes(buffer)
            self.statement(allocate.body)
            self.shared_bytes = at
            return
        outside = any(kind in THREADS and kind not in self.open for kind in self.shape.extents)
        if outside and buffer not in self.own:
            self._check_private(allocate)
        if buffer.scope == "fragment":
            self.lines.append(HAS_INSTRUCTIONS)
            self.line(f"{kind} {name}[{self.instructions.elements_of_thread(buffer)}];")
            self.lines.append("#else")
        self.line(f"{kind} {name}[{buffer.size}];")
        if buffer.scope == "fragment":
            self.lines.append("#endif")
        self.statement(allocate.body)

    def _check_private(self, allocate: Allocate) -> None:
        """Raise ValueError where threads would exchange values through private memory.

        The threads of a warp, along x, have a fragment together.
        """
        kinds = set(THREADS) - ({"threadIdx.x"} if allocate.buffer.scope == "fragment" else set())
        for statement in walk(allocate.body):
            if isinstance(statement, Loop) and statement.kind in kinds - self.open:
                raise ValueError(
                    f"{allocate.buffer.name} is {allocate.buffer.scope} to a thread, but stands "
                    f"around the loop of {statement.kind}: compute it inside, or make it shared"
                )

    def _storing(self, buffer: Buffer) -> str:
        """What stands before a store: it picks one of the threads and blocks that do the same."""
        self.written.add(buffer.name)
        if buffer.scope in ("local", *IN_REGISTERS):
            return ""
        kinds = (*GRID, *THREADS) if buffer.scope == "global" else THREADS
        tests = [
            f"{kind} == 0"
            for kind in kinds
            if kind not in self.open and self.shape.extents.get(kind, 1) > 1
        ]
        return f"if ({' && '.join(tests)}) " if tests else ""

    def _differs(self, guard: Guard) -> bool:
        return any(self.thread_variables & index.variables() for index, _ in guard.conditions)


def _has_barrier(statement: Statement) -> bool:
    return any(isinstance(one, Barrier) for one in walk(statement))
