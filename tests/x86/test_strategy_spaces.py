"""Spaces of the strategies: small enough to be good, and never without a point."""

from __future__ import annotations

import random
from typing import Any

import pytest
from answers import host, task_of

from tilewright.host.fallback import fallback_configs
from tilewright.vocabulary.task import Task


def task(text: str, isa: str = "avx512") -> Task:
    return task_of(text, f"x86:isa={isa},threads=1")


@pytest.mark.parametrize("isa", ["avx512", "avx2", "sse4"])
@pytest.mark.parametrize("filters", [5, 16, 48, 64])
@pytest.mark.parametrize("size", [(1, 1), (2, 2), (1, 17), (7, 7), (13, 13), (31, 61)])
def test_convolutions_of_any_size_have_a_fallback_and_feasible_points(
    size: tuple[int, int], filters: int, isa: str
) -> None:
    height, width = size
    conv = task(f"conv2d(1x32x{height}x{width}, {filters}x32x1x1)", isa)
    space = host().space(conv, "conv2d_direct.x86")
    assert space.is_valid(host().implementation("conv2d_direct.x86").fallback(conv))
    assert all(space.is_valid(config) for config in space.sample(random.Random(0), 8))


@pytest.mark.parametrize("isa", ["avx512", "avx2", "sse4"])
@pytest.mark.parametrize("channels", [3, 9, 20, 64])
@pytest.mark.parametrize("rest", ["1x1, strides=2", "1x1", "3x3, padding=1, strides=2"])
def test_the_fallback_is_feasible_for_any_number_of_channels(
    rest: str, channels: int, isa: str
) -> None:
    conv = task(f"conv2d(1x{channels}x13x17, 24x{channels}x{rest})", isa)
    config = host().implementation("conv2d_direct.x86").fallback(conv)
    assert host().space(conv, "conv2d_direct.x86").is_valid(config)


@pytest.mark.parametrize(
    ("isa", "rest", "order"),
    [
        ("avx2", "1x1", ("rows", 4, "pixels")),
        ("avx2", "1x1, strides=2", ("rows", 4, "none")),
        ("avx2", "3x3, padding=1", ("filters", 4, "filters")),
        ("avx512", "1x1", ("rows", 2, "filters")),
        ("avx512", "1x1, strides=2", ("filters", 2, "filters")),
    ],
)
def test_narrow_vectors_fetch_single_pixels_ahead(
    isa: str, rest: str, order: tuple[str, int, str]
) -> None:
    conv = task(f"conv2d(1x256x28x28, 128x256x{rest})", isa)
    config = host().implementation("conv2d_direct.x86").fallback(conv)
    assert (config["outer"], config["unroll_ic"], config["prefetch"]) == order


