"""How far a right answer may be from its reference, and what inputs tell it from a wrong one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import log10, sqrt
from operator import and_

from tilewright_tensor.expressions.dtype import DATA_TYPES, is_float
from tilewright_tensor.expressions.expr import Const, Op, Read, Value
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import PROD, SUM, Dag, terms_per_element
from tilewright_tensor.operators.definition.operator_def import Values

_FACTORS, _WHOLE_FACTORS = 32, 4
"""Factors of a product that are not 1 or -1: more leave the range of float16, and of int8."""


@dataclass(frozen=True, slots=True)
class Rounding:
    """What rounding does to the answers of a compute DAG, and how to draw for it.

    tolerance   largest max|a-b| / max|b| of a right answer
    thinned     inputs, by number, of which only a share is drawn: the others are 0 and take their
                terms out of every sum; 1 or -1 in a product
    share       of the elements of a thinned input
    multiplied  inputs, by number, whose elements are multiplied together
    """

    tolerance: float
    thinned: frozenset[int] = frozenset()
    share: float = 1.0
    multiplied: frozenset[int] = frozenset()


def rounding(dag: Dag, drawn: Sequence[Values]) -> Rounding:
    """The tolerance, and which inputs are thinned so that it tells right answers from wrong.

    `drawn` says what each input is drawn as. With eps of the coarsest float dtype on the way (what
    is cast to float16 and back has its eps), u = eps / 2, and n terms in the longest sum:

    *Right answers.* A kernel may add in any order that does not depend on the values. The worst is
    one after the other, rounded to the dtype each time: each addition errs by at most u times the
    partial sum, independently of the others and with mean 0, so that the errors grow with the root
    of their number (Higham and Mary, A new approach to probabilistic rounding error analysis, SIAM
    J. Sci. Comput. 41(5), 2019, theorem 2.4; for random data, Sharper probabilistic backward error
    analysis, ibid. 42(5), 2020). Terms of either sign and of deviation s have partial sums near
    s sqrt(k), so errors of deviation u s n / sqrt(6) at most, and answers near s sqrt(n): six
    deviations are 1.2 sqrt(n) eps of the answer. Terms of one sign give 1 sqrt(n) eps likewise;
    rounded products add one rounding a term, which is less. The tolerance is 16 sqrt(n) eps, 13
    times that: for algorithms that transform operands (Winograd), and for answers below their
    deviation. It is 64 eps at least, for functions that targets approximate.

    *Wrong answers.* Without one term of either sign, the answer is off by 1.7 s where that term is
    large, among answers up to 4 s sqrt(n): by 0.4 / sqrt(n), which is above 16 sqrt(n) eps while
    n < 1 / (40 eps). Of terms of one sign it is 1 / n: n < (16 eps)^(-2/3). Beyond, no tolerance
    tells the two apart, so inputs are drawn such that most terms are 0: `share` leaves 1 / (64 eps)
    terms of either sign (131072 in float32) or (32 eps)^(-2/3) of one sign (4096). Adding 0 is
    exact: only these terms count for the tolerance, which so is 2 sqrt(eps) at most. Which terms
    are left differs by element of the output. Products of many factors leave the range of their
    dtype: all but 32 factors (4 whole ones) are 1 or -1.

    Sums whose terms are no products of inputs (of exponentials, in softmax) cannot be thinned.
    Their tolerance is a quarter at most, so that zeros are wrong at any length. Whole numbers must
    agree exactly.
    """
    sums = [t for t in dag.computes if t.combiner is not None and terms_per_element(t) > 1]
    products = [t for t in sums if t.combiner is PROD]
    if products:
        return _of_products(dag, products)
    eps = _coarsest(dag)
    sums = [t for t in sums if is_float(t.dtype)]
    if not eps or not sums:
        return Rounding(_tolerance(eps, 1))
    longest = max(map(terms_per_element, sums))
    factors = [_factors(t.body) if t.combiner is SUM else Counter[Tensor]() for t in sums]
    common = reduce(and_, factors)
    if not common:
        return Rounding(min(_tolerance(eps, longest), max(0.25, 64 * eps)))
    numbers = {tensor: dag.inputs.index(tensor) for tensor in common}
    either_sign = any(
        count % 2 and drawn[numbers[tensor]] in ("signed", "weight")
        for tensor, count in common.items()
    )
    left = 1 / (64 * eps) if either_sign else (32 * eps) ** (-2 / 3)
    return _thinned(_tolerance(eps, min(longest, left)), numbers.values(), left / longest)


def network_tolerance(dtypes: Iterable[str]) -> float:
    """Largest relative error of a network's right answer, by the coarsest of its tensors' dtypes.

    The power of ten next to 0.3 sqrt(eps): 1e-2 for float16, 1e-4 for float32, 1e-8 for float64;
    four eps where that is more: 3e-2 for bfloat16. In float32 it is a sixth of the most that one
    kernel's answer may differ by (see `rounding`), which is for the worst order of a sum; those of
    a network are of many kernels and orders.
    """
    coarsest = _largest_eps(dtypes) or DATA_TYPES["float32"].eps
    return max(float(10.0 ** round(log10(0.3 * sqrt(coarsest)))), 4 * coarsest)


def _of_products(dag: Dag, products: Sequence[Tensor]) -> Rounding:
    factors = frozenset(dag.inputs.index(x) for t in products for x in _factors(t.body))
    left = _FACTORS if is_float(products[0].dtype) else _WHOLE_FACTORS
    made = _thinned(
        _tolerance(_coarsest(dag), left), factors, left / max(map(terms_per_element, products))
    )
    return replace(made, multiplied=factors)


def _thinned(tolerance: float, inputs: Collection[int], share: float) -> Rounding:
    if share >= 1 or not inputs:
        return Rounding(tolerance)
    return Rounding(tolerance, frozenset(inputs), share ** (1 / len(inputs)))


def _tolerance(eps: float, terms: float) -> float:
    return eps * max(64.0, 16.0 * sqrt(terms))


def _coarsest(dag: Dag) -> float:
    """The eps of what the answer is rounded to on its way; 0 for whole numbers."""
    if not is_float(dag.outputs[0].dtype):
        return 0.0
    return _largest_eps(tensor.dtype for tensor in dag.computes)


def _largest_eps(dtypes: Iterable[str]) -> float:
    return max((DATA_TYPES[dtype].eps for dtype in dtypes), default=0.0)


def _factors(value: Value | None) -> Counter[Tensor]:
    """The placeholders whose zeros make the value 0, and how often they are factors of it."""
    if isinstance(value, Read):
        if value.tensor.body is None:
            return Counter([value.tensor])
        return _factors(value.tensor.body) if value.tensor.combiner is None else Counter()
    if not isinstance(value, Op):
        return Counter()
    if value.name in ("cast", "neg"):
        return _factors(value.args[0])
    if value.name == "abs":
        once = _factors(value.args[0])
        return once + once
    if value.name == "mul":
        return _factors(value.args[0]) + _factors(value.args[1])
    if value.name == "div":
        return _factors(value.args[0])
    if value.name in ("add", "sub", "max", "min", "select"):
        sides = value.args[1:] if value.name == "select" else value.args
        zero = [isinstance(side, Const) and side.value == 0 for side in sides]
        kept = [_factors(side) for side, none in zip(sides, zero, strict=True) if not none]
        return reduce(and_, kept) if kept else Counter()
    return Counter()
