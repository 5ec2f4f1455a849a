"""Definitions that Python unrolls: as deep as may be they compile, beyond they are refused."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.workload import TensorSpec
from tilewright_tensor.evaluation.evaluate import evaluate
from tilewright_tensor.expressions.bounds import DEEPEST
from tilewright_tensor.expressions.expr import cast
from tilewright_tensor.expressions.lookup import lookup
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import compute
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.operators.operator import operator
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_x86.machine.isa import isa_of
from tilewright_x86.text.emit import emit


def _repeated(name, tensor, step, count):
    def element(i):
        value = tensor[i]
        for _ in range(count):
            value = step(value)
        return value

    return compute(name, tensor.shape, element)


def _operators(step, count, stages=1):
    @operator()
    def unrolled(x: Tensor) -> Tensor:
        running = x
        for number in range(stages):
            name = "unrolled" if number == stages - 1 else f"part{number}"
            running = _repeated(name, running, lambda value: step(value, x), count)
        return running

    return Operators([unrolled])


def _workload(operators):
    return operators.workload("unrolled", [TensorSpec((8,), "float32")])


@pytest.mark.parametrize("stages", [1, 4])
def test_an_expression_as_deep_as_may_be_is_compiled(stages):
    operators = _operators(lambda value, _: value + 1.0, DEEPEST // stages, stages)
    workload = _workload(operators)
    dag = operators.compute_dag(workload)
    schedule = Schedule.of(dag)
    for number in range(stages - 1):
        schedule = schedule.inline(f"part{number}")
    program = lower(schedule, "unrolled")
    assert str(program).count("+ 1") == DEEPEST
    emit(program, isa_of(Target.parse("x86:isa=avx2")), 1, "unrolled")
    x = np.arange(8, dtype=np.float32)
    found = evaluate(dag, [x])[0]
    np.testing.assert_array_equal(found, x + DEEPEST)


@pytest.mark.parametrize(
    ("step", "count", "stages"),
    [
        (lambda value, _: value + 1.0, DEEPEST + 1, 1),
        (lambda value, _: value + 1.0, 20_000, 1),
        (lambda value, _: value + 1.0, DEEPEST // 4 + 1, 4),
        (lambda value, _: value * value, 40, 1),
        (lambda value, _: value * value, 10, 5),
        (lambda value, x: x[lookup(cast(value, "int64"), 8)], 100, 1),
    ],
)
def test_a_definition_that_python_unrolls_too_far_is_refused_with_one_line(step, count, stages):
    with pytest.raises(UsageError, match="within each other; at most") as refused:
        _workload(_operators(step, count, stages))
    assert "\n" not in str(refused.value)
