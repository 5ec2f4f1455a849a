"""Tasks by their texts, and how far what a kernel computes is from their references."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import Workload


@cache
def host() -> PluginHost:
    return PluginHost.load()


def task_of(text: str, target: str) -> Task:
    operator = text.partition("(")[0]
    workload = host().reference(operator).parse(text[len(operator) :], "")
    return Task(workload, Target.parse(target))


@cache
def expected(workload: Workload, precision: str = "float32") -> tuple[Any, Any]:
    """(inputs of no more digits than the precision, output) in logical layout."""
    reference = host().reference(workload.operator)
    inputs = reference.inputs(workload, 1, precision)
    (output,) = reference.outputs(workload, inputs)
    return inputs, output


def tolerance(task: Task) -> float:
    return host().reference(task.workload.operator).tolerance(task.workload)


def relative_error(task: Task, config: ConfigEntity, kernel: Any) -> float:
    """Largest error of the config's kernel by the largest value; the kernel is closed."""
    reference = host().reference(task.workload.operator)
    inputs, output = expected(task.workload)
    layouts = host().layouts(task, config)
    packed = [reference.pack(a, text) for a, text in zip(inputs, layouts.inputs, strict=True)]
    poison = reference.pack(output, layouts.outputs[0])
    poison = np.full_like(poison, np.nan if poison.dtype.kind == "f" else 1)
    try:
        kernel.bind([*packed, poison], {})
        kernel.launch()
        got = reference.unpack(kernel.read(len(packed)), layouts.outputs[0], output.shape)
    finally:
        kernel.close()
    got, wanted = got.astype(np.float64), output.astype(np.float64)
    error = float(np.abs(got - wanted).max()) / max(float(np.abs(wanted).max()), 1e-30)
    return error if np.isfinite(error) else float("inf")


def x86_error(task: Task, config: ConfigEntity) -> float:
    """The relative error of code for this machine."""
    backend = host().backend("x86")
    artifact = backend.build(host().lower(task, config), task.target)
    return relative_error(task, config, backend.load(artifact, backend.probe()[0]))
