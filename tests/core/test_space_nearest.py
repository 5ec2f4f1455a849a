"""The config most like one of another space: the nearest values that constraints allow together."""

from __future__ import annotations

import pytest

from tilewright.space.config_space import ConfigSpace
from tilewright.space.knobs import Knobs
from tilewright.space.nearest import nearest_config
from tilewright.vocabulary.config import ConfigEntity


def space(length, most=10**6, name="one"):
    knobs = Knobs(name)
    tile = knobs.define_split("tile", length, num_outputs=2)
    unroll = knobs.define_knob("unroll", [1, 2, 4, 8])
    knobs.define_knob("order", ["ij", "ji"])
    knobs.constrain(tile[1] * unroll <= most)
    return ConfigSpace([knobs.alternative()])


def config(tile, unroll=4, order="ji", **more):
    return ConfigEntity("one", {"tile": tile, "unroll": unroll, "order": order, **more})


@pytest.mark.parametrize(
    ("length", "most", "found"),
    [
        (24, 10**6, config((3, 8))),  # its own point
        (48, 10**6, config((6, 8))),  # the outermost factor is what is left
        (21, 10**6, config((3, 7))),  # the nearest factor
        (48, 16, config((6, 8), unroll=2)),  # infeasible as it is: the nearest that is not
        (48, 2, config((24, 2), unroll=1)),
        (48, 0, None),
    ],
)
def test_the_nearest_feasible_point_is_found(length, most, found):
    near = nearest_config(space(length, most), config((3, 8)))
    assert near == found


def test_knobs_that_only_one_of_the_spaces_has_keep_or_lose_what_they_say():
    near = nearest_config(space(24), ConfigEntity("one", {"tile": (3, 8), "prefetch": 64}))
    assert near == config((3, 8), unroll=1, order="ij")


def test_an_alternative_that_the_space_has_not_has_no_nearest_point():
    assert nearest_config(space(24, name="other"), config((3, 8))) is None
