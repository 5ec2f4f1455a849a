"""The rules that derive sketches, in Ansor's order for CPUs (Zheng et al., OSDI 2020, table 1).

Rules look at one stage at a time, from the last to the first. Each rule answers for a state (what
was decided so far) which states follow; a `final` one keeps the rules after it from the stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.nests.instructed_tiling import InstructedTiling, lanes_of
from tilewright_tensor.sketches.nests.nest import Factored, Nest, factored_axis
from tilewright_tensor.sketches.nests.tiling import Tiling
from tilewright_tensor.sketches.nests.unrolled import (
    Unrolled,
    constant_axes,
    constant_tensors,
    is_constant,
)
from tilewright_tensor.sketches.sketch import Sketch
from tilewright_tensor.sketches.structure.access import (
    is_strictly_inlineable,
    matched_consumer,
    needs_tiling,
    readers,
    reduction_size,
    spatial_size,
)
from tilewright_tensor.sketches.structure.instructed import Instructed, instructed
from tilewright_tensor.sketches.structure.open_nest import OpenNest
from tilewright_tensor.sketches.structure.sketch_input import SketchInput
from tilewright_tensor.sketches.structure.vectors import vectors_of

_ENOUGH_WORK = 16


@dataclass(frozen=True, eq=False)
class State:
    """The decisions for the stages from the last one down to `stage`.

    schedule  inlining and caches done
    pending   stages still to be looked at, the next one last
    settled   stages that a plan covers
    plans     of the sketch to be
    names     what the rules did, for the sketch's name
    """

    schedule: Schedule
    pending: tuple[str, ...]
    settled: frozenset[str] = frozenset()
    plans: tuple[OpenNest, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def stage(self) -> str:
        """The stage that is looked at."""
        return self.pending[-1]

    def settle(self, *stages: str) -> State:
        """With stages that no rule needs to look at any more."""
        return replace(
            self,
            settled=self.settled | set(stages),
            pending=tuple(name for name in self.pending if name not in stages),
        )

    def inlined(self) -> State:
        """With the stage computed by its readers."""
        return replace(self, schedule=self.schedule.inline(self.stage)).settle(self.stage)

    def planned(self, name: str, plan: OpenNest) -> State:
        """With one more plan."""
        return replace(
            self, plans=(*self.plans, plan), names=(*self.names, name) if name else self.names
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as data; `final` where no later rule is asked about the stage."""

    name: str
    condition: Callable[[SketchInput, State], bool]
    apply: Callable[[SketchInput, State], Sequence[State]]
    final: Callable[[SketchInput, State], bool] = lambda _problem, _state: True


def derive(problem: SketchInput, rules: Sequence[Rule] = ()) -> tuple[Sketch, ...]:
    """Every sketch of a problem; `rules` of a target come before those that all share."""
    schedule = Schedule.of(problem.dag)
    open_states = [State(schedule, tuple(schedule.stages))]
    found: dict[str, Sketch] = {}
    while open_states:
        state = open_states.pop(0)
        if not state.pending:
            name = "+".join(reversed(state.names)) or "nest"
            found.setdefault(name, _sketch(problem, name, state))
            continue
        for rule in (*rules, *RULES):
            if not rule.condition(problem, state):
                continue
            open_states += rule.apply(problem, state)
            if rule.final(problem, state):
                break
    return tuple(found.values())


def _sketch(problem: SketchInput, name: str, state: State) -> Sketch:
    """The finished sketch: only now is it known what is inlined, and so where vectors can run."""
    stages = state.schedule.stages
    plans = [
        plan.with_vectors(vectors_of(problem, state.schedule, stages[plan.stage]))
        for plan in state.plans
    ]
    return Sketch(name, problem, state.schedule, tuple(plans))


def _is_output(problem: SketchInput, state: State) -> bool:
    return state.stage == problem.output


