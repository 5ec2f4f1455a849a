"""ONNX operators that move or select elements, as ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

from tilewright_onnx.node_site import NodeSite


def _to_shape(shape: Callable[[NodeSite], Sequence[int]], site: NodeSite) -> None:
    site.finish("reshape", site.tensor(0), shape=[int(n) for n in shape(site)])


def _reshape_target(site: NodeSite) -> Sequence[int]:
    shape = site.spec(0).shape
    wanted = [int(n) for n in site.value(1)]
    if not site.attribute("allowzero", 0):
        wanted = [shape[d] if n == 0 else n for d, n in enumerate(wanted)]
    if -1 in wanted:
        wanted[wanted.index(-1)] = prod(shape) // -prod(wanted)
    return wanted


def _flatten_target(site: NodeSite) -> Sequence[int]:
    shape = site.spec(0).shape
    axis = site.attribute("axis", 1)
    axis += len(shape) if axis < 0 else 0
    return prod(shape[:axis]), prod(shape[axis:])


def _squeeze_target(site: NodeSite) -> Sequence[int]:
    shape = site.spec(0).shape
    axes = _axes(site, len(shape))
    dropped = axes if axes is not None else {d for d, n in enumerate(shape) if n == 1}
    return [n for d, n in enumerate(shape) if d not in dropped]


def _unsqueeze_target(site: NodeSite) -> Sequence[int]:
    shape = list(site.spec(0).shape)
    count = len(site.value(1)) if site.has(1) else len(site.attribute("axes"))
    axes = _axes(site, len(shape) + count) or set()
    return [1 if d in axes else shape.pop(0) for d in range(len(shape) + count)]


def _axes(site: NodeSite, rank: int) -> set[int] | None:
    """Attribute up to opset 12, operand 1 since."""
    axes = site.value(1) if site.has(1) else site.attribute("axes")
    return None if axes is None else {int(axis) % rank for axis in axes}


def _transpose(site: NodeSite) -> None:
    rank = len(site.spec(0).shape)
    site.finish("transpose", site.tensor(0), axes=site.attribute("perm", list(range(rank))[::-1]))


def _concat(site: NodeSite) -> None:
    axis = site.attribute("axis", 1)
    site.finish("concat", *(site.tensor(i) for i in range(len(site.inputs))), axis=axis)


def _pad(site: NodeSite) -> None:
    if site.attribute("mode", "constant") != "constant":
        raise site.error(f"Pad with mode {site.attribute('mode')!r}; expected 'constant'")
    pads = site.attribute("pads") if site.opset < 11 else site.value(1)
    fill = site.attribute("value", 0.0)
    if site.has(2):
        fill = site.value(2).item()
    rank = len(site.spec(0).shape)
    if site.has(3):
        pads = _pads_of_axes(pads, [int(axis) % rank for axis in site.value(3)], rank)
    site.finish("pad", site.tensor(0), padding=[int(n) for n in pads], value=fill)


def _pads_of_axes(pads: Sequence[Any], axes: Sequence[int], rank: int) -> list[int]:
    every = [0] * 2 * rank
    for place, axis in enumerate(axes):
        every[axis], every[rank + axis] = int(pads[place]), int(pads[len(axes) + place])
    return every


def _slice(site: NodeSite) -> None:
    """Attributes up to opset 9, operands since."""
    shape = site.spec(0).shape
    if site.opset < 10:
        begins, ends = site.attribute("starts"), site.attribute("ends")
        axes, steps = site.attribute("axes"), None
    else:
        begins, ends = site.value(1), site.value(2)
        axes, steps = (site.value(i) if site.has(i) else None for i in (3, 4))
    axes = range(len(begins)) if axes is None else [int(axis) % len(shape) for axis in axes]
    steps = [1] * len(begins) if steps is None else steps
    cuts = [slice(0, extent, 1) for extent in shape]
    for axis, begin, end, step in zip(axes, begins, ends, steps, strict=True):
        if step < 1:
            raise site.error(f"Slice with step {step}; expected at least 1")
        cuts[axis] = slice(*slice(int(begin), int(end), int(step)).indices(shape[axis]))
    site.finish(
        "slice",
        site.tensor(0),
        begin=[cut.start for cut in cuts],
        end=[cut.stop for cut in cuts],
        strides=[cut.step for cut in cuts],
    )


def _split(site: NodeSite) -> None:
    """Sizes are an attribute up to opset 12, operand 1 since; without them parts are equal."""
    shape = site.spec(0).shape
    axis = site.attribute("axis", 0) % len(shape)
    sizes = site.value(1) if site.has(1) else site.attribute("split")
    if sizes is None:
        sizes = [-(-shape[axis] // len(site.outputs))] * len(site.outputs)
    elif len(sizes) != len(site.outputs) or sum(sizes) != shape[axis]:
        given = f"{len(site.outputs)} outputs, sizes {[int(size) for size in sizes]}"
        raise site.error(f"Split of an axis of {shape[axis]} into {given}")
    begin, end = [0] * len(shape), list(shape)
    for output, size in zip(site.outputs, sizes, strict=True):
        end[axis] = min(begin[axis] + int(size), shape[axis])
        if output:
            site.give(output, "slice", site.tensor(0), begin=list(begin), end=list(end))
        begin[axis] = end[axis]


SHAPE_READERS: Mapping[str, Callable[[NodeSite], None]] = {
    "Concat": _concat,
    "Flatten": partial(_to_shape, _flatten_target),
    "Pad": _pad,
    "Reshape": partial(_to_shape, _reshape_target),
    "Slice": _slice,
    "Split": _split,
    "Squeeze": partial(_to_shape, _squeeze_target),
    "Transpose": _transpose,
    "Unsqueeze": partial(_to_shape, _unsqueeze_target),
}
