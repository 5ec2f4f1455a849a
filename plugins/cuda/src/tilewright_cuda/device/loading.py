"""An artefact on a device: a GPU, or its emulation."""

from __future__ import annotations

from tilewright.roles import Artifact, Kernel
from tilewright.vocabulary.device import Device
from tilewright_cuda.device.devices import check_runs, l2_bytes, open_runtime
from tilewright_cuda.driver.kernel import CudaKernel
from tilewright_cuda.program.artifact import contents_of


def load_kernel(artifact: Artifact, device: Device) -> Kernel:
    """The artefact on a device. Raises UsageError where the device cannot run it."""
    contents = contents_of(artifact)
    if device.emulated:
        from tilewright_cuda.emulation.kernel import EmulatedKernel
        from tilewright_cuda.emulation.runtime import EmulatedRuntime

        return EmulatedKernel(EmulatedRuntime(), contents, 2 * l2_bytes(device))
    check_runs(contents, device)
    return CudaKernel(open_runtime(device), contents, 2 * l2_bytes(device))
