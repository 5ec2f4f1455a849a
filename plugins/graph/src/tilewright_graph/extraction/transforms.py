"""Layout transforms: when one is needed, and the task that it is."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_tensor.layouts.layout import Layout

TRANSFORM = "layout_transform"
"""The operator; its workload is the one that names layouts."""


def logical_layout(spec: TensorSpec) -> str:
    """The layout in which a tensor enters and leaves the network."""
    return Layout.logical(len(spec.shape)).text


def view_layout(base: TensorSpec, made: str, view: TensorSpec) -> str | None:
    """The layout of a view of a tensor that is made in a layout, of whatever dtype it is stored as.

    None where the tensor is not made in logical order: then it is brought there first.
    """
    layout = Layout.parse(canonical_layout(base, made))
    if layout.stored_as("").text != logical_layout(base):
        return None
    return Layout.parse(logical_layout(view)).stored_as(layout.dtype).text


def same_bytes(spec: TensorSpec, first: str, second: str) -> bool:
    """Whether a tensor is the same memory in both layouts, so that no transform is needed."""
    return first == second or Layout.parse(first).is_identity_to(Layout.parse(second), spec.shape)


@lru_cache(maxsize=65536)
def canonical_layout(spec: TensorSpec, text: str) -> str:
    """One name for all layouts in which a tensor is the same memory, the logical one's if it is.

    What only permutes axes is named without blocks: 16 channels in `NCHW16c` are `NHWC`.
    """
    layout = Layout.parse(text)
    extents = zip(layout.dims, layout.physical_shape(spec.shape), strict=True)
    order = [dim.axis for dim, extent in extents if extent > 1]
    merged = [axis for i, axis in enumerate(order) if i == 0 or order[i - 1] != axis]
    if len(set(merged)) < len(merged) or not layout.divides(spec.shape):
        return text
    moving = iter(merged)
    axes = (next(moving) if axis in merged else axis for axis in range(layout.rank))
    name = "".join(layout.letters[axis] for axis in axes)
    return f"{name}:{layout.dtype}" if layout.dtype else name


def transform_task(spec: TensorSpec, source: str, wanted: str, target: Target) -> Task:
    """The task that brings a tensor from one layout into another.

    Layouts that are the same memory give the same task.
    """
    activation = replace(spec, role="activation")
    attributes = {
        "src": canonical_layout(spec, source),
        "dst": canonical_layout(spec, wanted),
    }
    return Task(Workload(TRANSFORM, (activation,), attributes), target)
