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


def view_layout(base: TensorSpec, made: str, view: TensorSpec, groups: int = 1) -> str | None:
    """The layout of a view of a tensor that is made in a layout, of whatever dtype it is stored as.

    Of more than one of `groups` the view is a channel shuffle: `NCHW` is `N4cCHW` then, and the
    other way round, `N17cCHW` for groups of 17 channels is `NCHW`. None where the tensor is made in
    another order: then it is brought into the logical one first.
    """
    layout = Layout.parse(canonical_layout(base, made))
    plain = layout.stored_as("").text
    if plain == logical_layout(base):
        found = _in_turn(view, groups)
    elif groups > 1 and plain == _in_turn(base, base.shape[1] // groups):
        found = logical_layout(view)
    else:
        return None
    return Layout.parse(found).stored_as(layout.dtype).text


def _in_turn(spec: TensorSpec, groups: int) -> str:
    """Logical order but for the second axis: one element of every group after the other."""
    logical = logical_layout(spec)
    return logical if groups == 1 else f"{logical[0]}{groups}{logical[1].lower()}{logical[1:]}"


def same_bytes(spec: TensorSpec, first: str, second: str) -> bool:
    """Whether a tensor is the same memory in both layouts, so that no transform is needed."""
    return first == second or Layout.parse(first).is_identity_to(Layout.parse(second), spec.shape)


@lru_cache(maxsize=65536)
def canonical_layout(spec: TensorSpec, text: str) -> str:
    """One name for all layouts in which a tensor is the same memory, the logical one's if it is.

    What only permutes axes is named without blocks: 16 channels in `NCHW16c` are `NHWC`.
    """
    layout = Layout.parse(text)
    merged = [axis for axis, _, _ in layout.runs(spec.shape)]
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
