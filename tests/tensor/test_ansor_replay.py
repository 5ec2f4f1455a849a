"""The steps of Ansor's records, as schedules of ours: what they compute is what the operator means."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tilewright.json_object import UnknownLineError
from tilewright_tensor.evaluation.evaluate import evaluate
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.logs.ansor_replay import replayed
from tilewright_tensor.logs.ansor_stages import Stages
from tilewright_tensor.logs.ansor_workloads import form_and_workload
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.schedule.schedule import Schedule

TILED = [0, 4, 1, 5, 8, 2, 6, 9, 3, 7]
CONV_TILED = [0, 4, 8, 12, 1, 5, 9, 13, 16, 18, 20, 2, 6, 10, 14, 17, 19, 21, 3, 7, 11, 15]

# As Ansor writes them, sizes apart: a dense layer whose bias is added behind it.
DENSE = [
    ["SP", 2, 0, 1, [1, 1, 1], 1], ["SP", 2, 4, 37, [5, 2, 2], 1], ["SP", 2, 8, 23, [8], 1],
    ["RE", 2, TILED], ["FSP", 4, 0, 0, 2], ["FSP", 4, 3, 1, 2], ["RE", 4, [0, 3, 1, 4, 2, 5]],
    ["CA", 2, 4, 3], ["FU", 4, [0, 1, 2, 3]], ["AN", 4, 0, 3],
    ["PR", 2, 0, "auto_unroll_max_step$64"],
]  # fmt: skip
CACHED = [
    ["CHW", 2, "local"], ["SP", 2, 0, 12, [2, 3, 1], 1], ["SP", 2, 4, 16, [1, 2, 4], 1],
    ["SP", 2, 8, 10, [5], 1], ["RE", 2, TILED], ["FSP", 3, 0, 1, 1], ["FSP", 3, 2, 2, 1],
    ["RE", 3, [0, 2, 1, 3]], ["CA", 2, 3, 1], ["FU", 3, [0, 1]], ["AN", 3, 0, 3],
    ["AN", 2, 9, 2], ["AN", 3, 2, 2], ["AN", 2, 8, 1],
]  # fmt: skip
FACTORED = [["SP", 2, 2, 40, [8], 1], ["RF", 2, 3, 2], ["AN", 2, 0, 3]]
FACTORED_OUTSIDE = [["SP", 2, 2, 40, [5], 0], ["RF", 2, 2, 0], ["FU", 2, [0, 1, 2]]]
THREADS = [
    ["CHW", 2, "local"], ["SP", 2, 0, 16, [1, 4, 2, 1], 1], ["SP", 2, 5, 16, [2, 4, 1, 1], 1],
    ["SP", 2, 10, 12, [3, 2], 1], ["RE", 2, [0, 5, 1, 6, 2, 7, 10, 11, 3, 8, 12, 4, 9]],
    ["FSP", 3, 0, 1, 3], ["FSP", 3, 4, 2, 3], ["RE", 3, [0, 4, 1, 5, 2, 6, 3, 7]],
    ["FU", 2, [0, 1]], ["FU", 3, [0, 1]], ["FU", 2, [1, 2]], ["FU", 3, [1, 2]],
    ["FU", 2, [2, 3]], ["FU", 3, [2, 3]], ["CA", 2, 3, 2], ["CHR", 1, "shared", [2]],
    ["CA", 2, 3, 3], ["FU", 2, [0, 1]], ["FFSP", 2, 0, [1, 2], 1, 1], ["AN", 2, 1, 6],
    ["CHR", 0, "shared", [3]], ["CA", 1, 4, 3], ["FU", 1, [0, 1]], ["FFSP", 1, 0, [1, 2], 1, 1],
    ["AN", 1, 1, 6], ["AN", 5, 0, 5], ["AN", 5, 1, 4], ["AN", 5, 2, 6],
]  # fmt: skip


def _convolution(order: str, **extents: int) -> list[Any]:
    """Tiles of a convolution with its epilogue, the padding at a loop of it."""
    tiles = {"n": [1, 1, 1], "o": [1, 2, 2], "h": [1, 1, 1], "w": [1, 5, 1]}
    splits: list[Any] = []
    for axis in order[:4]:
        splits.append(["SP", 3, 4 * len(splits), extents[axis], tiles[axis], 1])
    for place, axis in enumerate(order[4:]):
        splits.append(["SP", 3, 16 + 2 * place, extents[axis], [min(3, extents[axis])], 1])
    follow = [["FSP", 6, 3 * place, 1 + place, 2] for place in range(4)]
    return [
        ["CI", 5], *splits, ["RE", 3, CONV_TILED], *follow,
        ["RE", 6, [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]], ["CA", 3, 6, 7], ["CA", 1, 6, 5],
        ["FU", 6, [0, 1, 2, 3, 4, 5]], ["AN", 6, 0, 3], ["AN", 1, 3, 2], ["AN", 3, 21, 2],
        ["AN", 6, 6, 2],
    ]  # fmt: skip


NCHW = _convolution("nohwikj", n=1, o=8, h=5, w=5, i=6, k=3, j=3)
NHWC = _convolution("nhwokji", n=1, o=8, h=5, w=5, i=6, k=3, j=3)
DEPTHWISE = [
    ["CI", 1], ["SP", 3, 0, 1, [1, 1], 1], ["SP", 3, 3, 5, [1, 5], 1], ["SP", 3, 6, 5, [5, 1], 1],
    ["SP", 3, 9, 8, [2, 4], 1], ["RE", 3, [0, 3, 6, 9, 1, 4, 7, 10, 12, 13, 2, 5, 8, 11]],
    ["FU", 3, [0, 1, 2, 3]], ["AN", 3, 0, 3], ["AN", 3, 10, 2],
]  # fmt: skip

RECORDS: dict[str, tuple[list[Any], list[Any]]] = {
    "dense": (["0abeaf8a7df88ad015de76910b5779a1"], DENSE),
    "cached": (["matmul_add", 12, 10, 16, "float32"], CACHED),
    "factored": (["f", [3, 40], [40, 5], [3, 5]], FACTORED),
    "factored outside": (["f", [3, 40], [40, 5], [3, 5]], FACTORED_OUTSIDE),
    "threads": (["f", [16, 12], [12, 16], [16, 16]], THREADS),
    "tutorial": (["conv2d_layer", 1, 5, 5, 8, 6, 3, 3, [1, 1], [1, 1]], NCHW),
    "nhwc": (["f", [1, 9, 9, 6], [3, 3, 6, 8], [1, 1, 1, 8], [1, 5, 5, 8]], NHWC),
    "unpadded": (["f", [1, 6, 7, 7], [8, 6, 3, 3], [1, 8, 1, 1], [1, 8, 5, 5]], NCHW),
    "depthwise": (["f", [1, 10, 10, 8], [3, 3, 8, 1], [1, 5, 5, 8]], DEPTHWISE),
}


def schedule_of(key: list[Any], steps: list[Any], operators: Operators) -> Schedule:
    form, anchor = form_and_workload(json.dumps(key), Stages.of(steps), operators)
    return replayed(form, anchor, steps, operators)


@pytest.mark.parametrize("name", RECORDS)
def test_a_replayed_schedule_computes_what_the_operator_means(
    name: str, operators: Operators
) -> None:
    schedule = schedule_of(*RECORDS[name], operators)
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(one.shape).astype("f4") for one in schedule.dag.inputs]
    expected = evaluate(schedule.dag, arrays)
    got = interpret(lower(schedule, "replayed"), arrays)
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-4, atol=1e-4)


def test_loops_have_the_order_and_kinds_of_the_record(operators: Operators) -> None:
    text = str(schedule_of(*RECORDS["dense"], operators))
    assert "stage dense inside add at n.0@c.0@n.1@c.1, local" in text
    assert "parallel n.0@c.0@n.1@c.1" in text
    loops = schedule_of(*RECORDS["dense"], operators).loops("dense")
    assert loops == ("n.0", "o.0", "n.1", "o.1", "k.0", "n.2", "o.2", "k.1", "n.3", "o.3")


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([*DENSE, ["TS", 2, 0]], "step 11, TS: there is no such step"),
        ([*DENSE, ["AN", 2, 30, 1]], "dense has 10 loops, none is number 30"),
        ([*DENSE[:4], ["FSP", 4, 0, 3, 2]], "step 3 is no split"),
        ([*DENSE, ["CHW", 2, "moon"]], "there is no memory 'moon'"),
        ([["CI", 1]], "no step splits a loop"),
    ],
)
def test_a_step_without_counterpart_is_named(
    steps: list[Any], why: str, operators: Operators
) -> None:
    with pytest.raises(UnknownLineError, match=why):
        schedule_of(RECORDS["dense"][0], steps, operators)
