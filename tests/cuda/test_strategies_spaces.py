"""Spaces of the strategies: some thousand points that the architecture can run, never without one."""

from __future__ import annotations

import random

import pytest
from answers import host, task_of

from tilewright.vocabulary.task import Task
from tilewright_cuda.program.arch import ARCHS, arch_of
from tilewright_cuda.text.generate import generate

LAYERS = (
    "conv2d(1x3x224x224, 64x3x7x7, strides=2, padding=3)",
    "conv2d(1x64x56x56, 64x64x3x3, padding=1)",
    "conv2d(1x256x14x14, 512x256x1x1, strides=2)",
    "conv2d(1x512x7x7, 512x512x3x3, padding=1)",
)
TRANSPOSED = "conv2d_transpose(1x512x18x8, 256x512x3x3, strides=2, padding=1, output_padding=1)"


def task(text: str, arch: str = "sm_90") -> Task:
    return task_of(text, f"cuda:arch={arch}")


@pytest.mark.parametrize("text", LAYERS)
def test_a_layer_has_some_thousand_points_a_layout(text: str) -> None:
    for alternative in host().space(task(text), "conv2d_igemm.cuda*").alternatives:
        feasible = sum(1 for _ in alternative.indexes())
        assert 300 <= feasible <= 12_000, (alternative.name, feasible)


@pytest.mark.parametrize("arch", [arch.name for arch in ARCHS])
@pytest.mark.parametrize("text", ["dense(1024x1024, 1024x1024)", LAYERS[1], TRANSPOSED])
def test_every_point_can_be_launched(text: str, arch: str) -> None:
    asked = task(text, arch)
    names = {strategy.name for strategy in host().strategies(asked)}
    for name in names - {"derived.cuda"}:
        for config in host().space(asked, f"{name}*").sample(random.Random(0), 8):
            assert generate(host().lower(asked, config), arch_of(asked.target)).program.launches


@pytest.mark.parametrize(
    "text",
    [
        "dense(60x72, 100x72)",
        "conv2d(1x24x14x14, 40x24x3x3, padding=1)",
        "conv2d_transpose(1x20x7x7, 40x20x3x3, strides=2)",
    ],
)
def test_what_configs_share_is_only_what_is_equal(text: str) -> None:
    asked = task(text)
    for name in {strategy.name for strategy in host().strategies(asked)} - {"derived.cuda"}:
        for config in host().space(asked, f"{name}*").sample(random.Random(0), 4):
            alone = host().strategy(name).load(host())
            assert str(host().lower(asked, config)) == str(alone.lower(asked, config)), config


@pytest.mark.parametrize("filters", [1, 5, 16, 67])
@pytest.mark.parametrize("size", [(1, 1), (1, 17), (7, 7), (13, 31)])
def test_convolutions_of_any_size_have_a_fallback(size: tuple[int, int], filters: int) -> None:
    height, width = size
    asked = task(f"conv2d(1x7x{height}x{width}, {filters}x7x3x3, padding=1)")
    for strategy in host().strategies(asked):
        config = host().implementation(strategy.name).fallback(asked)
        assert config is None or host().space(asked, f"{strategy.name}*").is_valid(config)
        assert config is not None or strategy.name == "derived.cuda"


@pytest.mark.parametrize("name", ["reduction.cuda", "derived.cuda"])
def test_many_threads_reduce_to_a_scalar(name: str) -> None:
    asked = task("reduce_sum(64x64, keepdims=False) + relu()")
    config = host().implementation(name).fallback(asked)
    first, *_ = generate(host().lower(asked, config), arch_of(asked.target)).program.launches
    assert first.block[0] >= 256


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("matmul(70000x8x8, 70000x8x8)", False),
        ("dense(20x8, 9000000x8)", False),
        ("dense(20x8, 3000000x8)", True),
        ("layout_transform(70000x4x8x8, src=NCHW, dst=NHWC)", False),
        ("layout_transform(1x4x1500x1500, src=NHWC, dst=NCHW)", False),
        ("layout_transform(1x4x1500x1500, src=NCHW, dst=NHWC)", True),
    ],
)
def test_a_strategy_takes_what_a_grid_holds(text: str, taken: bool) -> None:
    asked = task(text)
    names = {strategy.name for strategy in host().strategies(asked)} - {"derived.cuda"}
    assert bool(names - {"default.cuda"}) == taken
    for name in names:
        points = host().space(asked, f"{name}*").sample(random.Random(0), 8)
        for config in (host().implementation(name).fallback(asked), *points):
            assert generate(host().lower(asked, config), arch_of(asked.target)).program.launches


def test_what_kernels_have_no_values_of_no_strategy_takes() -> None:
    assert not host().strategies(task("add(8x8:float16, 8x8:float16)"))


def test_depth_is_split_only_where_multiprocessors_would_be_idle() -> None:
    configs = (
        host().space(task("dense(4096x4096, 4096x4096)"), "gemm.cuda").sample(random.Random(0), 64)
    )
    assert {config["split_k"] for config in configs} == {1}
    few = host().implementation("gemm.cuda").fallback(task("dense(64x4096, 64x4096)"))
    assert few["split_k"] > 1
