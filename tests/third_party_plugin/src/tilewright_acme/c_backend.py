"""The target `acme-c`: C for the system's compiler, one thread."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.errors import UsageError
from tilewright.roles import Artifact
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright_acme import c_compiler
from tilewright_tensor.c_text.c_module import CModule, network_module, program_module
from tilewright_tensor.ir.loop_ir import LoopProgram
from tilewright_tensor.ir.network_program import NetworkProgram
from tilewright_tensor.kernels.shared_object import SharedObject

_FORMAT = "shared-object"


class CBackend:
    """Implements `TargetBackend` and `TellsItsParts`."""

    def __init__(self, options: Any, host: Any) -> None:
        pass

    def probe(self) -> Sequence[Device]:
        """The processor, where there is a compiler for it."""
        version = c_compiler.version()
        attributes = {"model": platform.machine(), "compiler": version}
        return [Device("processor", attributes)] if version else []

    def found_parts(self) -> Mapping[str, str]:
        version = c_compiler.version()
        return {c_compiler.COMPILER: version} if version else {}

    def missing_parts(self) -> Mapping[str, str]:
        return {} if c_compiler.version() else {"processor": "no cc in PATH: install gcc or clang"}

    def check_target(self, target: Target, device: Device) -> None:
        if target.attributes:
            raise UsageError(f"target {target}: acme-c has no attributes", remedy="write acme-c")

    def build(self, program: LoopProgram, target: Target) -> Artifact:
        return _artifact(target, program_module(program))

    def link(self, network_program: NetworkProgram, target: Target) -> Artifact:
        return _artifact(target, network_module(network_program))

    def load(self, artifact: Artifact, device: Device) -> SharedObject:
        if artifact.format != _FORMAT:
            raise UsageError(f"artefact of format {artifact.format!r}: acme-c loads {_FORMAT!r}")
        metadata = artifact.metadata
        return SharedObject(artifact.data, metadata["operands"], metadata["scratch_bytes"])

    def measure_peak(self, device: Device, target: Target) -> tuple[float, float]:
        """What numpy reaches: a product of matrices, and the sum of 64 MiB."""
        size, data = 512, np.ones(1 << 24, np.float32)
        matrix = data[: size * size].reshape(size, size)
        return 2 * size**3 / _seconds(matrix.dot, matrix), data.nbytes / _seconds(data.sum)


def _artifact(target: Target, module: CModule) -> Artifact:
    metadata = {
        "operands": [[list(shape), dtype] for shape, dtype in module.operands],
        "scratch_bytes": module.scratch_bytes,
    }
    return Artifact(str(target), _FORMAT, c_compiler.shared_object(module.text), metadata)


def _seconds(work: Any, *arguments: Any) -> float:
    """The fastest of three."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)