@pytest.mark.parametrize("width", range(1, 80))
def test_every_width_has_a_register_tile_that_hides_the_latency_of_its_sums(width: int) -> None:
    conv = task(f"conv2d(1x64x3x{width}, 64x64x3x3, padding=1)")
    config = host().implementation("conv2d_direct.x86").fallback(conv)
    pixels = config["tile_ow"][-1] * config["tile_oh"][-1]
    assert pixels * config["vectors"] >= min(14, 3 * width)
    assert config["tile_ow"][0] == -(-width // config["tile_ow"][-1])


@pytest.mark.parametrize("width", [17, 19, 23, 29, 31, 37, 53])
def test_prime_widths_have_tiles_beside_two_vectors(width: int) -> None:
    conv = task(f"conv2d(1x64x{width}x{width}, 64x64x3x3, padding=1)")
    assert any(7 <= tile[-1] <= 14 for tile in values(conv, "tile_ow"))


def values(conv: Task, name: str) -> list[Any]:
    """Values of a knob in the space of direct convolution."""
    (alternative,) = host().space(conv, "conv2d_direct.x86").alternatives
    return list(next(knob for knob in alternative.knobs if knob.name == name).values)


def test_wider_register_tiles_have_widths_of_their_own() -> None:
    conv = task("conv2d(1x64x56x56, 64x64x3x3, padding=1)")
    assert {(4, 14), (10, 6)} <= set(values(conv, "tile_ow"))
    assert {2, 4} <= set(values(conv, "vectors"))


def test_a_row_may_end_with_a_tile_that_hides_the_latency_of_its_sums() -> None:
    conv = task("conv2d(1x512x7x7, 2048x512x1x1)")
    assert {(9, 6), (10, 5)} <= set(values(conv, "tile_ow")), "49 pixels: 8 * 6 + 1 and 9 * 5 + 4"
    short = task("conv2d(1x64x7x7, 64x64x3x3, padding=1)")
    assert max(tile[-1] for tile in values(short, "tile_ow")) == 7


def test_rows_are_joined_until_their_last_tile_is_not_narrow_and_no_thread_is_idle() -> None:
    text = "conv2d(1x64x14x14, 256x64x1x1)"
    assert (33, 6) in values(task(text), "tile_ow"), "196 pixels: 32 * 6 + 4"
    threads = task_of(text, "x86:isa=avx512,threads=8")
    assert (17, 6) in values(threads, "tile_ow"), "98 pixels: 16 * 6 + 2, but eight parts"
    assert (19, 6) in values(task("conv2d(1x64x28x28, 256x64x1x1)"), "tile_ow"), "112: 18 * 6 + 4"


@pytest.mark.parametrize(
    ("filters", "expected"), [(64, [2, 4]), (40, [1, 5]), (8, [1]), (1000, [2, 3, 4])]
)
def test_without_broadcasts_in_multiply_adds_no_tile_has_one_vector(
    filters: int, expected: list[int]
) -> None:
    text = f"conv2d(1x64x56x56, {filters}x64x3x3, padding=1)"
    assert values(task(text, "avx2"), "vectors") == expected
    assert 1 in values(task(text), "vectors")


def test_no_more_channels_are_unrolled_than_a_block_has() -> None:
    stem = task("conv2d(1x3x64x64, 32x3x7x7, strides=2, padding=3)")
    assert values(stem, "unroll_ic") == [1]


def test_groups_of_several_filters_are_convolved_directly() -> None:
    names = {s.name for s in host().strategies(task("conv2d(1x64x9x9, 32x16x3x3, groups=4)"))}
    assert "conv2d_direct.x86" in names


@pytest.mark.parametrize(
    ("text", "outer", "unroll_ic"),
    [
        ("(1x64x28x28, 64x64x1x1)", "rows", 2),
        ("(1x64x28x28, 64x64x3x3, padding=1)", "filters", 2),
        ("(1x9x28x28, 64x9x3x3, padding=1)", "filters", 1),
    ],
)
def test_the_advice_is_two_channels_at_a_time_and_rows_of_single_pixels(
    text: str, outer: str, unroll_ic: int
) -> None:
    conv = task(f"conv2d{text}")
    advised = host().implementation("conv2d_direct.x86").fallback(conv)
    assert (advised["outer"], advised["unroll_ic"]) == (outer, unroll_ic)
    assert host().space(conv).is_valid(advised)


@pytest.mark.parametrize("isa", ["avx2", "avx512"])
@pytest.mark.parametrize(
    ("filters", "strategy"),
    [(28, "pixels"), (34, "pixels"), (68, "pixels"), (136, "direct"), (64, "direct")],
)
def test_groups_that_fill_no_vectors_of_256_bits_are_advised_pixels(filters, strategy, isa):
    text = f"conv2d(1x{4 * filters}x14x14, {4 * filters}x{filters}x1x1, groups=4)"
    conv = task(text, isa)
    advised = next(fallback_configs(conv, host().space(conv), host()))
    assert advised.strategy == f"conv2d_{strategy}.x86"


@pytest.mark.parametrize(
    ("isa", "filters", "strategy"),
    [
        ("avx512", 4, "derived"),
        ("avx512", 5, "conv2d_transpose"),
        ("avx2", 2, "derived"),
        ("avx2", 3, "conv2d_transpose"),
    ],
)
def test_few_filters_of_transposed_convolutions_are_advised_vectors_of_pixels(
    isa: str, filters: int, strategy: str
) -> None:
    up = task(f"conv2d_transpose(1x16x64x64, {filters}x16x4x4, strides=2, padding=1)", isa)
    advised = next(fallback_configs(up, host().space(up), host()))
    assert advised.strategy.partition(".")[0] == strategy


@pytest.mark.parametrize(
    ("width", "isa", "pixels"),
    [(14, "avx512", 14), (14, "avx2", 7), (56, "avx2", 8), (13, "avx2", 13), (22, "avx2", 11)],
)
def test_the_advice_for_depthwise_convolutions_leaves_registers_for_the_taps(
    width: int, isa: str, pixels: int
) -> None:
    conv = task(f"conv2d(1x32x5x{width}, 32x1x3x3, padding=1, groups=32)", isa)
    config = host().implementation("conv2d_depthwise.x86").fallback(conv)
    assert config is not None
    assert config["tile_ow"][-1] == pixels


@pytest.mark.parametrize(
    ("text", "outer", "prefetch"),
    [
        ("(1x64x28x28, 64x64x1x1)", "rows", "pixels"),
        ("(1x576x7x7, 160x576x1x1)", "filters", "filters"),
        ("(1x3x64x64, 32x3x3x3, padding=1, strides=2)", "filters", "none"),
        ("(1x64x14x14, 64x64x3x3, padding=1, strides=2)", "filters", "filters"),
    ],
)
def test_without_avx512_what_is_far_is_fetched_ahead(text: str, outer: str, prefetch: str) -> None:
    conv = task(f"conv2d{text}", "avx2")
    advised = host().implementation("conv2d_direct.x86").fallback(conv)
    assert (advised["outer"], advised["prefetch"]) == (outer, prefetch)


@pytest.mark.parametrize("rows", [32, 96, 128])
def test_products_beyond_the_first_cache_are_advised_tall_tiles_and_to_fetch_ahead(
    rows: int,
) -> None:
    """A tile of 48 columns reads half of what one of 96 does a row, which has as many sums."""
    product = task(f"matmul(1x{rows}x768, 768x768:const)")
    advised = host().implementation("derived.x86").fallback(product)
    assert advised["tile_c"][-1] >= 6
    assert advised["prefetch_bytes"] > 0


@pytest.mark.parametrize(
    ("channels", "isa", "advised"), [(16, "avx512", True), (16, "avx2", False), (11, "avx2", True)]
)
def test_planes_are_advised_where_parts_of_vectors_are_cheap_or_channels_fill_none(
    channels: int, isa: str, advised: bool
) -> None:
    conv = task(f"conv2d(1x{channels}x9x9, {channels}x1x3x3, groups={channels})", isa)
    config = host().implementation("planes.x86").fallback(conv)
    assert (config is not None) is advised
