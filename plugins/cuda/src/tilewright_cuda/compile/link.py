"""A whole network as one list of launches over an arena; equal kernels stand in one module.

Modules are compiled one by one: those of tuned candidates come from the cache.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.roles import Artifact
from tilewright.vocabulary.target import Target
from tilewright_cuda.compile.build import module_resources
from tilewright_cuda.compile.compiler import compiled
from tilewright_cuda.program.arch import Arch, arch_of
from tilewright_cuda.program.artifact import artifact_of
from tilewright_cuda.program.cuda_program import CudaProgram, Launch, Pointer
from tilewright_cuda.text.generate import generate
from tilewright_tensor.ir.network_program import NetworkProgram

_ALIGNMENT = 256


def link_network(network: NetworkProgram, target: Target) -> Artifact:
    """Compile a network. Raises ValueError for a program that the architecture cannot run."""
    arch = arch_of(target)
    program = launch_list(network, arch)
    cubins = [compiled(text, arch) for text in program.modules]
    resources = module_resources(cubins)
    for launch in program.launches:
        if found := resources.get(f"{launch.module}.{launch.kernel}"):
            found.check_launch(launch, arch)
    return artifact_of(target, program, cubins, resources)


def launch_list(network: NetworkProgram, arch: Arch) -> CudaProgram:
    """The launches of all calls in order.

    Operands are the inputs, one of uint8 with all constants, the outputs; behind them come the
    arena and one workspace that all kernels share, for they run one after the other.
    """
    workspace = len(network.operands) + 1  # behind the arena
    places = {name: Pointer(*place) for name, place in network.places.items()}
    buffers = {b.name: b for b in network.buffers}

    made: dict[int, CudaProgram] = {}
    modules: dict[str, int] = {}
    launches: list[Launch] = []
    workspace_bytes = 0
    for call in network.calls:
        program = made.get(id(call.program))
        if program is None:
            program = made[id(call.program)] = generate(call.program, arch).program
        call.check(program.operands, buffers)
        slots = [places[name] for name in call.operands]
        end = 0
        for size in program.workspace_bytes:
            slots.append(Pointer(workspace, end))
            end += -(-size // _ALIGNMENT) * _ALIGNMENT
        workspace_bytes = max(workspace_bytes, end)
        numbers = [modules.setdefault(text, len(modules)) for text in program.modules]
        launches += [_placed(launch, numbers, slots) for launch in program.launches]
    return CudaProgram(
        modules=tuple(modules),
        launches=tuple(launches),
        operands=network.operands,
        workspace_bytes=(network.arena_bytes, workspace_bytes),
    )


def _placed(launch: Launch, modules: Sequence[int], slots: Sequence[Pointer]) -> Launch:
    """A launch of one program as one of the network's."""
    arguments = tuple(
        Pointer(slots[one.slot].slot, slots[one.slot].offset + one.offset)
        for one in launch.arguments
    )
    return Launch(
        modules[launch.module], launch.kernel, launch.grid, launch.block, launch.shared_bytes,
        arguments,
    )  # fmt: skip
