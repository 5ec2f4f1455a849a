"""Constraints: values that serialise, are never evaluated as text, and prune soundly."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tilewright.space.feasible.constraint import (
    Binary,
    Constant,
    Knob,
    Not,
    expression_from_json,
    holds,
)
from tilewright.space.feasible.intervals import atoms_of, compile_bound, hull
from tilewright.space.feasible.point_value import compile_value

VALUES = {"a": [1, 2, 3, 8], "b": [0, 2, 5], "t": [(4, 1), (2, 2), (1, 4)]}

leaves = st.one_of(
    st.integers(-3, 20).map(Constant),
    st.sampled_from(
        [
            Knob("a"),
            Knob("b"),
            Knob("t")[-1],
            Knob("t")[0],
            Knob("t").product(),
            Knob("t").product(1),
        ]
    ),
)
expressions = st.recursive(
    leaves,
    lambda part: st.one_of(
        part.map(Not),
        st.builds(
            Binary,
            st.sampled_from(
                ["+", "-", "*", "//", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or"]
            ),
            part,
            part,
        ),
    ),
    max_leaves=10,
)


def points():
    for values in itertools.product(*VALUES.values()):
        yield dict(zip(VALUES, values, strict=True))


def test_python_operators_build_what_they_say():
    tile, vectors = Knob("tile_ow"), Knob("vectors")
    fits = (tile[-1] * vectors <= 28) & ~((2 + vectors) % 3 == 0) | (1 - tile.product() // 2 > 0)
    assert json.dumps(fits.to_json()) == json.dumps(
        [
            "or",
            [
                "and",
                ["<=", ["*", ["item", "tile_ow", -1], ["knob", "vectors"]], 28],
                ["not", ["==", ["%", ["+", 2, ["knob", "vectors"]], 3], 0]],
            ],
            [">", ["-", 1, ["//", ["product", "tile_ow", 0], 2]], 0],
        ]
    )
    assert holds(fits, {"tile_ow": (4, 14), "vectors": 2})
    assert not holds(fits, {"tile_ow": (4, 14), "vectors": 4})


@given(expressions)
def test_json_form_comes_back_with_the_same_meaning(expression):
    again = expression_from_json(json.loads(json.dumps(expression.to_json())))
    assert again.to_json() == expression.to_json()
    assert [holds(again, p) for p in points()] == [holds(expression, p) for p in points()]


def divides_by_zero(expression, point):
    try:
        expression.evaluate(point)
    except ZeroDivisionError:
        return True
    return False


@given(expressions)
@example(~((Constant(0) // Knob("b")) & ~Knob("a")))
def test_bounds_never_exclude_a_point_and_values_decide_complete_ones(expression):
    if not expression.knobs():
        return
    atoms = atoms_of(expression)
    slots = {id(part): slot for slot, part in enumerate(atoms)}
    bound, value = compile_bound(expression, slots), compile_value(expression, slots)

    def known(part, point):
        try:
            return (part.evaluate(point),) * 2
        except ZeroDivisionError:
            return None

    for point in points():
        here = [known(part, point) for part in atoms]
        if not divides_by_zero(expression, point):  # else no point holds, whatever its bounds say
            assert bool(bound(here)[0]) == holds(expression, point)
        try:
            told = bool(value(here))
        except ZeroDivisionError:
            told = False
        assert told == holds(expression, point)
    for fixed in ({}, {"a": 3}, {"b": 0}, {"b": 2, "t": (2, 2)}):
        free = [p for p in points() if all(p[name] == value for name, value in fixed.items())]
        intervals = []
        for part in atoms:
            seen = [known(part, p) for p in free]
            intervals.append(None if None in seen else hull([value for value, _ in seen]))
        if bound(intervals) == (False, False):
            assert not any(holds(expression, p) for p in free)


def test_chained_comparison_is_refused_with_the_remedy():
    with pytest.raises(TypeError, match=r"\(a <= b\) & \(b <= c\)"):
        1 <= Knob("a") <= 3  # noqa: B015
    with pytest.raises(TypeError):
        list(Knob("a"))


def test_dividing_by_zero_makes_a_point_infeasible_unless_guarded():
    assert not holds(4 % Knob("b") == 0, {"b": 0})
    assert holds((Knob("b") == 0) | (4 % Knob("b") == 0), {"b": 0})
