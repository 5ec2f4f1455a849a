"""Layout transforms: when one is needed, and the task that it is."""

from __future__ import annotations

from dataclasses import replace

from tilewright.target import Target
from tilewright.task import Task
from tilewright.workload import TensorSpec, Workload
from tilewright_tensor.layout import Layout

TRANSFORM = "layout_transform"
"""The operator; its workload is the one that names layouts."""


def logical_layout(spec: TensorSpec) -> str:
    """The layout in which a tensor enters and leaves the network, and passes through views."""
    return Layout.logical(len(spec.shape)).text


def same_bytes(spec: TensorSpec, first: str, second: str) -> bool:
    """Whether a tensor is the same memory in both layouts, so that no transform is needed."""
    return first == second or Layout.parse(first).is_identity_to(Layout.parse(second), spec.shape)


def transform_task(spec: TensorSpec, source: str, wanted: str, target: Target) -> Task:
    """The task that brings a tensor from one layout into another."""
    activation = replace(spec, role="activation")
    attributes = {"src": source, "dst": wanted}
    return Task(Workload(TRANSFORM, (activation,), attributes), target)
