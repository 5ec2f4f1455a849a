"""A dimension as a manifest holds it: what somebody may have written by hand is checked."""

from __future__ import annotations

import pytest

from tilewright_graph.ranges.dimension import Dimension
from tilewright_graph.ranges.stage_rows import Rows

TOLD = {"name": "batch", "sizes": "1..4", "rows": {"x": [[0, 1]]}, "independent": True}


def test_it_comes_back_as_it_was_written():
    read = Dimension.from_json(TOLD)
    assert read.rows == {"x": (Rows(0),)}
    assert read.to_json() == TOLD
    several = {**TOLD, "rows": {"x": [[0, 1], [2, 3]]}, "independent": False, "masked": True}
    assert Dimension.from_json(several).to_json() == several


@pytest.mark.parametrize("lie", [[], [[0, 1], [1, 1]], [[-1, 1]], [[0, 0]]])
def test_rows_of_an_independent_dimension_lie_in_one_axis(lie):
    with pytest.raises(ValueError, match="rows"):
        Dimension.from_json({**TOLD, "rows": {"x": lie}})
