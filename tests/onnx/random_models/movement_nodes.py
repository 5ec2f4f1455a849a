"""Rules for what moves elements and computes nothing."""

from __future__ import annotations

import numpy as np
from drawing import Drawn, axes_of, axis_of, has_rank, is_float, is_number, rule, with_axes


@rule(3)
def transpose(model):
    data = model.pick(has_rank(2, 3, 4, 5))
    if data is None:
        return None
    order = model.random.sample(range(len(data.shape)), len(data.shape))
    return Drawn("Transpose", (data,), {"perm": order}, exact=True)


@rule(3)
def reshape(model):
    data = model.pick()
    rest, shape = data.value.size, []
    while rest > 1 and len(shape) < 4:
        divisors = [n for n in range(2, rest + 1) if rest % n == 0]
        shape.append(model.random.choice(divisors))
        rest //= shape[-1]
    shape.append(rest)
    model.random.shuffle(shape)
    if model.random.random() < 0.4:
        shape[model.random.randrange(len(shape))] = -1
    return Drawn("Reshape", (data, model.constant(np.array(shape, np.int64))), exact=True)


@rule(1)
def flatten(model):
    data = model.pick()
    axis = model.random.randint(-len(data.shape), len(data.shape))
    return Drawn("Flatten", (data,), {"axis": axis}, exact=True)


@rule(1)
def squeeze(model):
    data = model.pick(lambda t: 1 in t.shape)
    if data is None:
        return None
    return with_axes(model, "Squeeze", data, [a for a, n in enumerate(data.shape) if n == 1])


@rule(2)
def unsqueeze(model):
    data = model.pick(has_rank(0, 1, 2, 3))
    if data is None:
        return None
    rank = len(data.shape) + model.random.randint(1, 2)
    axes = sorted(model.random.sample(range(rank), rank - len(data.shape)))
    if model.random.random() < 0.3:
        axes[-1] -= rank
    return with_axes(model, "Unsqueeze", data, axes)


@rule(4)
def cut(model):
    data = model.pick(has_rank(1, 2, 3, 4, 5))
    if data is None:
        return None
    axes = axes_of(model, data)
    starts, ends, steps = [], [], []
    for axis in axes:
        extent = data.shape[axis]
        step = model.random.choice([1, 1, 2, 3, -1, -2])
        ends_of_range = sorted(model.random.sample(range(extent + 1), 2))
        first, last = ends_of_range if step > 0 else (ends_of_range[1], ends_of_range[0] - 1)
        if step < 0 and last < 0:
            last = -extent - 1
        starts.append(
            first - extent if 0 < first < extent and model.random.random() < 0.2 else first
        )
        ends.append(2**31 - 1 if step > 0 and model.random.random() < 0.2 else last)
        steps.append(step)
    operands = [model.constant(np.array(v, np.int64)) for v in (starts, ends, axes, steps)]
    return Drawn("Slice", (data, *operands), exact=True)


@rule(4)
def concat(model):
    data = model.pick(has_rank(1, 2, 3, 4))
    if data is None:
        return None
    axis = axis_of(model, data)

    def fits(other):
        return (
            other.dtype == data.dtype
            and len(other.shape) == len(data.shape)
            and all(
                n == m or place == axis % len(data.shape)
                for place, (n, m) in enumerate(zip(data.shape, other.shape, strict=True))
            )
        )

    others = [model.pick(fits) for _ in range(model.random.randint(0, 3))]
    if model.random.random() < 0.3:
        others.append(model.constant(model.values(data.shape, data.dtype)))
    return Drawn("Concat", (data, *others), {"axis": axis}, exact=True)


