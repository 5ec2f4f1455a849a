"""From a candidate to an artefact."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.roles import Artifact
from tilewright.vocabulary.target import Target
from tilewright_cuda.compile.compiler import compiled
from tilewright_cuda.program.arch import arch_of
from tilewright_cuda.program.artifact import artifact_of
from tilewright_cuda.program.cubin import Resources, resources_of
from tilewright_cuda.program.cuda_program import CudaProgram
from tilewright_cuda.text.generate import generate
from tilewright_tensor.ir.loop_ir import LoopProgram


def build(program: LoopProgram | CudaProgram, target: Target) -> Artifact:
    """Text and, where there is a compiler, machine code of a candidate.

    Raises ValueError for a program that the architecture cannot run, or whose registers spill.
    """
    arch = arch_of(target)
    made = generate(program, arch)
    cubins = [compiled(text, arch) for text in made.program.modules]
    resources = module_resources(cubins)
    for launch in made.program.launches:
        if found := resources.get(f"{launch.module}.{launch.kernel}"):
            found.check_launch(launch, arch)
            if launch.kernel in made.local_bytes:
                found.check_spills(launch.kernel, made.local_bytes[launch.kernel])
    return artifact_of(target, made.program, cubins, resources)


def module_resources(cubins: Sequence[bytes | None]) -> dict[str, Resources]:
    """What each kernel asks for, by `MODULE.KERNEL`; of the modules that were compiled."""
    return {
        f"{number}.{name}": resources
        for number, cubin in enumerate(cubins)
        if cubin is not None
        for name, resources in resources_of(cubin).items()
    }
