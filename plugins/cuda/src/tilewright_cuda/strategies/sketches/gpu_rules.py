"""Ansor's rules for GPUs, in its order (Zheng et al., OSDI 2020), on tensor's states.

AddCacheRead is part of multi-level tiling: what a tiled stage reads is copied to shared memory.
Every stage is taken by one of these rules, so that none of those for CPUs is asked.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright_cuda.strategies.sketches.row_nest import RowNest
from tilewright_cuda.strategies.sketches.thread_nest import ThreadNest
from tilewright_cuda.strategies.sketches.thread_tiling import ThreadTiling
from tilewright_tensor.sketches.rules import Rule, State
from tilewright_tensor.sketches.structure.access import (
    matched_consumer,
    needs_tiling,
    readers,
    reduction_size,
    spatial_size,
)
from tilewright_tensor.sketches.structure.sketch_input import SketchInput

_WARP = 32
_MOST_THREADS = 1024


def _inlines(problem: SketchInput, state: State) -> bool:
    stage = state.schedule.stages[state.stage]
    return stage.combiner is None and stage.name != problem.output


def _reduces_by_rows(problem: SketchInput, state: State) -> bool:
    """Many terms, and few elements where tiles would serve as well."""
    stage = state.schedule.stages[state.stage]
    if stage.combiner is None or stage.name.endswith(".register"):
        return False
    terms, space = reduction_size(stage), spatial_size(stage)
    if needs_tiling(stage):
        return space <= _MOST_THREADS and space < terms
    return terms > _WARP


def _reduce_by_rows(problem: SketchInput, state: State) -> list[State]:
    """The stage joins the rows of the output, where it shares some with it; else it has its own."""
    name, schedule = state.stage, state.schedule
    for plan in state.plans:
        if isinstance(plan, RowNest) and plan.takes(schedule, name):
            plans = tuple(p.joined_by(name) if p is plan else p for p in state.plans)
            return [replace(state, plans=plans).settle(name)]
    found = readers(schedule, name)
    consumer = found[0] if len(found) == 1 else problem.output
    own = RowNest(consumer)
    alone = any(isinstance(p, ThreadNest) and p.stage == consumer for p in state.plans)
    if name != problem.output and alone and own.takes(schedule, name):
        state = _without_nest(state, consumer)
        return [state.settle(name).planned("cross-thread", own.joined_by(name))]
    schedule = schedule.cache_write(name, "register")
    plan = RowNest(name).joined_by(f"{name}.register")
    return [replace(state, schedule=schedule).settle(name).planned("cross-thread", plan)]


def _tiles(_problem: SketchInput, state: State) -> bool:
    return needs_tiling(state.schedule.stages[state.stage])


def _tile(problem: SketchInput, state: State) -> list[State]:
    """SSSRRSRS, fused with the consumer, or with the copy that AddCacheWrite makes."""
    name, schedule = state.stage, state.schedule
    consumer = matched_consumer(schedule, name)
    stage = name
    if consumer is None:
        schedule, consumer, stage = schedule.cache_write(name, "register"), name, f"{name}.register"
    producers = tuple(
        one
        for one in state.pending
        if one != name
        and schedule.stages[one].combiner is None
        and readers(schedule, one) == (stage,)
    )
    state = _without_nest(replace(state, schedule=schedule), consumer)
    state = state.settle(name, *producers)
    return [state.planned("tiled", ThreadTiling(stage, consumer, producers))]


def _skip(_problem: SketchInput, state: State) -> list[State]:
    return [state.settle(state.stage).planned("", ThreadNest(state.stage))]


def _without_nest(state: State, name: str) -> State:
    """The stage loses the launch that it was first given."""
    plans = tuple(p for p in state.plans if not (isinstance(p, ThreadNest) and p.stage == name))
    return replace(state, plans=plans)


GPU_RULES: tuple[Rule, ...] = (
    Rule("AlwaysInline", _inlines, lambda _problem, state: [state.inlined()]),
    Rule("CrossThreadReduction", _reduces_by_rows, _reduce_by_rows),
    Rule("MultiLevelTilingWithFusion", _tiles, _tile),
    Rule("SkipStage", lambda _problem, _state: True, _skip),
)
