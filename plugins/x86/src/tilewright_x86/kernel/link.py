"""A whole network as one function.

Every distinct kernel compiled once, a main function that calls them in order.

The main function `void @network(ptr %operands)` gets the inputs, the constants, the outputs and one
block of memory that holds the arena and, behind it, the workspace that all kernels share. It writes
each call's pointers to its stack and calls; no Python runs between operators. A call that has other
programs goes through `@tilewright_calls`, a table of one pointer a call. Kernels that may leave out
rows read how many are asked for in `@tilewright_rows`. Of several threads, the
thread pool comes along as object code, so that nothing is compiled where the network is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilewright.roles import Artifact
from tilewright.vocabulary.target import Target
from tilewright_tensor.ir.loop_ir import LoopProgram, OutputRows
from tilewright_tensor.ir.network_program import KernelCall, NetworkBuffer, NetworkProgram
from tilewright_tensor.ir.row_loops import with_row_loops
from tilewright_x86.kernel import jit
from tilewright_x86.kernel.artifact import CALLS, NETWORK, ROWS, artifact_of, sizes_text
from tilewright_x86.kernel.parallel import compiled_pool
from tilewright_x86.kernel.program import X86Program, as_x86_program
from tilewright_x86.llvm_ir.module_text import KernelText, module_text
from tilewright_x86.machine.isa import isa_needed, isa_of_code
from tilewright_x86.text.emit import emit

_MOST_CALLS = 256
"""Of one function: the time that LLVM takes for one grows with the square of its calls."""


def link_network(network: NetworkProgram, target: Target) -> Artifact:
    """Compile a network. Raises ValueError for a program the target cannot run."""
    isa = isa_of_code(target)
    programs: dict[X86Program, int] = {}
    by_identity: dict[tuple[int, tuple[OutputRows, ...]], int] = {}

    def number_of(program: LoopProgram, rows: tuple[OutputRows, ...]) -> int:
        number = by_identity.get((id(program), rows))
        if number is None:
            own = as_x86_program(program)
            if rows:
                own = replace(own, loops=with_row_loops(own.loops, rows))
            number = programs.setdefault(own, len(programs))
            by_identity[id(program), rows] = number
        return number

    calls = [
        [number_of(one, call.rows) for one in (call.program, *call.others)]
        for call in network.calls
    ]
    kernels = [
        emit(program.loops, isa, target.threads, f"kernel{number}")
        for program, number in programs.items()
    ]
    arena_bytes = -(-network.arena_bytes // 64) * 64
    workspace_bytes = arena_bytes + max((k.workspace_bytes for k in kernels), default=0)
    told = sizes_text(target.threads, workspace_bytes, network.operands, network.rows)
    main = _main_function(network, kernels, calls, arena_bytes, told)
    objects = [
        jit.compile_kernel(kernel, isa_needed(isa, kernel.features), program.passes)
        for kernel, program in zip(kernels, programs, strict=True)
    ]
    objects.append(jit.compile_object(main, isa_needed(isa, ())))
    return artifact_of(
        target,
        isa_needed(isa, frozenset().union(*(kernel.features for kernel in kernels))),
        objects,
        symbol=NETWORK,
        operands=network.operands,
        workspace_bytes=workspace_bytes,
        programs=calls if any(call.others for call in network.calls) else (),
        pool=compiled_pool() if target.threads > 1 else None,
        rows=network.rows,
    )


def _main_function(
    network: NetworkProgram,
    kernels: Sequence[KernelText],
    calls: Sequence[Sequence[int]],
    arena_bytes: int,
    sizes: str,
) -> str:
    """The function itself, or one that calls parts of it in order."""
    launches = [*zip(range(len(calls)), calls, network.calls, strict=True)]
    parts = [
        launches[begin : begin + _MOST_CALLS] for begin in range(0, len(launches), _MOST_CALLS)
    ]
    buffers = {buffer.name: buffer for buffer in network.buffers}
    places, memory = network.places, (len(network.operands), arena_bytes)
    called = frozenset(f"void @{kernel.name}(ptr)" for kernel in kernels)
    counts = ", ".join(f"i64 {count}" for count in network.rows)
    rows = (f"@{ROWS} = global [{len(network.rows)} x i64] [{counts}]",) if counts else ()
    data = (sizes, *_table_of(calls), *rows)
    if len(parts) < 2:
        whole = _launching("@network", launches, buffers, places, memory, rows=network.rows)
        return module_text((*data, whole), called)
    functions = [
        _launching(f"@network.{number}", part, buffers, places, memory, rows=network.rows)
        for number, part in enumerate(parts)
    ]
    steps = [f"  call void @network.{number}(ptr %operands)" for number in range(len(parts))]
    functions.append(_function("@network", steps))
    return module_text((*data, *functions), called)


def _table_of(calls: Sequence[Sequence[int]]) -> Sequence[str]:
    """Where each call finds its kernel, once one of them has a choice."""
    if all(len(choice) == 1 for choice in calls):
        return ()
    listed = ", ".join(f"ptr @kernel{first}" for first, *_ in calls)
    return (f"@{CALLS} = global [{len(calls)} x ptr] [{listed}]",)


def _launching(
    name: str,
    launches: Sequence[tuple[int, Sequence[int], KernelCall]],
    buffers: Mapping[str, NetworkBuffer],
    places: Mapping[str, tuple[int, int]],
    memory: tuple[int, int],
    *,
    rows: Sequence[int],
) -> str:
    """A function that makes some of the calls; only pointers to what they touch are in it.

    `memory`: the operand that holds the arena, and the bytes of that.
    """
    last_ones = ["%workspace", f"@{ROWS}"] if rows else ["%workspace"]
    widest = max((len(call.operands) for *_, call in launches), default=0) + len(last_ones)
    lines = [f"  %call = alloca [{widest} x ptr], align 64"]
    last, arena_bytes = memory
    touched = dict.fromkeys(name for *_, call in launches for name in call.operands)
    for slot in sorted({last, *(places[name][0] for name in touched)}):
        lines.append(f"  %at{slot} = getelementptr ptr, ptr %operands, i64 {slot}")
        lines.append(f"  %operand{slot} = load ptr, ptr %at{slot}, align 8")
    pointers: dict[str, str] = {}
    for number, one in enumerate(touched):
        slot, offset = places[one]
        pointers[one] = f"%buffer{number}"
        lines.append(f"  %buffer{number} = getelementptr i8, ptr %operand{slot}, i64 {offset}")
    lines.append(f"  %workspace = getelementptr i8, ptr %operand{last}, i64 {arena_bytes}")
    lines += [f"  %slot{slot} = getelementptr ptr, ptr %call, i64 {slot}" for slot in range(widest)]
    for place, choice, call in launches:
        for program in (call.program, *call.others):
            loops = as_x86_program(program).loops
            call.check([(b.shape, b.dtype) for b in (*loops.inputs, *loops.outputs)], buffers)
        arguments = [pointers[name] for name in call.operands]
        for slot, argument in enumerate((*arguments, *last_ones)):
            lines.append(f"  store ptr {argument}, ptr %slot{slot}")
        kernel = f"@kernel{choice[0]}"
        if len(choice) > 1:
            kernel = f"%kernel{place}"
            lines.append(
                f"  {kernel} = load ptr, ptr getelementptr (ptr, ptr @{CALLS}, i64 {place})"
            )
        lines.append(f"  call void {kernel}(ptr %call)")
    return _function(name, lines)


def _function(name: str, lines: Sequence[str]) -> str:
    head = f"define {'' if name == '@network' else 'internal '}void {name}(ptr %operands) #0 {{"
    return "\n".join((head, "entry:", *lines, "  ret void", "}"))
