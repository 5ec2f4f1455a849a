"""The target `acme-c`: C for the system's compiler, one thread."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.device import Device
from tilewright.errors import UsageError
from tilewright.roles import Artifact
from tilewright.target import Target
from tilewright_acme import c_compiler
from tilewright_acme.c_kernel import CKernel
from tilewright_acme.c_text import PRELUDE, function_text, workspace_bytes
from tilewright_tensor.loop_ir import LoopProgram
from tilewright_tensor.network_program import NetworkProgram

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

    def found(self) -> Mapping[str, str]:
        version = c_compiler.version()
        return {c_compiler.COMPILER: version} if version else {}

    def missing(self) -> Mapping[str, str]:
        return {} if c_compiler.version() else {"processor": "no cc in PATH: install gcc or clang"}

    def check_target(self, target: Target, device: Device) -> None:
        if target.attributes:
            raise UsageError(f"target {target}: acme-c has no attributes", remedy="write acme-c")

    def build(self, program: LoopProgram, target: Target) -> Artifact:
        operands = [(b.shape, b.dtype) for b in (*program.inputs, *program.outputs)]
        text = f"{function_text(program, 'kernel')}void run(char *const *at) {{ kernel(at); }}\n"
        return _artifact(target, text, operands, workspace_bytes(program))

    def link(self, network_program: NetworkProgram, target: Target) -> Artifact:
        """Every distinct kernel once, and a function that calls them in order.

        The arena begins where the workspace does; that of the kernels lies behind it.
        """
        network, places = network_program, network_program.places
        kernels: dict[LoopProgram, str] = {}
        calls = []
        for call in network.calls:
            name = kernels.setdefault(call.program, f"kernel{len(kernels)}")
            slots = [places[buffer] for buffer in call.operands]
            slots.append((len(network.operands), network.arena_bytes))
            listed = ", ".join(f"at[{slot}] + {offset}" for slot, offset in slots)
            calls.append(f"{name}((char *const[]){{{listed}}});")
        functions = "".join(function_text(program, name) for program, name in kernels.items())
        text = f"{functions}void run(char *const *at) {{ {' '.join(calls)} }}\n"
        scratch = network.arena_bytes + max(map(workspace_bytes, kernels), default=0)
        return _artifact(target, text, network.operands, scratch)

    def load(self, artifact: Artifact, device: Device) -> CKernel:
        if artifact.format != _FORMAT:
            raise UsageError(f"artefact of format {artifact.format!r}: acme-c loads {_FORMAT!r}")
        return CKernel(artifact)

    def measure_peak(self, device: Device, target: Target) -> tuple[float, float]:
        """What numpy reaches: a product of matrices, and the sum of 64 MiB."""
        size, data = 512, np.ones(1 << 24, np.float32)
        matrix = data[: size * size].reshape(size, size)
        return 2 * size**3 / _seconds(matrix.dot, matrix), data.nbytes / _seconds(data.sum)


def _artifact(target: Target, text: str, operands: Sequence[Any], scratch_bytes: int) -> Artifact:
    metadata = {
        "operands": [[list(shape), dtype] for shape, dtype in operands],
        "workspace_bytes": scratch_bytes,
    }
    return Artifact(str(target), _FORMAT, c_compiler.shared_object(PRELUDE + text), metadata)


def _seconds(work: Any, *arguments: Any) -> float:
    """The fastest of three."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)
