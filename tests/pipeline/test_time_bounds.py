"""Alternatives that cannot beat the best any more get no trials; all peaks are stored ones."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.strategies.strategy import strategy_of
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Conditions
from tilewright_pipeline.api.task_text import find_task
from tilewright_pipeline.context.time_bounds import TimeBounds

FLOAT, DOTS, TILES = 1e11, 2e11, 16e11
CACHE, BANDWIDTH = 1 << 20, 1e9
CONV = "conv2d(1x64x14x14, 64x64x3x3, padding=1)"
OPERATIONS = 2 * 64 * 64 * (14 * 3 - 2) ** 2  # taps that lie on the image

pytestmark = pytest.mark.needs("x86")


@pytest.fixture(scope="module")
def host():
    return PluginHost.load().at_precision("bfloat16")


@pytest.fixture
def bounds_of(host):
    """A function: (bounds, space) of a task with these peaks."""

    def made(text, level="avx512_bf16", *, constants="cold", host=host, **peaks):
        known = {
            "bfloat16/vdpbf16ps": {1: DOTS},
            "bfloat16/tdpbf16ps": {1: TILES},
            "int8/vpdpbusd": {1: 2 * DOTS},
        }
        figures = {"peak_flops": {1: FLOAT}, "bandwidth": {1: BANDWIDTH}, "peaks": known, **peaks}
        device = Device("cpu", {"l3_bytes": CACHE}, **figures)
        task = find_task(text, host.resolve_target(f"x86:isa={level},threads=1"), host, None)
        conditions = Conditions(constants=constants)
        context = SimpleNamespace(host=host, device=device, conditions=conditions)
        space = host.space(task)
        return TimeBounds.of(task, space, context), space

    return made


def kept(found, seconds, by):
    bounds, space = found
    return {
        each.name.partition("/")[0] for each in bounds.promising(space, seconds, by).alternatives
    }


def test_operations_that_padding_makes_zero_are_left_out_exactly(bounds_of):
    bounds, _ = bounds_of(CONV)
    assert bounds.seconds["conv2d_direct.x86"] == pytest.approx(OPERATIONS / FLOAT)
    assert bounds.seconds["conv2d_direct_bf16.x86"] == pytest.approx(OPERATIONS / DOTS)


def test_what_beats_float32_s_peak_leaves_float32_behind(bounds_of):
    found = bounds_of(CONV)
    best = 0.99 * OPERATIONS / FLOAT
    left = kept(found, best, "conv2d_direct_bf16.x86")
    # Winograd's algorithm does fewer operations: less than 1 / 2.25 or 1 / 4
    assert left == {"conv2d_direct_bf16.x86", "derived_bf16.x86", "conv2d_winograd.x86"}


def test_a_best_that_others_may_beat_spares_nothing(bounds_of):
    bounds, space = bounds_of(CONV)
    for best in (OPERATIONS / FLOAT, 1.01 * OPERATIONS / FLOAT):
        assert bounds.promising(space, best, "conv2d_direct_bf16.x86") is space
    assert bounds.promising(space, None, None) is space


def test_where_the_instruction_is_slow_bfloat16_is_left_behind(bounds_of):
    found = bounds_of(CONV, peaks={"bfloat16/vdpbf16ps": {1: FLOAT / 2}})
    left = kept(found, 1.1 * OPERATIONS / FLOAT, "conv2d_direct.x86")
    assert "conv2d_direct.x86" in left
    assert "conv2d_direct_bf16.x86" not in left


def test_each_instruction_has_its_own_bound(bounds_of):
    found = bounds_of(CONV, "amx")
    left = kept(found, 0.9 * OPERATIONS / DOTS, "conv2d_tiles_bf16.x86")
    # a derived program may compute with either, as far as its strategy says; Winograd's does less
    assert left == {"conv2d_tiles_bf16.x86", "derived_bf16.x86", "conv2d_winograd.x86"}


def test_a_best_faster_than_its_own_peak_disproves_it(bounds_of, host):
    bounds, space = bounds_of(CONV, host=host.at_precision("float32"))
    assert bounds.promising(space, 0.5 * OPERATIONS / FLOAT, "conv2d_direct.x86") is space


def test_without_a_peak_or_the_direct_algorithm_there_is_no_bound(bounds_of, host, monkeypatch):
    bounds, space = bounds_of(CONV, peak_flops={}, bandwidth={}, peaks={})
    assert bounds.promising(space, 1e-12, "conv2d_direct_bf16.x86") is space
    own = host.strategy("conv2d_direct.x86")
    monkeypatch.setattr(
        type(host),
        "strategy",
        lambda _, name: replace(own, name=name, direct_error=False),
    )
    bounds, _ = bounds_of(CONV)
    counted = {name for name, seconds in bounds.seconds.items() if seconds}
    assert counted == {"conv2d_winograd.x86/F2", "conv2d_winograd.x86/F4"}


def test_fewer_operations_have_the_bound_of_their_own(bounds_of, host):
    bounds, space = bounds_of(CONV, host=host.at_precision("float32"))
    f2, f4 = "conv2d_winograd.x86/F2", "conv2d_winograd.x86/F4"
    assert bounds.seconds[f2] == pytest.approx(2 * 64 * 64 * (7 * 7 * 16) / FLOAT)
    assert bounds.seconds[f4] == pytest.approx(2 * 64 * 64 * (4 * 4 * 36) / FLOAT)
    assert bounds.seconds["conv2d_winograd.x86"] == 0.0
    for best, left in ((0.5, {f2, f4}), (0.4, {f4})):
        found = bounds.promising(space, best * OPERATIONS / FLOAT, f4)
        assert {each.name for each in found.alternatives} == left


def test_bytes_that_no_cache_holds_bound_a_product_of_vectors(bounds_of):
    text, weights = "dense(1x1024, 4096x1024)", 4 * 1024 * 4096
    bounds, _ = bounds_of(text)
    missing = 1 - CACHE / (2 * CACHE + weights)  # of copies that fill the cache twice
    assert bounds.seconds["dense_packed.x86"] == pytest.approx(missing * weights / BANDWIDTH)
    half = 1 - CACHE / (2 * CACHE + weights / 2)
    assert bounds.seconds["dense_packed_bf16.x86"] == pytest.approx(half * weights / 2 / BANDWIDTH)
    found = bounds_of(text)
    assert kept(found, 0.9 * missing * weights / BANDWIDTH, "dense_packed_bf16.x86") == {
        strategy_of(each.name) for each in found[1].alternatives if "_bf16" in each.name
    }


def test_warm_operands_count_only_beyond_the_cache(bounds_of):
    text, bytes_ = "matmul(1024x1024, 1024x1)", 4 * 1024 * 1025
    bounds, _ = bounds_of(text, peak_flops={}, peaks={})
    assert bounds.seconds["derived.x86"] == pytest.approx((bytes_ - CACHE) / BANDWIDTH)
    small, _ = bounds_of("matmul(64x64, 64x1)", peak_flops={}, peaks={})
    assert not any(small.seconds.values())
    warm, _ = bounds_of("dense(1x64, 64x64)", constants="warm", peak_flops={}, peaks={})
    assert not any(warm.seconds.values())
    unknown, _ = bounds_of(text, bandwidth={}, peak_flops={}, peaks={})
    assert not any(unknown.seconds.values())


def test_bytes_are_bound_by_the_peak_of_int8(bounds_of):
    bounds, _ = bounds_of("matmul_integer(8x8:uint8, 8x8:int8)")
    assert bounds.seconds["products_of_dots.x86"] == pytest.approx(1024 / (2 * DOTS))
