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


def test_a_quotient_is_bounded_by_what_bounds_its_dividend_otherwise_written() -> None:
    """`16*block + 2*inner + lane` is below 30 where `8*block + inner` is below 15."""
    block, inner, lane, other = map(Var, ("block", "inner", "lane", "other"))
    facts = Facts({block: (0, 1), inner: (0, 7), lane: (0, 1), other: (0, 1)})
    row: Affine = (block * 16 + inner * 2 + lane) // 5 * 2 + other
    known = facts.with_conditions([(block * 8 + inner, 15)])
    assert facts.holds((row, 12)) is None
    assert known.holds((row, 12))
    assert known.holds((row, 11)) is None
