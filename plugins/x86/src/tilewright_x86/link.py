"""A whole network as one function.

Every distinct kernel compiled once, a main function that calls them in order.

The main function `void @network(ptr %operands)` gets the inputs, the constants, the outputs and one
block of memory that holds the arena and, behind it, the workspace that all kernels share. It writes
each call's pointers to its stack and calls; no Python runs between operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.roles import Artifact
from tilewright.target import Target
from tilewright_tensor.loop_ir import LoopProgram
from tilewright_tensor.network_program import NetworkBuffer, NetworkProgram
from tilewright_x86 import jit
from tilewright_x86.artifact import artifact_of, sizes_text
from tilewright_x86.emit import emit
from tilewright_x86.isa import isa_of
from tilewright_x86.module_text import KernelText, module_text
from tilewright_x86.program import X86Program, as_x86_program


def link_network(network: NetworkProgram, target: Target) -> Artifact:
    """Compile a network. Raises ValueError for a program the target cannot run."""
    isa = isa_of(target)
    programs: dict[X86Program, int] = {}
    by_identity: dict[int, int] = {}
    calls: list[int] = []
    for call in network.calls:
        number = by_identity.get(id(call.program))
        if number is None:
            number = programs.setdefault(as_x86_program(call.program), len(programs))
            by_identity[id(call.program)] = number
        calls.append(number)
    kernels = [
        emit(program.loops, isa, target.threads, f"kernel{number}")
        for program, number in programs.items()
    ]
    arena_bytes = -(-network.arena_bytes // 64) * 64
    workspace_bytes = arena_bytes + max((k.workspace_bytes for k in kernels), default=0)
    told = sizes_text(target.threads, workspace_bytes, network.operands)
    main = _main_function(network, kernels, calls, arena_bytes, told)
    objects = [
        jit.compile_kernel(kernel, isa, program.passes)
        for kernel, program in zip(kernels, programs, strict=True)
    ]
    objects.append(jit.compile_object(main, isa))
    return artifact_of(
        target,
        objects,
        symbol="network",
        operands=network.operands,
        workspace_bytes=workspace_bytes,
    )


def _main_function(
    network: NetworkProgram,
    kernels: Sequence[KernelText],
    calls: Sequence[int],
    arena_bytes: int,
    sizes: str,
) -> str:
    count = len(network.operands) + 1  # the last is the memory that holds the arena
    widest = max((len(call.operands) for call in network.calls), default=0) + 1
    lines = [f"  %call = alloca [{widest} x ptr], align 64"]
    for slot in range(count):
        lines.append(f"  %at{slot} = getelementptr ptr, ptr %operands, i64 {slot}")
        lines.append(f"  %operand{slot} = load ptr, ptr %at{slot}, align 8")
    buffers = {b.name: b for b in network.buffers}
    pointers: dict[str, str] = {}
    for number, (name, (slot, offset)) in enumerate(network.places.items()):
        pointers[name] = f"%buffer{number}"
        lines.append(f"  %buffer{number} = getelementptr i8, ptr %operand{slot}, i64 {offset}")
    lines.append(f"  %workspace = getelementptr i8, ptr %operand{count - 1}, i64 {arena_bytes}")
    lines += [f"  %slot{slot} = getelementptr ptr, ptr %call, i64 {slot}" for slot in range(widest)]
    for number, call in zip(calls, network.calls, strict=True):
        _check_call(call.node, call.program, [buffers[name] for name in call.operands])
        arguments = [pointers[name] for name in call.operands]
        for slot, argument in enumerate((*arguments, "%workspace")):
            lines.append(f"  store ptr {argument}, ptr %slot{slot}")
        lines.append(f"  call void @kernel{number}(ptr %call)")
    text = "\n".join(
        ("define void @network(ptr %operands) #0 {", "entry:", *lines, "  ret void", "}")
    )
    return module_text((sizes, text), frozenset(f"void @{kernel.name}(ptr)" for kernel in kernels))


def _check_call(node: str, program: LoopProgram, buffers: Sequence[NetworkBuffer]) -> None:
    loops = as_x86_program(program).loops
    wanted = [(prod(b.shape), b.dtype) for b in (*loops.inputs, *loops.outputs)]
    given = [(prod(b.shape), b.dtype) for b in buffers]
    if wanted != given:
        raise ValueError(
            f"node {node!r}: kernel {loops.name!r} takes {wanted}, the call gives {given}"
        )
