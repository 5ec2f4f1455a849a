"""Tasks of the toy plugin's operator."""

from __future__ import annotations

from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.task_set import WeightedTask
from tilewright.vocabulary.workload import TensorSpec, Workload


def entry(size, weight=1.0, epilogue=(), networks=None):
    """A task on so many elements, named t and their number."""
    inputs = (TensorSpec((size,)), TensorSpec((1,), role="constant"))
    workload = Workload("toyadd", inputs, {"bias": 0}, epilogue)
    task = Task(workload, Target("toy", {"threads": "1"}))
    return WeightedTask(task, weight, f"t{size}", networks or {})