def _may_inline(problem: SketchInput, state: State) -> bool:
    stage = state.schedule.stages[state.stage]
    return not _is_output(problem, state) and (
        is_strictly_inlineable(stage) or is_constant(state.schedule, state.stage)
    )


def _sums_constants(_problem: SketchInput, state: State) -> bool:
    stage = state.schedule.stages[state.stage]
    return stage.combiner is not None and bool(constant_axes(state.schedule, stage))


def _simplify(_problem: SketchInput, state: State) -> list[State]:
    stage, schedule = state.schedule.stages[state.stage], state.schedule
    plan = Unrolled(stage.name, constant_axes(schedule, stage))
    constants = constant_tensors(schedule, stage)
    for name in constants:
        schedule = schedule.inline(name)
    state = replace(state, schedule=schedule).settle(stage.name, *constants)
    return [state.planned("unrolled", plan)]


def _tiled(problem: SketchInput, state: State) -> bool:
    return needs_tiling(state.schedule.stages[state.stage])


def _is_cached(state: State) -> bool:
    return state.stage.endswith(".register")


def _wants_cache(problem: SketchInput, state: State) -> bool:
    return _tiled(problem, state) and matched_consumer(state.schedule, state.stage) is None


def _cache(_problem: SketchInput, state: State) -> list[State]:
    name = state.stage
    pending = tuple(
        one
        for other in state.pending
        for one in ((f"{name}.register",) if other == name else (other,))
    )
    return [replace(state, schedule=state.schedule.cache_write(name, "register"), pending=pending)]


def _instructed(problem: SketchInput, state: State) -> Instructed | None:
    """The stage as an instruction, where no other one has its operands in a format of its own."""
    found = instructed(problem, state.schedule, state.schedule.stages[state.stage])
    plans = (plan.product for plan in state.plans if isinstance(plan, InstructedTiling))
    taken = {factor.source for one in plans for factor in (one.shared, one.rows)}
    return None if found and taken & {found.shared.source, found.rows.source} else found


def _is_instructed(problem: SketchInput, state: State) -> bool:
    return _instructed(problem, state) is not None


def _tensorize(problem: SketchInput, state: State) -> list[State]:
    """In the tiles of the stage's consumer; of a copy, where it has none."""
    stage, product = state.schedule.stages[state.stage], _instructed(problem, state)
    consumer = matched_consumer(state.schedule, state.stage)
    assert product is not None
    if consumer is None:
        return _cache(problem, state)
    made = (state.schedule.stages.get(one.name) for one in (product.shared, product.rows))
    producers = tuple(one.name for one in made if one is not None and one.combiner is None)
    vectors = lanes_of(problem, stage, product, consumer)
    return [
        _without_nest(state, consumer)
        .settle(stage.name, *producers)
        .planned(
            f"fused-{level}",
            InstructedTiling(
                stage.name, consumer, level,
                producers=producers, vectors=vectors, product=product,
            ),
        )
        for level in (2, 1)
    ]  # fmt: skip


def _wants_fusion(problem: SketchInput, state: State) -> bool:
    consumer = matched_consumer(state.schedule, state.stage)
    return _tiled(problem, state) and consumer is not None


def _producers(state: State, stage: str) -> tuple[str, ...]:
    """Stages that no rule inlines or tiles and that only this one reads."""
    found = []
    for name in state.pending:
        one = state.schedule.stages[name]
        if (
            readers(state.schedule, name) == (stage,)
            and one.combiner is None
            and not is_strictly_inlineable(one)
        ):
            found.append(name)
    return tuple(found)


def _fuse(problem: SketchInput, state: State) -> list[State]:
    stage = state.schedule.stages[state.stage]
    consumer = matched_consumer(state.schedule, state.stage)
    assert consumer is not None
    producers = _producers(state, stage.name)
    return [
        _without_nest(state, consumer)
        .settle(stage.name, *producers)
        .planned(f"fused-{level}", Tiling(stage.name, consumer, level, producers=producers))
        for level in (2, 1)
    ]