@rule(2)
def split(model):
    data = model.pick(lambda t: any(n > 1 for n in t.shape))
    if data is None:
        return None
    axis = model.random.choice([a for a, n in enumerate(data.shape) if n > 1])
    first = model.random.randint(1, data.shape[axis] - 1)
    sizes = [first, data.shape[axis] - first]
    if model.opset < 13:
        return Drawn("Split", (data,), {"axis": axis, "split": sizes}, exact=True, outputs=2)
    operands = (data, model.constant(np.array(sizes, np.int64)))
    return Drawn("Split", operands, {"axis": axis}, exact=True, outputs=2)


@rule(3)
def gather(model):
    data = model.pick(has_rank(1, 2, 3, 4))
    if data is None:
        return None
    axis = axis_of(model, data)
    extent = data.shape[axis]
    shape = [model.random.randint(1, 4) for _ in range(model.random.randint(0, 2))]
    places = np.random.default_rng(model.random.getrandbits(32)).integers(-extent, extent, shape)
    return Drawn("Gather", (data, model.constant(places)), {"axis": axis}, exact=True)


@rule(1)
def gather_at_computed_places(model):
    places = model.pick(lambda t: t.dtype in ("int32", "int64") and t.exact)
    data = model.pick(is_float, has_rank(1, 2, 3))
    if places is None or data is None:
        return None
    axis = axis_of(model, data)
    if places.value.min() < 0 or places.value.max() >= data.shape[axis]:
        return None
    return Drawn("Gather", (data, places), {"axis": axis}, exact=True)


@rule(3)
def pad(model):
    data = model.pick(has_rank(1, 2, 3, 4), lambda t: t.dtype != "bool")
    if data is None:
        return None
    mode = model.random.choice(["constant", "constant", "edge", "reflect"])
    most = [min(3, n - 1) if mode == "reflect" else 3 for n in data.shape]
    least = -1 if mode == "constant" and min(data.shape) > 2 else 0
    before, after = ([model.random.randint(least, m) for m in most] for _ in range(2))
    operands = [data, model.constant(np.array([*before, *after], np.int64))]
    if mode == "constant" and model.random.random() < 0.5:
        operands.append(model.constant(np.array(3, data.dtype)))
    return Drawn("Pad", tuple(operands), {"mode": mode}, exact=True)


@rule(1)
def expand(model):
    data = model.pick(has_rank(1, 2, 3))
    if data is None:
        return None
    shape = [n if n > 1 else model.random.choice([1, 3]) for n in data.shape]
    shape = [2] * model.random.randint(0, 1) + shape
    return Drawn("Expand", (data, model.constant(np.array(shape, np.int64))), exact=True)


@rule(1)
def tile(model):
    data = model.pick(has_rank(1, 2, 3))
    if data is None:
        return None
    repeats = [model.random.choice([1, 1, 2, 3]) for _ in data.shape]
    return Drawn("Tile", (data, model.constant(np.array(repeats, np.int64))), exact=True)


@rule(1)
def space(model):
    kind = model.random.choice(["DepthToSpace", "SpaceToDepth"])
    data = model.pick(
        has_rank(4),
        lambda t: (
            t.shape[1] % 4 == 0 if kind == "DepthToSpace" else t.shape[2] % 2 == t.shape[3] % 2 == 0
        ),
    )
    attributes = {"blocksize": 2}
    if kind == "DepthToSpace":
        attributes["mode"] = model.random.choice(["DCR", "CRD"])
    return data and Drawn(kind, (data,), attributes, exact=True)


@rule(1)
def triangle(model):
    data = model.pick(is_number, has_rank(2, 3, 4))
    return data and Drawn("Trilu", (data,), {"upper": model.random.randint(0, 1)}, exact=True)


@rule(1)
def cumulative(model):
    data = model.pick(is_float, has_rank(1, 2, 3))
    if data is None:
        return None
    axis = model.constant(np.array(axis_of(model, data), np.int64))
    flags = {name: model.random.randint(0, 1) for name in ("exclusive", "reverse")}
    return Drawn("CumSum", (data, axis), flags, exact=True)


@rule(1)
def size_of(model):
    return Drawn("Shape", (model.pick(),), exact=True)
