"""Stages copied ahead of the loop that reads them."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.ir.dag import Dag, compute, placeholder, reduce_axis, reduce_sum
from tilewright_tensor.ir.loop_ir import Barrier, CopyGroup, CopyWait, walk
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.lowering.verify import verify
from tilewright_tensor.schedule.schedule import Schedule


def _row_sums(columns: int, factor: int, scope: str = "shared") -> Schedule:
    """Four threads sum a row each, from tiles that they copy together."""
    a = placeholder("a", (4, columns))
    k = reduce_axis(columns, "k")
    s = Schedule.of(Dag([compute("total", (4,), lambda m: reduce_sum(a[m, k], k))], [a]))
    s = s.cache_write("total", "register").bind("total", "m", "threadIdx.x")
    s = s.compute_at("total.register", "total", "m", "register")
    s = s.split("total.register", "k", [factor]).cache_read("a", scope, ["total.register"])
    tile = f"a.{scope}"
    s = s.compute_at(tile, "total.register", "k.0", scope)
    rows, inner = s.loops(tile)
    return s.reorder(tile, [inner, rows]).bind(tile, rows, "threadIdx.x")


def _count(statement, kind) -> int:
    return sum(isinstance(one, kind) for one in walk(statement))


@pytest.mark.parametrize("tiles", [2, 3, 4, 9])
def test_a_pipelined_sum_is_the_sum_with_one_barrier_a_turn(tiles):
    schedule = _row_sums(columns=20, factor=4).pipeline("total.register", "k.0", tiles)
    program = lower(schedule, "sums")
    assert verify(program) == []
    a = np.arange(80, dtype=np.float32).reshape(4, 20)
    assert interpret(program, [a])[0].tolist() == a.sum(axis=1).tolist()
    ahead = min(tiles, 5) - 1
    assert _count(program.body, CopyGroup) == ahead + 1
    assert (_count(program.body, CopyWait), _count(program.body, Barrier)) == (1, 2)
    assert f"float32[{ahead + 1}, 4, 4]" in str(program)


def test_a_loop_that_runs_once_is_not_pipelined():
    program = lower(_row_sums(columns=4, factor=4).pipeline("total.register", "k.0", 2), "sums")
    assert _count(program.body, CopyGroup) == 0
    a = np.ones((4, 4), np.float32)
    assert interpret(program, [a])[0].tolist() == [4.0] * 4


def test_a_pipelined_schedule_replays():
    schedule = _row_sums(columns=20, factor=4).pipeline("total.register", "k.0", 2)
    again = Schedule.replay(schedule.dag, schedule.steps)
    assert lower(again, "sums") == lower(schedule, "sums")


@pytest.mark.parametrize("tiles", [1, 0])
def test_fewer_than_two_tiles_are_no_pipeline(tiles):
    with pytest.raises(ValueError, match="argument 3, 'tiles' of pipeline"):
        _row_sums(columns=20, factor=4).pipeline("total.register", "k.0", tiles)


def test_only_shared_memory_is_filled_ahead():
    schedule = _row_sums(columns=20, factor=4, scope="local")
    schedule = schedule.pipeline("total.register", "k.0", 2)
    with pytest.raises(ValueError, match=r"a\.local is computed there, expected copies in shared"):
        lower(schedule, "sums")
