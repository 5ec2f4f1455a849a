"""Alternatives that cannot win any more get no trials."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.device import Device
from tilewright_pipeline.api.task_text import find_task
from tilewright_pipeline.tuning.narrowing import promising

PEAK = 1e11
TEXT = "conv2d(1x64x14x14, 64x64x3x3, padding=1)"

pytestmark = pytest.mark.needs("x86")


@pytest.fixture(scope="module")
def case():
    host = PluginHost.load().at_precision("bfloat16")
    task = find_task(TEXT, host.resolve_target("x86:isa=avx512_bf16,threads=1"), host, None)
    context = SimpleNamespace(host=host, device=Device("cpu", {}, {1: PEAK}))
    at_peak = host.reference("conv2d").operations(task.workload) / PEAK
    return host.space(task), task, context, at_peak


def test_what_beats_the_peak_of_float32_leaves_its_alternatives_behind(case):
    space, task, context, at_peak = case
    narrowed, spared = promising(space, at_peak / 2, task, context)
    assert {a.name for a in narrowed.alternatives} == {"conv2d_direct_bf16.x86"}
    assert spared == len(space.alternatives) - 1


def test_a_best_that_float32_may_beat_spares_nothing(case):
    space, task, context, at_peak = case
    for best in (at_peak, 0.9 * at_peak, None):
        assert promising(space, best, task, context) == (space, 0)


def test_nothing_is_spared_in_float32_or_without_a_peak(case):
    space, task, context, at_peak = case
    exact = SimpleNamespace(host=context.host.at_precision("float32"), device=context.device)
    unknown = SimpleNamespace(host=context.host, device=Device("cpu"))
    for other in (exact, unknown):
        assert promising(space, at_peak / 2, task, other) == (space, 0)


def test_whole_numbers_have_no_bound(case):
    _, task, context, _ = case
    text = "matmul_integer(8x8:uint8, 8x8:int8)"
    whole = find_task(text, task.target, context.host, None)
    space = context.host.space(whole)
    assert promising(space, 1e-12, replace(whole), context) == (space, 0)
