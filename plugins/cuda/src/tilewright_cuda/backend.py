"""The CUDA target: probe, build, link, load, peak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tilewright_cuda.program.cuda_program import CudaProgram

if TYPE_CHECKING:
    from tilewright.roles import Artifact, Kernel
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.target import Target
    from tilewright_tensor.ir.loop_ir import LoopProgram
    from tilewright_tensor.ir.network_program import NetworkProgram


class CudaBackend:
    """Implements `TargetBackend` for NVIDIA GPUs, and for their emulation.

    Programs are `LoopProgram` or, written by hand, `CudaProgram`.
    """

    def probe(self) -> Sequence[Device]:
        """Every GPU, and `emulated` where there is a C++ compiler."""
        from tilewright_cuda.device import devices

        return devices.probe()

    def found_parts(self) -> Mapping[str, str]:
        """The driver and the compilers of this machine."""
        from tilewright_cuda.device import devices

        return devices.found()

    def missing_parts(self) -> Mapping[str, str]:
        """Why there is no GPU, no emulation, no compiler or no PyCUDA, and how to get it."""
        from tilewright_cuda.device import devices

        return devices.missing()

    def check_target(self, target: Target, device: Device) -> None:
        """Raises UsageError for an architecture that the device does not run."""
        from tilewright_cuda.device import devices

        devices.check_target(target, device)

    def build(self, program: LoopProgram | CudaProgram, target: Target) -> Artifact:
        """The text of one candidate and, where a compiler is there, its machine code.

        Raises ValueError for a program that the architecture cannot run.
        """
        from tilewright_cuda.compile.build import build

        return build(program, target)

    def code_text(self, program: LoopProgram | CudaProgram, target: Target) -> str:
        """CUDA C of one kernel. Raises ValueError for a program the architecture cannot run."""
        from tilewright_cuda.program.arch import arch_of
        from tilewright_cuda.text.generate import generate

        return "\n".join(generate(program, arch_of(target)).program.modules)

    def link(self, network_program: NetworkProgram, target: Target) -> Artifact:
        """A whole network as one list of launches.

        Raises ValueError for a program that the architecture cannot run.
        """
        from tilewright_cuda.compile.link import link_network

        return link_network(network_program, target)

    def load(self, artifact: Artifact, device: Device) -> Kernel:
        """The kernel, in this process. Raises UsageError where the device cannot run it."""
        from tilewright_cuda.device.loading import load_kernel

        return load_kernel(artifact, device)

    def measure_peak(self, device: Device, target: Target) -> tuple[float, float]:
        """(float32 operations a second, bytes read a second from device memory)."""
        from tilewright_cuda.device import peak

        return peak.measure_peak(device)


def make_backend(options: Any, host: Any) -> CudaBackend:
    """Factory of the target component."""
    return CudaBackend()
