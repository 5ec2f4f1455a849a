"""Rules for reductions, places of extremes, sorting and softmax."""

from __future__ import annotations

import numpy as np
from drawing import (
    Drawn,
    axes_of,
    axis_of,
    has_rank,
    is_exact,
    is_float,
    is_number,
    lies_in,
    rule,
    with_axes,
)

REDUCTIONS = [
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
    "ReduceSumSquare", "ReduceLogSumExp",
]  # fmt: skip


@rule(6)
def reduction(model):
    kind = model.random.choice(REDUCTIONS)
    data = model.pick(is_number, has_rank(1, 2, 3, 4))
    if data is None or (not data.is_float and kind in ("ReduceL2", "ReduceLogSumExp")):
        return None
    since = 13 if kind == "ReduceSum" else 18
    keepdims = model.random.randint(0, 1)
    drawn = with_axes(model, kind, data, axes_of(model, data), since=since, keepdims=keepdims)
    if model.random.random() < 0.15:
        noop = {"noop_with_empty_axes": model.random.randint(0, 1)} if model.opset >= since else {}
        drawn = Drawn(kind, (data,), {"keepdims": keepdims, **noop})
    exact = kind in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceL1", "ReduceSumSquare")
    return Drawn(kind, drawn.operands, drawn.attributes, exact=exact)


@rule(2)
def place_of_extreme(model):
    data = model.pick(is_number, is_exact, has_rank(1, 2, 3, 4))
    if data is None:
        return None
    attributes = {"axis": axis_of(model, data), "keepdims": model.random.randint(0, 1)}
    if model.opset >= 12:
        attributes["select_last_index"] = model.random.randint(0, 1)
    return Drawn(model.random.choice(["ArgMax", "ArgMin"]), (data,), attributes, exact=True)


@rule(3)
def softmax(model):
    data = model.pick(is_float, has_rank(1, 2, 3, 4), lies_in(-50, 50))
    kind = model.random.choice(["Softmax", "Softmax", "LogSoftmax"])
    return data and Drawn(kind, (data,), {"axis": axis_of(model, data)})


@rule(1)
def sorted_ones(model):
    data = model.pick(is_number, has_rank(1, 2, 3))
    if data is None or len(np.unique(data.value)) < data.value.size:
        return None
    axis = axis_of(model, data)
    count = model.constant(np.array([model.random.randint(1, data.shape[axis])], np.int64))
    return Drawn("TopK", (data, count), {"axis": axis}, exact=True, outputs=2)
