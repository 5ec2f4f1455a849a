"""What follows from the ranges of variables and from guards."""

from __future__ import annotations

from tilewright_tensor.expressions.affine import Affine, Var
from tilewright_tensor.ir.facts import Facts


def test_a_sum_of_quotients_is_bounded_by_what_bounds_any_of_them() -> None:
    block, inner = Var("block"), Var("inner")
    facts = Facts({block: (0, 5), inner: (0, 47)})
    row: Affine = block // 3 * 8 + inner // 6
    assert facts.holds((row, 14)) is None
    assert facts.with_conditions([(block // 3 * 48 + inner, 84)]).holds((row, 14))
