"""Entities of knobs: the numbers and orders that AutoTVM's users know."""

from __future__ import annotations

import math
from enum import StrEnum
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.errors import UsageError
from tilewright.space.config_space import ConfigSpace
from tilewright.space.entities.split import divisors, split_entities
from tilewright.space.feasible.constraint import Knob
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity


@pytest.mark.parametrize(
    ("length", "outputs", "policy", "count"),
    [
        (256, 3, "factors", 45),
        (256, 3, "power2", 45),
        (256, 3, "verbose", 45),
        (224, 3, "factors", 63),
        (224, 3, "power2", 36),
        (224, 3, "verbose", 84),
        (2**25, 4, "factors", 3276),
        (512, 2, "factors", 10),
        (128, 2, "factors", 8),
    ],
)
def test_split_has_as_many_entities_as_autotvm(length, outputs, policy, count):
    assert len(split_entities(length, outputs, policy)) == count


def test_split_order_changes_the_innermost_factor_slowest():
    assert split_entities(4, 3) == (
        (4, 1, 1),
        (2, 2, 1),
        (1, 4, 1),
        (2, 1, 2),
        (1, 2, 2),
        (1, 1, 4),
    )


def test_verbose_split_tries_its_factors_in_ascending_order():
    inner = [entity[-1] for entity in split_entities(12, 2, "verbose")]
    assert inner == [1, 2, 3, 4, 6, 8, 12]


@given(st.integers(1, 200), st.integers(1, 4))
def test_factors_split_is_every_factorisation_once(length, outputs):
    entities = split_entities(length, outputs)
    assert all(math.prod(entity) == length for entity in entities)
    assert len(set(entities)) == len(entities)

    # Independent count: choose the innermost factor, split the rest.
    def count(n, k):
        return 1 if k == 1 else sum(count(n // d, k - 1) for d in range(1, n + 1) if n % d == 0)

    assert len(entities) == count(length, outputs)


@given(st.integers(1, 130), st.integers(2, 3), st.integers(1, 40))
def test_split_with_tails_covers_the_length_and_keeps_max_factor(length, outputs, max_factor):
    for entity in split_entities(length, outputs, "verbose", max_factor, no_tail=False):
        tile = math.prod(entity[1:])
        assert all(factor <= max_factor for factor in entity[1:])
        assert tile <= length
        assert entity[0] == math.ceil(length / tile)


def test_no_tail_keeps_only_powers_that_divide():
    assert split_entities(12, 2, "power2", no_tail=True) == ((12, 1), (6, 2), (3, 4))


def test_candidate_split_is_taken_in_the_callers_order_and_completed():
    knobs = Knobs("s")
    knobs.define_split("t", 10, num_outputs=2, policy="candidate", candidate=[[-1, 4], [5, 2]])
    assert knobs.alternative().knobs[0].values == ((3, 4), (5, 2))
    with pytest.raises(UsageError, match="does not cover"):
        knobs.define_split("u", 10, num_outputs=2, policy="candidate", candidate=[[2, 2]])


def test_a_split_too_large_to_list_is_refused_with_a_remedy():
    with pytest.raises(UsageError, match="max_factor"):
        split_entities(2**40, 8)


@given(st.integers(1, 3000))
def test_divisors_are_all_and_ascending(length):
    assert list(divisors(length)) == [n for n in range(1, length + 1) if length % n == 0]


def test_a_filter_takes_entities_away_and_may_read_its_own_knob_only():
    knobs = Knobs("s")
    knobs.define_split("t", 128, num_outputs=2, filter=Knob("t")[-1] < 64)
    assert len(knobs.alternative().knobs[0]) == 6
    with pytest.raises(UsageError, match="its own knob"):
        knobs.define_knob("u", [1, 2], filter=Knob("t")[-1] == Knob("u"))


@pytest.mark.parametrize(
    "value", [Fraction(1, 2), StrEnum("Place", "OUTER").OUTER, math.nan, [1, math.inf]]
)
def test_values_that_no_record_gives_back_are_refused(value):
    """Such a config would be none of the space's once it is read again."""
    knobs = Knobs("s")
    with pytest.raises(UsageError, match=r"'x' offers .* that no record gives back"):
        knobs.define_knob("x", [1, value])
    with pytest.raises(UsageError, match=r"'y' offers .* that no record gives back"):
        knobs.define_entities("y", "annotate", (("none",), (value,)))


def test_wrong_declarations_are_refused_by_name():
    knobs = Knobs("s")
    knobs.define_knob("u", [1, True, 1.0, "1", None, [1, 2]])
    assert len(knobs.alternative().knobs[0]) == 6
    with pytest.raises(UsageError, match="'u' is declared twice"):
        knobs.define_knob("u", [1])
    with pytest.raises(UsageError, match="'v' offers a value twice"):
        knobs.define_knob("v", [1, 1])
    with pytest.raises(UsageError, match=r"(?s)'w'.*lists of them"):
        knobs.define_knob("w", [{"a": 1}])
    knobs.constrain(Knob("nobody") == 1)
    with pytest.raises(UsageError, match=r"the constraint 'nobody == 1' reads \['nobody'\]"):
        knobs.alternative()


@pytest.mark.parametrize("tile", [[8.0, 2], [8, True], ["8", 2], [[8], 2], [8, 2.0], [8, None]])
def test_a_number_of_another_type_is_no_factor_even_where_python_finds_it_equal(tile):
    """A record may say 1.0 or true; a strategy computes with whole numbers."""
    knobs = Knobs("s")
    knobs.define_split("t", 16, num_outputs=2)
    space = ConfigSpace([knobs.alternative()])
    assert space.is_valid(ConfigEntity("s", {"t": [8, 2]}))
    config = ConfigEntity("s", {"t": tile})
    assert not space.is_valid(config)
    assert config not in space
    with pytest.raises(UsageError, match="is no point of this space"):
        space.index(config)
