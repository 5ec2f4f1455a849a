"""Running loop programs on x86 beside the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from isa_levels import ROUNDING, WIDTHS

from tilewright.vocabulary.target import Target
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.ir.loop_ir import LoopProgram
from tilewright_x86.backend import X86Backend

ISA_NAMES = [*ROUNDING, *WIDTHS]


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


@pytest.fixture
def random_inputs() -> Callable[[LoopProgram], list[Any]]:
    """random_inputs(program): the same arrays for the same program every time."""

    def arrays(program: LoopProgram) -> list[Any]:
        rng = np.random.default_rng(0)
        made: list[Any] = []
        for buffer in program.inputs:
            if "float" in buffer.dtype:
                made.append(rng.uniform(-1, 1, buffer.shape).astype(buffer.dtype))
            elif buffer.dtype == "bool":
                made.append(rng.random(buffer.shape) < 0.5)
            else:
                low = 0 if buffer.dtype.startswith("u") else -100
                made.append(rng.integers(low, 100, buffer.shape).astype(buffer.dtype))
        return made

    return arrays


@pytest.fixture
def agree(run_x86: Callable[..., Any], random_inputs: Callable[..., Any]) -> Callable[..., None]:
    """agree(program, isa): x86 code and the interpreter give the same."""

    def check(program: LoopProgram, isa: str) -> None:
        inputs = random_inputs(program)
        with np.errstate(all="ignore"):
            expected = interpret(program, inputs)
        for mine, other in zip(run_x86(program, inputs, isa), expected, strict=True):
            np.testing.assert_allclose(mine, other, rtol=2e-6, atol=5e-6)

    return check
