"""Products of AutoTVM's logs, of versions that say what is transposed and of those that do not."""

from __future__ import annotations

import pytest

from tilewright.json_object import UnknownLineError
from tilewright_tensor.logs.autotvm_templates import workload_of
from tilewright_tensor.operators.operators import builtin_operators

A = ["TENSOR", [12, 128, 64], "float32"]
PLAIN, TURNED = (["TENSOR", [12, *shape], "float32"] for shape in ([64, 100], [100, 64]))
SHAPE = [12, 128, 100]


def product(*arguments):
    return workload_of("batch_matmul.x86", [A, *arguments], builtin_operators())


@pytest.mark.parametrize(
    "arguments",
    [
        [TURNED, None],
        [TURNED, SHAPE, "float32"],
        [TURNED, SHAPE, "float32", False, True],
        [PLAIN, SHAPE, "float32", False, False],
        [PLAIN, SHAPE, 0, 0],
    ],
)
def test_a_second_operand_is_as_the_log_says(arguments):
    data, other = product(*arguments).inputs
    assert (data.shape, other.shape) == ((12, 128, 64), (12, 64, 100))


def test_a_transposed_first_operand_is_no_operator_of_ours():
    with pytest.raises(UnknownLineError, match="transposed first operand"):
        product(PLAIN, SHAPE, "float32", True, False)
