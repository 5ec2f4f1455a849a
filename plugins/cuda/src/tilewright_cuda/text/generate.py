"""From what a strategy hands over to texts and launches, without compiling anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tilewright_cuda.program.arch import Arch
from tilewright_cuda.program.cuda_program import CudaProgram, Launch, Pointer
from tilewright_cuda.text.emit import KernelText, emit_kernels
from tilewright_cuda.text.launch_shape import buffer_bytes
from tilewright_cuda.text.limits import check_extents, check_launch
from tilewright_cuda.text.prelude import prelude
from tilewright_tensor.ir.loop_ir import LoopProgram


@dataclass(frozen=True, slots=True)
class Generated:
    """A program's texts and launches.

    local_bytes   addressable scratch of a thread by kernel: what a stack is needed for without
                  spills; nothing is known of kernels written by hand
    """

    program: CudaProgram
    local_bytes: Mapping[str, int] = field(default_factory=dict)


def generate(program: LoopProgram | CudaProgram, arch: Arch) -> Generated:
    """The texts and launches of a program; one written by hand stays as it is.

    Raises ValueError for what the architecture cannot run.
    """
    if isinstance(program, CudaProgram):
        for one in program.launches:
            check_extents(one.kernel, one.grid, one.block, one.shared_bytes, arch)
        return Generated(program)
    kernels = emit_kernels(program)
    for kernel in kernels:
        check_launch(kernel.name, kernel.shape, arch)
    made = CudaProgram(
        modules=(_module_text(kernels),),
        launches=tuple(_launch(kernel) for kernel in kernels),
        operands=tuple((b.shape, b.dtype) for b in (*program.inputs, *program.outputs)),
        workspace_bytes=tuple(buffer_bytes(b) for b in program.workspace),
    )
    return Generated(made, {kernel.name: kernel.shape.local_bytes for kernel in kernels})


def _module_text(kernels: tuple[KernelText, ...]) -> str:
    """One text of several kernels, with what they need of the prelude."""
    used = frozenset[str]().union(*(kernel.helpers for kernel in kernels))
    return prelude(used) + "\n".join(kernel.text for kernel in kernels)


def _launch(kernel: KernelText) -> Launch:
    shape = kernel.shape
    arguments = tuple(Pointer(number) for number in kernel.operands)
    return Launch(0, kernel.name, shape.grid, shape.block, shape.shared_bytes, arguments)
