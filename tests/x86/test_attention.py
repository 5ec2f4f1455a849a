"""Attention by every strategy is what numpy computes: odd sizes, extreme scores, masks."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from isa_levels import ROUNDING, WIDTHS

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_pipeline.api.task_text import find_task
from tilewright_x86.strategies.tiles.vector_blocks import lanes

EMULATED = "x86:emulated=yes,isa=amx,threads=1"
TARGETS = {f"x86:isa={isa},threads={1 + n % 2}": "attention.x86" for n, isa in enumerate(WIDTHS)}
TARGETS |= {f"x86:isa={isa},threads=2": "attention*_bf16.x86" for isa in ROUNDING}
TARGETS[EMULATED] = "attention_in_tiles_bf16.x86"
SHAPES = (
    "2x3x49x32, 2x3x49x32, 2x3x49x32, 1x3x49x49, scale=0.2",
    "2x1x64, 2x1x64, 2x1x64, 1x1x1",
    "2x17x13, 2x37x13, 2x37x19, 2x17x1",
    "2x2x33x5, 2x2x1x5, 2x2x1x3, 2x1x1x1, scale=-1.5",
    "3x67x40, 3x131x40, 3x131x97, 1x1x131",
    "64x64, 64x64, 64x64, 1x64",
)
IN_HEADS = "1x4x19x24, 1x4x45x24, 1x4x45x24, 1x4x19x45, scale=0.2"


@pytest.mark.parametrize("isa", WIDTHS)
@pytest.mark.parametrize("columns", [3, 24, 40, 56, 64])
def test_tiles_are_no_wider_than_a_row_of_values_and_divide_the_queries(isa, columns):
    """A tile that is wider takes several times as long: it is kept in memory."""
    heads, host = f"1x8x64x{columns}", PluginHost.load()
    target = host.resolve_target(f"x86:isa={isa},threads=1")
    task = find_task(f"attention({heads}, {heads}, {heads}, 1x1x1x64)", target, host, None)
    space, rng, width = host.space(task), random.Random(0), lanes(task)
    (own,) = (one for one in space.alternatives if one.name == "attention.x86")
    fallback = host.fallback_config(task, space)
    assert fallback.strategy == own.name
    assert fallback["vectors"] * width % fallback["tile_rows"] == 0
    for config in (fallback, *(own.get(own.draw(rng)) for _ in range(20))):
        assert config["tile_columns"] in (1, *range(1, columns // width + 1))


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return PluginHost.load().at_precision("bfloat16")


def by_numpy(arrays: list[Any], scale: float) -> Any:
    queries, keys, values, mask = (array.astype(np.float64) for array in arrays)
    scores = queries @ np.swapaxes(keys, -1, -2) * scale + mask
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) @ values


def answer(host: PluginHost, task: Task, config: ConfigEntity, arrays: list[Any]) -> Any:
    """What the kernel gives, in logical layout."""
    backend, reference = host.backend("x86"), host.reference("attention")
    layouts, kind = (
        host.layouts(task, config),
        "emulated" if "emulated" in str(task.target) else "cpu",
    )
    device = next(one for one in backend.probe() if one.name == kind)
    kernel = backend.load(backend.build(host.lower(task, config), task.target), device)
    result = np.full((*arrays[0].shape[:-1], arrays[2].shape[-1]), np.nan, np.float32)
    operands = zip([*arrays, result], [*layouts.inputs, *layouts.outputs], strict=True)
    try:
        kernel.bind([reference.pack(array, layout) for array, layout in operands], {})
        kernel.launch()
        return reference.unpack(kernel.read(4), layouts.outputs[0], result.shape)
    finally:
        kernel.close()


def configs(host: PluginHost, task: Task, pattern: str, samples: int) -> list[ConfigEntity]:
    found: list[ConfigEntity] = []
    for strategy in host.strategies(task, pattern):
        space = host.space(task, strategy.name)
        advised = host.implementation(strategy.name).fallback(task)
        assert advised is not None and space.is_valid(advised)
        found += [advised, *space.sample(random.Random(0), samples)]
    return found


def drawn(host: PluginHost, task: Task) -> list[Any]:
    """Inputs without more digits than bfloat16 has."""
    return list(host.reference("attention").inputs(task.workload, 1, "bfloat16"))


def check(host: PluginHost, task: Task, config: ConfigEntity, arrays: list[Any]) -> None:
    scale = task.workload.attributes["scale"]
    found, wanted = answer(host, task, config, arrays), by_numpy(arrays, scale)
    bound = 2e-2 if "bf16" in config.strategy else 1e-5
    assert np.abs(found - wanted).max() <= bound * np.abs(wanted).max(), config.text


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shapes", SHAPES)
def test_the_answer_is_numpys(host: PluginHost, shapes: str, target: str) -> None:
    task = find_task(f"attention({shapes})", host.resolve_target(target), host, None)
    for config in configs(host, task, TARGETS[target], 3):
        check(host, task, config, drawn(host, task))


@pytest.mark.parametrize("target", TARGETS)
def test_scores_may_be_large(host: PluginHost, target: str) -> None:
    """Exponentials of thousands overflow unless the largest is taken off."""
    task = find_task(f"attention({IN_HEADS})", host.resolve_target(target), host, None)
    queries, keys, values, mask = drawn(host, task)
    for config in configs(host, task, TARGETS[target], 1):
        check(host, task, config, [queries * 256, keys * 64, values, mask])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("left_out", [-1e9, float("-inf")])
def test_a_mask_leaves_keys_out(host: PluginHost, target: str, left_out: float) -> None:
    task = find_task(f"attention({IN_HEADS})", host.resolve_target(target), host, None)
    queries, keys, values, mask = drawn(host, task)
    mask = np.where(np.arange(45) > np.arange(19)[:, None], np.float32(left_out), mask)
    for config in configs(host, task, TARGETS[target], 1):
        check(host, task, config, [queries, keys, values, mask])


@pytest.mark.parametrize("target", TARGETS)
def test_where_the_mask_leaves_out_everything_scores_count_as_rounded(
    host: PluginHost, target: str
) -> None:
    """As softmax has it: -1e9 takes all digits of the scores, so that keys count alike."""
    task = find_task(f"attention({IN_HEADS})", host.resolve_target(target), host, None)
    queries, keys, values, mask = drawn(host, task)
    mask = np.full_like(mask, -1e9)
    for config in configs(host, task, TARGETS[target], 1):
        found = answer(host, task, config, [queries, keys, values, mask])
        wanted = np.broadcast_to(values.mean(-2, keepdims=True), found.shape)
        assert np.abs(found - wanted).max() <= 1e-2 * np.abs(values).max(), config.text


def test_tiles_leave_single_heads_to_vectors(host: PluginHost) -> None:
    """Threads share out heads where operands are packed in tiles, and blocks of queries else."""
    target = host.resolve_target("x86:emulated=yes,isa=amx,threads=2")
    task = find_task("attention(64x64, 64x64, 64x64, 1x64)", target, host, None)
    names = [strategy.name for strategy in host.strategies(task, "attention*")]
    assert names == ["attention.x86", "attention_bf16.x86"]


def test_more_keys_than_scratch_holds_are_declined(host: PluginHost) -> None:
    target = host.resolve_target(f"x86:isa={WIDTHS[0]},threads=1")
    task = find_task("attention(16x8, 99999x8, 99999x8, 1x1)", target, host, None)
    assert not host.strategies(task, "attention*")
