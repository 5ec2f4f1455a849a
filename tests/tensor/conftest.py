"""Operators and references as every test of this folder wants them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from tilewright.vocabulary.workload import Workload
from tilewright_tensor.evaluation.evaluate import evaluate
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.ir.loop_ir import LoopProgram
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.lowering.verify import verify
from tilewright_tensor.operators.operators import Operators, builtin_operators
from tilewright_tensor.operators.reference import OperatorReference
from tilewright_tensor.schedule.schedule import Schedule


@pytest.fixture(scope="session")
def operators() -> Operators:
    """The built-in operators."""
    return builtin_operators()


@pytest.fixture(scope="session")
def references(operators: Operators) -> Mapping[str, OperatorReference]:
    """A reference for each built-in operator."""
    return {reference.operator: reference for reference in OperatorReference.of(operators)}


@pytest.fixture(scope="session")
def workload(references: Mapping[str, OperatorReference]) -> Callable[[str], Workload]:
    """The workload of a text form."""

    def parse(text: str) -> Workload:
        name, parenthesis, rest = text.partition("(")
        return references[name].parse(parenthesis + rest, "")

    return parse


@pytest.fixture(scope="session")
def checked() -> Callable[[Schedule], LoopProgram]:
    """Lowers a schedule, verifies and interprets it, and compares with the reference evaluation of its DAG."""
    return check_schedule


def check_schedule(schedule: Schedule) -> LoopProgram:
    used = [stage.instruction[1] for stage in schedule.stages.values() if stage.instruction]
    schedule = Schedule.replay(schedule.dag, schedule.steps, {one.name: one for one in used})
    program = lower(schedule, "kernel")
    assert verify(program) == [], str(program)
    rng = np.random.default_rng(0)
    logical = [rng.uniform(-1, 1, t.shape).astype(t.dtype) for t in schedule.dag.inputs]
    layouts = schedule.layouts
    inputs = [
        layouts[t.name].pack(a) if t.name in layouts else a
        for t, a in zip(schedule.dag.inputs, logical, strict=True)
    ]
    outputs = interpret(program, inputs)
    for tensor, got, want in zip(
        schedule.dag.outputs, outputs, evaluate(schedule.dag, logical), strict=True
    ):
        found = layouts[tensor.name].unpack(got, tensor.shape) if tensor.name in layouts else got
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4, err_msg=str(program))
    return program
