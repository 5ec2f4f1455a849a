"""Every derived sketch computes what numpy computes, at sampled points, where tiles do not divide too."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest

from tilewright.config import ConfigEntity
from tilewright.host import PluginHost
from tilewright.target import Target
from tilewright.task import Task
from tilewright_x86.isa import available

CASES = """
matmul(7x13, 13x17) + relu()
matmul(64x96, 96x80)
matmul(17x13, 13x19) + tanh() + multiply(17x19)
matmul(33x1, 1x31)
matmul(1x512, 512x1)
matmul(3x512, 512x1)
matmul(3x17x19, 3x19x23)
matmul(2x1x5x7, 3x7x18) + add(2x3x5x18)
dense(7x64, 100x64) + add(1x100:const)
dense(5x13, 17x13:activation)
dense(1x37, 10x37)
conv2d(1x17x13x13, 13x17x3x3, padding=1) + add(1x13x1x1:const) + tanh()
conv2d(1x32x7x7, 48x32x3x3, padding=1) + add(1x48x1x1:const) + add(1x48x7x7) + relu()
conv2d(1x16x5x5, 16x16x3x3, padding=1) + sigmoid() + add(1x16x1x1:const) + tanh()
conv2d(1x3x17x17, 32x3x5x5, strides=2, padding=2)
conv2d(2x16x6x6, 16x16x3x3, padding=[1,0,2,1], dilation=2)
conv2d(1x8x9x9, 12x2x3x3, padding=1, groups=4)
conv2d(1x24x7x7, 40x24x1x1, strides=2)
conv2d(1x32x9x9, 32x1x3x3, padding=1, groups=32) + add(1x32x1x1:const) + relu()
conv2d(1x5x13x13, 5x1x3x3, strides=2, padding=1, groups=5)
conv1d(1x7x17, 13x7x3, padding=1)
conv1d(2x8x40, 16x8x5, strides=2, padding=2, dilation=2) + relu()
max_pool2d(1x32x13x13, pool_size=3, strides=2, padding=1)
max_pool2d(1x5x7x7, pool_size=2, strides=2)
avg_pool2d(1x16x7x7, pool_size=3, strides=2, padding=1)
global_avg_pool2d(1x48x7x7)
softmax(7x1000)
softmax(3x5x17, axis=1)
softmax(2x1)
layer_norm(13x100, 100, 100)
layer_norm(2x7x17, 17, 17)
layer_norm(2x7x17, 7, 7, axis=1)
lrn(1x7x5x5, size=3)
reduce_sum(7x1000, axes=[1])
reduce_max(7x13x17, axes=[1])
reduce_mean(5x1000)
transpose(2x3x5x7, axes=[0,2,3,1])
concat(1x3x5x5, 1x7x5x5, axis=1)
add(1x32x7x7, 1x32x7x7) + relu()
sigmoid(1)
matmul(17x13:float64, 13x19:float64) + tanh()
conv2d(1x17x9x9:float64, 13x17x3x3:const:float64, padding=1) + add(1x13x1x1:const:float64)
softmax(3x5x17:float64, axis=1)
""".strip().splitlines()
POINTS = 2


@cache
def host() -> PluginHost:
    return PluginHost.load()


def task_of(text: str, isa: str) -> Task:
    operator = text.partition("(")[0]
    workload = host().reference(operator).parse(text[len(operator) :], "")
    return Task(workload, Target.parse(f"x86:isa={isa},threads=1"))


@pytest.mark.parametrize("text", CASES)
def test_every_sketch_agrees_with_the_reference(text: str) -> None:
    number = CASES.index(text)
    isa = available()[number % len(available())].name
    for task in {task_of(text, available()[0].name), task_of(text, isa)}:
        space = host().space(task, "derived/*")
        assert space.alternatives
        for alternative in space.alternatives:
            points = host().space(task, alternative.name).sample(random.Random(number), POINTS)
            assert points, f"{alternative.name} has no feasible point"
            for config in points:
                error, tolerance = relative_error(task, config)
                assert error <= tolerance, f"{config.text}: {error} > {tolerance}"


def test_two_threads_agree_with_the_reference() -> None:
    for text in (
        "matmul(64x96, 96x80)",
        "dense(1x64, 100x64) + add(1x100:const)",
        "dense(3x37, 1000x37) + relu()",
        "softmax(1x1000)",
        "max_pool2d(1x5x7x7, pool_size=2)",
    ):
        one = task_of(text, available()[0].name)
        task = Task(one.workload, one.target.replace(threads=2))
        for config in host().space(task, "derived/*").sample(random.Random(1), 6, balanced=True):
            error, tolerance = relative_error(task, config)
            assert error <= tolerance, config.text


def relative_error(task: Task, config: ConfigEntity) -> tuple[float, float]:
    backend, reference = host().backend("x86"), host().reference(task.workload.operator)
    inputs, expected = data(task.workload)
    layouts = host().layouts(task, config)
    packed = [reference.pack(a, text) for a, text in zip(inputs, layouts.inputs, strict=True)]
    poison = np.full_like(reference.pack(expected, layouts.outputs[0]), np.nan)
    artifact = backend.build(host().lower(task, config), task.target)
    kernel = backend.load(artifact, backend.probe()[0])
    try:
        kernel.bind([*packed, poison], {})
        kernel.launch()
        got = reference.unpack(kernel.read(len(packed)), layouts.outputs[0], expected.shape)
    finally:
        kernel.close()
    scale = max(float(np.abs(expected).max()), 1e-30)
    error = float(np.abs(got - expected).max()) / scale
    return (error if np.isfinite(error) else float("inf")), reference.tolerance(task.workload)


@cache
def data(workload):
    reference = host().reference(workload.operator)
    inputs = reference.inputs(workload, seed=1)
    return inputs, reference.outputs(workload, inputs)[0]
