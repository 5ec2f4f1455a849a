"""Running loop programs on x86 beside the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tilewright.target import Target
from tilewright_tensor.loop_ir import LoopProgram
from tilewright_x86.backend import X86Backend
from tilewright_x86.isa import available

ISA_NAMES = [isa.name for isa in available()]


@pytest.fixture(params=ISA_NAMES)
def isa(request: pytest.FixtureRequest) -> str:
    """Every level of x86 that this machine can run."""
    return str(request.param)


@pytest.fixture
def run_x86() -> Callable[..., tuple[Any, ...]]:
    """run_x86(program, inputs, isa=..., threads=1): the outputs, which start as NaN or 77."""

    def run(
        program: LoopProgram, inputs: Sequence[Any], isa: str = "", threads: int = 1
    ) -> tuple[Any, ...]:
        backend = X86Backend()
        target = Target("x86", {"isa": isa or ISA_NAMES[0], "threads": str(threads)})
        kernel = backend.load(backend.build(program, target), backend.probe()[0])
        poison = [
            np.full(b.shape, np.nan if "float" in b.dtype else 77, b.dtype) for b in program.outputs
        ]
        kernel.bind([*inputs, *poison], {})
        kernel.launch()
        outputs = tuple(
            kernel.read(len(inputs) + position) for position in range(len(program.outputs))
        )
        kernel.close()
        return outputs

    return run
