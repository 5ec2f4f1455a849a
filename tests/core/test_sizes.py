"""One bound on sizes, wherever a tensor comes in."""

from __future__ import annotations

import pytest

from tilewright.errors import UsageError
from tilewright.sizes import MOST_ELEMENTS
from tilewright.vocabulary.workload import TensorSpec


@pytest.mark.parametrize("shape", [(MOST_ELEMENTS,), (0, 2**62), (), (2**15, 2**15)])
def test_a_tensor_within_the_bound_is_taken(shape):
    assert TensorSpec(shape).shape == shape


@pytest.mark.parametrize("shape", [(MOST_ELEMENTS + 1,), (2**62, 2**62), (2**16, 2**15)])
def test_a_tensor_beyond_the_bound_is_refused_with_a_remedy(shape):
    with pytest.raises(UsageError, match=r"elements") as refused:
        TensorSpec(shape)
    assert str(MOST_ELEMENTS) in refused.value.remedy


def test_no_extent_is_below_zero():
    with pytest.raises(UsageError, match=r"cannot have shape \[3, -1\]"):
        TensorSpec((3, -1))
