"""Knobs about loops have AutoTVM's entities, in its order."""

import pytest

from tilewright.errors import UsageError
from tilewright.space.knobs import Knobs
from tilewright_tensor.schedule.loop_knobs import (
    annotate_entities,
    define_annotate,
    define_reorder,
    reorder_entities,
)


def test_reorder_policies_have_autotvms_entities():
    axes = ["a", "b", "c", "d"]
    assert reorder_entities(axes, "identity") == ((0, 1, 2, 3),)
    assert len(reorder_entities(axes, "all")) == 24
    assert reorder_entities(axes, "all")[1] == (0, 1, 3, 2)
    assert reorder_entities(axes, "interval_all", interval=(1, 3)) == ((0, 1, 2, 3), (0, 2, 1, 3))
    assert reorder_entities(axes, "candidate", candidate=["dcba"]) == ((3, 2, 1, 0),)
    with pytest.raises(UsageError, match="each axis once"):
        reorder_entities(axes, "candidate", candidate=["abc"])


def test_interleave_takes_from_the_longest_chain_and_keeps_each_chains_order():
    axes = ["y0", "y1", "x0", "x1", "k0", "k1", "k2"]
    spatial, reduce = [["y0", "y1"], ["x0", "x1"]], [["k0", "k1", "k2"]]
    (order,) = reorder_entities(axes, "interleave", spatial=spatial, reduce=reduce)
    assert [axes[i] for i in order] == ["y0", "x0", "k0", "k1", "y1", "x1", "k2"]


def test_annotations_are_words_with_vec_at_most_once():
    assert annotate_entities(["x", "y"], "unroll") == (("unroll", "unroll"),)
    both = annotate_entities(["x", "y"], "try_unroll_vec")
    assert both[0] == ("none", "none")
    assert len(both) == 9 - 1
    assert ("vec", "vec") not in both
    assert annotate_entities("abc", "locate_cache", num_anchor=2) == ((0, 1), (0, 2), (1, 2))


def test_they_are_knobs_of_an_alternative_of_their_kinds():
    knobs = Knobs("s")
    define_reorder(knobs, "order", ["x", "y"])
    define_annotate(knobs, "words", ["x"], "try_vec", filter=None)
    order, words = knobs.alternative().knobs
    assert (order.kind, order.values) == ("reorder", ((0, 1), (1, 0)))
    assert (words.kind, words.values) == ("annotate", (("none",), ("vec",)))
