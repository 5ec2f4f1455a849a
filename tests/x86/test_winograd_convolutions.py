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

WINOGRAD = "conv2d_winograd.x86"
LAYERS = [  # images, channels, height, width, filters, margins: top, left, bottom, right
    (1, 1, 1, 1, 1, (1, 1, 1, 1)),
    (3, 3, 13, 11, 17, (2, 2, 2, 2)),
    (1, 17, 7, 5, 3, (0, 0, 0, 0)),
    (2, 32, 11, 6, 48, (1, 0, 2, 1)),
]


def text_of(layer: tuple[Any, ...]) -> str:
    images, channels, height, width, filters, margins = layer
    shapes = f"{images}x{channels}x{height}x{width}, {filters}x{channels}x3x3"
    return f"conv2d({shapes}, padding={list(margins)})"


def sums(data: Any, weight: Any, margins: tuple[int, ...]) -> Any:
    """The convolution in float64, tap by tap."""
    top, left, bottom, right = margins
    image = np.pad(data.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    height, width = image.shape[2] - 2, image.shape[3] - 2
    taps = (
        np.einsum("nchw,oc->nohw", image[:, :, i : i + height, j : j + width], weight[:, :, i, j])
        for i in range(3)
        for j in range(3)
    )
    return sum(taps)


def answer(task: Task, config: ConfigEntity, inputs: list[Any], shape: tuple[int, ...]) -> Any:
    reference, backend = host().reference("conv2d"), host().backend("x86")
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
    points = host().space(task, f"{WINOGRAD}/F2").sample(random.Random(0), count)
    return points + host().space(task, f"{WINOGRAD}/F4").sample(random.Random(1), count)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("isa", [isa for isa in WIDTHS if isa != "sse4"])
@pytest.mark.parametrize("layer", LAYERS, ids=text_of)
def test_any_size_is_convolved_as_by_sums_in_float64(
    layer: tuple[Any, ...], isa: str, threads: int
) -> None:
    task = task_of(text_of(layer), f"x86:isa={isa},threads={threads}")
    rng = np.random.default_rng(7)
    inputs = [
        rng.uniform(-0.5, 0.5, spec.shape).astype(np.float32) for spec in task.workload.inputs
    ]
    wanted = sums(*inputs, layer[-1])
    for config in configs(task, 3):
        got = answer(task, config, inputs, wanted.shape)
        assert np.abs(got - wanted).max() <= 4e-6 * np.abs(wanted).max(), config.text


def test_its_error_stays_near_that_of_direct_convolutions() -> None:
    target = f"x86:isa={WIDTHS[0]},threads=1"
    task = task_of("conv2d(1x128x12x12, 32x128x3x3, padding=1)", target)
    direct = x86_error(task, host().implementation("conv2d_direct.x86").fallback(task))
    assert all(x86_error(task, config) < 5 * direct for config in configs(task, 1))


def test_strict_accuracy_keeps_it_out() -> None:
    assert not host().strategy(WINOGRAD).direct_error


@pytest.mark.parametrize(
    ("text", "variant"),
    [
        ("conv2d(1x64x56x56, 64x64x3x3, padding=1)", "F4"),
        ("conv2d(1x512x7x7, 512x512x3x3, padding=1)", "F2"),
        ("conv2d(1x64x4x4, 64x64x3x3, padding=1)", None),
        ("conv2d(1x3x224x224, 64x3x3x3, padding=1)", None),
    ],
)
def test_it_advises_itself_only_where_it_pays(text: str, variant: str | None) -> None:
    task = task_of(text, "x86:isa=avx512,threads=1")
    advised = host().implementation(WINOGRAD).fallback(task)
    assert (advised and advised.strategy) == (variant and f"{WINOGRAD}/{variant}")
    chosen = host().fallback_config(task, host().space(task)).strategy
    assert chosen == (advised.strategy if advised else "conv2d_direct.x86")


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_have_blocks_or_parts_of_the_filters_to_share(threads: int) -> None:
    task = task_of("conv2d(1x256x14x14, 192x256x3x3, padding=1)", f"x86:threads={threads}")
    advised = host().implementation(WINOGRAD).fallback(task)
    assert advised["tile_p"][0] * advised["tile_oc"][0] % threads == 0


@pytest.mark.parametrize("channels", [512, 4096])
def test_the_scratch_of_a_thread_fits_its_stack(channels: int) -> None:
    text = f"conv2d(1x{channels}x31x29, 64x{channels}x3x3, padding=1)"
    task = task_of(text, "x86:isa=avx512,threads=2")
    for config in configs(task, 6):
        host().backend("x86").build(host().lower(task, config), task.target)


@pytest.mark.parametrize(
    "changed", ["strides=2, padding=1", "dilation=2", "groups=2", "padding=1, more"]
)
def test_other_convolutions_are_left_to_others(changed: str) -> None:
    channels, changed = (32, changed) if "groups" in changed else (64, changed)
    taps = "5x5" if "more" in changed else "3x3"
    text = f"conv2d(1x64x14x14, 64x{channels}x{taps}, {changed.removesuffix(', more')})"
    names = {one.name for one in host().strategies(task_of(text, "x86:isa=avx512,threads=1"))}
    assert WINOGRAD not in names
