"""While a convolution uses some filters or pixels, the next ones are fetched, all and evenly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np
import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_tensor.expressions.affine import Var
from tilewright_tensor.ir.loop_ir import Guard, Loop, LoopProgram, Prefetch, Statement, inside, walk

LINE = 16
"""float32 elements."""


def program(text: str, **changed: object) -> LoopProgram:
    host = PluginHost.load()
    workload = host.reference("conv2d").parse(text, "")
    task = Task(workload, Target.parse("x86:isa=avx512,threads=1"))
    fallback = host.implementation("conv2d_direct.x86").fallback(task)
    config = ConfigEntity("conv2d_direct.x86", {**fallback.values, **changed})
    return host.lower(task, config)


def prefetched(
    statement: Statement, values: Mapping[Var, int]
) -> Iterator[tuple[tuple[int, ...], int]]:
    """(indices, elements behind them) of every prefetch, in order."""
    if not any(isinstance(one, Prefetch) for one in walk(statement)):
        return
    if isinstance(statement, Prefetch):
        yield tuple(i.evaluate(values) for i in statement.indices), statement.offset_bytes // 4
    elif isinstance(statement, Loop) and statement.kind not in ("unrolled", "vectorized"):
        for number in range(statement.extent):
            yield from prefetched(statement.body, {**values, statement.var: number})
    elif not isinstance(statement, Guard) or all(
        index.evaluate(values) < limit for index, limit in statement.conditions
    ):
        for one in inside(statement):
            yield from prefetched(one, values)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("(1x64x14x14, 96x64x1x1)", {"outer": "filters", "unroll_ic": 1}),
        ("(1x256x28x28, 96x256x1x1)", {"outer": "rows"}),
        ("(1x64x7x7, 96x64x1x1)", {"vectors": 1}),
        ("(1x64x9x14, 64x64x3x3)", {}),
        ("(1x32x14x14, 64x32x3x3)", {"tile_oh": (5, 3), "tile_ow": (4, 4)}),
    ],
)
def test_all_of_the_next_filters_is_fetched_while_the_present_are_used(
    text: str, changed: Mapping[str, object]
) -> None:
    lowered = program(text, prefetch="filters", **changed)
    together = prod(lowered.inputs[1].shape[1:])
    found = {
        (row, (ahead + behind) // LINE) for (row, *_, ahead), behind in prefetched(lowered.body, {})
    }
    wanted = [(0, line) for line in range(together // LINE, 2 * together // LINE)]
    missing = [line for line in wanted if line not in found]
    assert len(missing) <= len(wanted) // 50
    beyond = [line for row, line in found if row == 0 and line >= 2.3 * together / LINE]
    assert not beyond


def test_single_pixels_stay_for_all_filters_where_their_rows_are_long() -> None:
    """Each row fetches all filters once, from block to block."""
    lowered = program("(1x256x28x28, 96x256x1x1)")
    (rows,) = (one.extent for one in walk(lowered.body) if getattr(one, "kind", "") == "parallel")
    found = [row for (row, *_), behind in prefetched(lowered.body, {}) if not behind]
    blocks = [row for row, before in zip(found, [-1, *found], strict=False) if row != before]
    assert rows == 7 * 3
    assert blocks == [0, 1, 2] * 7


def test_filters_far_ahead_are_asked_for_a_line_at_a_time() -> None:
    """A tile of several asks for its share between its multiply-adds, not all at once."""
    lowered = program("(1x512x7x7, 512x512x1x1)", prefetch="filters")
    together = [inside(one) for one in walk(lowered.body)]
    assert max(sum(isinstance(one, Prefetch) for one in parts) for parts in together) <= 2


def test_all_pixels_of_the_next_tile_are_fetched_while_the_present_ones_are_used() -> None:
    tile = {"tile_ow": (7, 14), "tile_oh": (2, 1), "block_ic": 32, "unroll_ic": 2}
    lowered = program("(1x64x14x14, 32x64x1x1)", prefetch="pixels", **tile)
    shape = lowered.inputs[0].shape
    found = {
        (np.ravel_multi_index((*place, 0), shape) + channel + behind) // LINE
        for (*place, channel), behind in prefetched(lowered.body, {})
        if place[2] < shape[2]
    }
    for block in (0, 1):
        second = (block * prod(shape[2:]) + 14 * 32) // LINE
        assert found.issuperset(range(second, second + 14 * 32 // LINE))


@pytest.mark.parametrize("tile_oc", [(1, 3, 1, 2), (1, 1, 3, 2)])
@pytest.mark.parametrize("tile_p", [(1, 3, 14), (2, 2, 12)])
def test_all_of_the_next_panel_is_fetched_while_the_present_one_is_used(
    tile_p: tuple[int, ...], tile_oc: tuple[int, ...]
) -> None:
    """The last tiles of an image, which are fewer, need not fetch all of it."""
    host = PluginHost.load()
    workload = host.reference("conv2d").parse("(1x32x23x22, 96x32x3x3, padding=1)", "")
    task = Task(workload, Target.parse("x86:isa=avx512,threads=1"))
    values = {"tile_p": tile_p, "tile_oc": tile_oc, "unroll_ic": 2, "prefetch": "filters"}
    lowered = host.lower(task, ConfigEntity("conv2d_winograd.x86/F4", values))
    shape = lowered.operand("weight").shape
    found = {
        (np.ravel_multi_index((*place, 0), shape) + ahead + behind) // LINE
        for (*place, ahead), behind in prefetched(lowered.body, {})
    }
    assert found.issuperset(range(prod(shape[3:]) // LINE, prod(shape) // LINE))


def test_other_configs_fetch_none_of_it() -> None:
    lowered = program("(1x64x14x14, 96x64x1x1)", prefetch="none")
    assert not list(prefetched(lowered.body, {}))
