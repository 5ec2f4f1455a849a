"""A loop program, or a whole network of them, as one text in C with one function to call."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright_tensor.c_text.plain_c import PlainC
from tilewright_tensor.c_text.statement_text import StatementText
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.ir.loop_ir import LoopProgram
from tilewright_tensor.ir.network_program import NetworkProgram

_ALIGNMENT = 64


class CFunction(StatementText):
    """A loop program as a function `static void NAME(char *const *at)`; inherit to change it.

    `at` holds the addresses of the operands and, behind them, of the workspace.
    """

    def __init__(self, program: LoopProgram) -> None:
        super().__init__(PlainC())
        self.program = program

    def text(self, name: str) -> str:
        """The function. Raises ValueError for what a processor cannot run, float16 among it."""
        operands = (*self.program.inputs, *self.program.outputs)
        for place, buffer in enumerate(operands):
            self.pointer(buffer, f"at[{place}]")
        start = 0
        for buffer in self.program.workspace:
            self.pointer(buffer, f"(at[{len(operands)}] + {start})")
            start += _aligned_bytes(buffer)
        self.statement(self.program.body)
        return "\n".join((f"static void {name}(char *const *at) {{", *self.lines, "}\n"))

    def pointer(self, buffer: Buffer, address: str) -> None:
        """Declare a buffer that lies in memory."""
        kind = self.dialect.type_of(buffer.dtype)
        self.line(f"{kind} *restrict {self.names.of(buffer)} = ({kind} *){address};")


@dataclass(frozen=True, slots=True)
class CModule:
    """C text with `void run(char *const *at)`: addresses of operands, then of scratch.

    operands        (shape, dtype) of each
    scratch_bytes   that `run` needs behind the operands; content undefined
    """

    text: str
    operands: tuple[tuple[tuple[int, ...], str], ...]
    scratch_bytes: int


def program_module(program: LoopProgram, function: type[CFunction] = CFunction) -> CModule:
    """One loop program as a text. Raises ValueError where it cannot be one."""
    made = function(program)
    text = f"{made.text('kernel')}void run(char *const *at) {{ kernel(at); }}\n"
    operands = tuple((b.shape, b.dtype) for b in (*program.inputs, *program.outputs))
    return CModule(_with_prelude(text, made.indexes.helpers), operands, _workspace_bytes(program))


def network_module(network: NetworkProgram, function: type[CFunction] = CFunction) -> CModule:
    """Every distinct kernel of a network once, and a function that calls them in order.

    Scratch is the network's arena and, behind it, the workspace that the kernels share.
    """
    names: dict[LoopProgram, str] = {}
    helpers: set[str] = set()
    functions, calls = [], []
    for call in network.calls:
        if call.program not in names:
            names[call.program] = f"kernel{len(names)}"
            made = function(call.program)
            functions.append(made.text(names[call.program]))
            helpers |= made.indexes.helpers
        slots = [network.places[buffer] for buffer in call.operands]
        slots.append((len(network.operands), network.arena_bytes))
        listed = ", ".join(f"at[{slot}] + {offset}" for slot, offset in slots)
        calls.append(f"  {names[call.program]}((char *const[]){{{listed}}});\n")
    text = "".join((*functions, "void run(char *const *at) {\n", *calls, "}\n"))
    scratch = network.arena_bytes + max(map(_workspace_bytes, names), default=0)
    return CModule(_with_prelude(text, helpers), network.operands, scratch)


def _with_prelude(text: str, helpers: set[str]) -> str:
    return PlainC().prelude(helpers) + text


def _workspace_bytes(program: LoopProgram) -> int:
    """Bytes of all workspaces of a program, each on a cache line of its own."""
    return sum(map(_aligned_bytes, program.workspace))


def _aligned_bytes(buffer: Buffer) -> int:
    return -(-buffer.size * buffer.item_bytes // _ALIGNMENT) * _ALIGNMENT
