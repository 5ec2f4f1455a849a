"""Winograd's convolutions against sums in float64, what they advise, and what they leave out."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from answers import host, task_of, x86_error
from isa_levels import WIDTHS

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task

LAYERS = """
conv2d(1x1x1x1, 1x1x3x3, padding=1)
conv2d(3x3x13x11, 17x3x3x3, padding=2)
conv2d(1x17x7x5, 3x17x3x3)
conv2d(2x32x11x6, 48x32x3x3, padding=[1,0,2,1])
conv2d(2x16x13x11, 24x16x3x3, padding=[2,1,2,3], dilation=2)
conv2d(1x9x17x16, 8x9x3x3, padding=3, dilation=[3,1])
conv2d(1x16x13x12, 8x16x3x3, dilation=3)
conv3d(2x16x5x9x7, 17x16x3x3x3, padding=[1,1,0,1,2,1])
conv3d(1x32x3x7x6, 8x32x2x3x3, padding=[1,2,1,0,2,1], dilation=[1,2,1])
""".strip().splitlines()


def winograd(task: Task) -> str:
    return f"{task.workload.operator}_winograd.x86"


def sums(task: Task, data: Any, weight: Any) -> Any:
    """The convolution in float64, tap by tap."""
    steps, taps = task.workload.attributes["dilation"], weight.shape[2:]
    margins = np.reshape(task.workload.attributes["padding"], (2, -1)).T
    image = np.pad(data.astype(np.float64), ((0, 0), (0, 0), *margins))
    spans = [(count - 1) * step for count, step in zip(taps, steps, strict=True)]
    extents = [n - span for n, span in zip(image.shape[2:], spans, strict=True)]

    def moved(tap: tuple[int, ...]) -> Any:
        first = [number * step for number, step in zip(tap, steps, strict=True)]
        return image[:, :, *(slice(at, at + n) for at, n in zip(first, extents, strict=True))]

    return sum(
        np.einsum("nc...,oc->no...", moved(tap), weight[:, :, *tap]) for tap in np.ndindex(*taps)
    )


def answer(task: Task, config: ConfigEntity, inputs: list[Any], shape: tuple[int, ...]) -> Any:
    reference, backend = host().reference(task.workload.operator), host().backend("x86")
    layouts = host().layouts(task, config)
    packed = [reference.pack(a, text) for a, text in zip(inputs, layouts.inputs, strict=True)]
    poison = reference.pack(np.full(shape, np.nan, np.float32), layouts.outputs[0])
    artifact = backend.build(host().lower(task, config), task.target)
    kernel = backend.load(artifact, backend.probe()[0])
    kernel.bind([*packed, poison], {})
    kernel.launch()
    assert not kernel.find_overrun()
    got = reference.unpack(kernel.read(len(packed)), layouts.outputs[0], shape)
    kernel.close()
    return got


def configs(task: Task, count: int) -> list[ConfigEntity]:
    """So many of F(2x2, 3x3) and of F(4x4, 3x3)."""
    name = winograd(task)
    points = host().space(task, f"{name}/F2").sample(random.Random(0), count)
    return points + host().space(task, f"{name}/F4").sample(random.Random(1), count)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("isa", [isa for isa in WIDTHS if isa != "sse4"])
@pytest.mark.parametrize("layer", LAYERS)
def test_any_size_is_convolved_as_by_sums_in_float64(layer: str, isa: str, threads: int) -> None:
    task = task_of(layer, f"x86:isa={isa},threads={threads}")
    rng = np.random.default_rng(7)
    inputs = [
        rng.uniform(-0.5, 0.5, spec.shape).astype(np.float32) for spec in task.workload.inputs
    ]
    wanted = sums(task, *inputs)
    for config in configs(task, 3):
        got = answer(task, config, inputs, wanted.shape)
        assert np.abs(got - wanted).max() <= 4e-6 * np.abs(wanted).max(), config.text


def test_its_error_stays_near_that_of_direct_convolutions() -> None:
    target = f"x86:isa={WIDTHS[0]},threads=1"
    task = task_of("conv2d(1x128x12x12, 32x128x3x3, padding=1)", target)
    direct = x86_error(task, host().implementation("conv2d_direct.x86").fallback(task))
    assert all(x86_error(task, config) < 5 * direct for config in configs(task, 1))


@pytest.mark.parametrize("name", ["conv2d_winograd.x86", "conv3d_winograd.x86"])
def test_strict_accuracy_keeps_it_out(name: str) -> None:
    assert not host().strategy(name).direct_error


@pytest.mark.parametrize(
    ("text", "variant"),
    [
        ("conv2d(1x64x56x56, 64x64x3x3, padding=1)", "F4"),
        ("conv2d(1x512x7x7, 512x512x3x3, padding=1)", "F2"),
        ("conv2d(1x64x4x4, 64x64x3x3, padding=1)", None),
        ("conv2d(1x3x224x224, 64x3x3x3, padding=1)", None),
        ("conv2d(1x512x28x28, 512x512x3x3, padding=2, dilation=2)", "F4"),
        ("conv3d(1x64x16x56x56, 64x64x3x3x3, padding=1)", "F4"),
    ],
)
def test_it_advises_itself_only_where_it_pays(text: str, variant: str | None) -> None:
    task = task_of(text, "x86:isa=avx512,threads=1")
    advised = host().implementation(winograd(task)).fallback(task)
    assert (advised and advised.strategy) == (variant and f"{winograd(task)}/{variant}")
    chosen = host().fallback_config(task, host().space(task)).strategy
    assert chosen == (advised.strategy if advised else "conv2d_direct.x86")


@pytest.mark.parametrize(
    ("text", "isa", "variant", "unroll_ic"),
    [
        ("conv2d(1x256x14x14, 256x256x3x3, padding=1)", "avx2", "F4", 4),
        ("conv2d(1x256x14x14, 256x256x3x3, padding=1)", "avx512", "F4", 1),
        ("conv2d(1x128x14x14, 128x128x3x3, padding=1)", "avx2", "F4", 4),
        ("conv2d(1x128x14x14, 128x128x3x3, padding=1)", "avx512", "F2", 1),
        ("conv2d(1x512x7x7, 512x512x3x3, padding=1)", "avx2", "F2", 4),
        ("conv2d(1x16x55x55, 64x16x3x3, padding=1)", "avx2", "F4", 4),
        ("conv2d(1x16x55x55, 64x16x3x3, padding=1)", "avx512", None, None),
    ],
)
def test_without_avx512_fewer_operations_are_worth_more_filters(
    text: str, isa: str, variant: str | None, unroll_ic: int | None
) -> None:
    task = task_of(text, f"x86:isa={isa},threads=1")
    advised = host().implementation(winograd(task)).fallback(task)
    assert (advised and advised.strategy) == (variant and f"{winograd(task)}/{variant}")
    assert (advised and advised["unroll_ic"]) == unroll_ic


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_have_blocks_or_parts_of_the_filters_to_share(threads: int) -> None:
    task = task_of("conv2d(1x256x14x14, 192x256x3x3, padding=1)", f"x86:threads={threads}")
    advised = host().implementation(winograd(task)).fallback(task)
    assert advised["tile_p"][0] * advised["tile_oc"][0] % threads == 0


def test_threads_share_tiles_where_filters_cannot_be_halved() -> None:
    task = task_of("conv2d(1x224x7x7, 224x224x3x3, padding=1)", "x86:isa=avx512,threads=2")
    advised = host().implementation(winograd(task)).fallback(task)
    assert advised["tile_p"][0] == 2, "seven panels, so that one thread would do it all"


@pytest.mark.parametrize("channels", [512, 4096])
def test_the_scratch_of_a_thread_fits_its_stack(channels: int) -> None:
    text = f"conv2d(1x{channels}x31x29, 64x{channels}x3x3, padding=1)"
    task = task_of(text, "x86:isa=avx512,threads=2")
    for config in configs(task, 6):
        host().backend("x86").build(host().lower(task, config), task.target)


@pytest.mark.parametrize(
    "text",
    [
        "conv2d(1x64x14x14, 64x64x3x3, strides=2, padding=1)",
        "conv2d(1x64x14x14, 64x32x3x3, groups=2)",
        "conv2d(1x64x14x14, 64x64x5x5, padding=1)",
        "conv2d(1x64x28x28, 64x64x3x3, padding=12, dilation=12)",
        "conv2d(1x64x28x28, 64x64x3x3, padding=24, dilation=24)",
        "conv2d(1x64x28x28, 64x64x3x3, padding=36, dilation=36)",
        "conv3d(1x64x4x14x14, 64x64x3x3x3, strides=[2,1,1], padding=1)",
        "conv3d(1x64x6x14x14, 64x64x3x3x3, padding=1, dilation=[2,1,1])",
        "conv3d(1x12x4x14x14, 64x12x3x3x3, padding=1)",
    ],
)
def test_other_convolutions_are_left_to_others(text: str) -> None:
    task = task_of(text, "x86:isa=avx512,threads=1")
    assert winograd(task) not in {one.name for one in host().strategies(task)}