def _without_nest(state: State, name: str) -> State:
    """The consumer leaves the nest that it was given when it was looked at, and other plans."""
    plans = (p.without(name) if isinstance(p, Nest | Tiling) else p for p in state.plans)
    return replace(state, plans=tuple(plan for plan in plans if plan is not None))


def _tile(problem: SketchInput, state: State) -> list[State]:
    stage = state.schedule.stages[state.stage]
    producers = _producers(state, stage.name)
    plan = Tiling(stage.name, None, 0, producers=producers)
    return [state.settle(stage.name, *producers).planned("tiled", plan)]


def _reduces_along_memory(problem: SketchInput, state: State) -> bool:
    """Little to do side by side, much to combine: the condition of AddRfactor."""
    stage = state.schedule.stages[state.stage]
    if stage.combiner is None or _is_cached(state) or factored_axis(stage) is None:
        return False
    cores, space, terms = problem.limits.threads, spatial_size(stage), reduction_size(stage)
    if _tiled(problem, state):
        return space <= terms and space <= _ENOUGH_WORK * cores
    return terms > cores and vectors_of(problem, state.schedule, stage).axis is None


def _factor(problem: SketchInput, state: State) -> list[State]:
    """In vectors of partial results; and in parts, where rows alone do not occupy the threads."""
    stage = state.schedule.stages[state.stage]
    axis = factored_axis(stage)
    assert axis is not None
    scarce = spatial_size(stage) < _ENOUGH_WORK * problem.limits.threads
    found = []
    for in_parts in (False, True) if scarce else (False,):
        others = {one.in_parts for plan in state.plans for one in getattr(plan, "factored", ())}
        # reductions of one DAG are factored alike
        if others <= {in_parts}:
            name = "rfactor-parts" if in_parts else "rfactor"
            found.append(_nested(state, name, Factored(stage.name, axis, in_parts)))
    return found


def _nested(state: State, name: str, factored: Factored | None) -> State:
    """The stage joins the nest of the output, or begins it."""
    stage = state.schedule.stages[state.stage]
    state = state.settle(stage.name)
    names = (*state.names, name) if name and name not in state.names else state.names
    if any(isinstance(plan, Nest) for plan in state.plans):
        plans = tuple(
            plan.joined_by(stage.name, factored) if isinstance(plan, Nest) else plan
            for plan in state.plans
        )
        return replace(state, plans=plans, names=names)
    plan = Nest(stage.name, (), (factored,) if factored else ())
    return replace(state, plans=(*state.plans, plan), names=names)


def _skip(problem: SketchInput, state: State) -> list[State]:
    stage = state.schedule.stages[state.stage]
    consumer = matched_consumer(state.schedule, stage.name)
    storing = consumer if consumer == problem.output else None
    stores = stage.combiner is not None and (storing or stage.name == problem.output)
    if stores and vectors_of(problem, state.schedule, stage).axis is not None:
        producers = _producers(state, stage.name)
        level = 2 if storing else 0
        plan = Tiling(stage.name, storing, level, deep=False, producers=producers)
        state = _without_nest(state, storing) if storing else state
        return [state.settle(stage.name, *producers).planned("", plan)]
    return [_nested(state, "", None)]


RULES: tuple[Rule, ...] = (
    Rule("Tensorize", _is_instructed, _tensorize),
    Rule("AlwaysInline", _may_inline, lambda _p, s: [s.inlined()]),
    Rule("SimplifyComputeWithConstTensor", _sums_constants, _simplify),
    Rule("AddRfactor", _reduces_along_memory, _factor, lambda p, s: not _tiled(p, s)),
    Rule("AddCacheWrite", _wants_cache, _cache, lambda _p, _s: False),
    Rule("MultiLevelTilingWithFusion", _wants_fusion, _fuse, lambda _p, s: _is_cached(s)),
    Rule("MultiLevelTiling", _tiled, _tile),
    Rule("SkipStage", lambda _p, _s: True, _skip),
)
