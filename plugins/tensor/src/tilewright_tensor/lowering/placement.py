"""Bound inference: over which region each stage is computed, in which loops, under which guards.

Consumers are placed before producers. What a stage attached inside a consumer's loop has to
compute is found from the reads there: an index splits into a part of the variables that are fixed
at the attach point, where the region starts, and a part that varies inside it, whose range is the
region's extent. Where that is unclear (a division that mixes both), or reads start at different
places, the whole axis is computed. What one thread reads far apart, as virtual threads do, is
folded together in its scratch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from tilewright_tensor.expressions.affine import Affine, Var
from tilewright_tensor.expressions.buffer import IN_REGISTERS
from tilewright_tensor.expressions.expr import (
    IndexValue,
    Op,
    Read,
    Value,
    map_value,
    values_inside,
    with_inside,
)
from tilewright_tensor.expressions.simplify_div_mod import simplify_div_mod
from tilewright_tensor.ir.facts import Condition, Facts
from tilewright_tensor.ir.loop_ir import LoopKind
from tilewright_tensor.lowering.fold import Fold
from tilewright_tensor.lowering.spans import common_span, span_of
from tilewright_tensor.schedule.compute_stage import ComputeStage, Split
from tilewright_tensor.schedule.schedule import Schedule


class PlacedLoop(NamedTuple):
    """A loop of a stage.

    `shares` where it runs on a thread of an enclosing stage and makes no loop of its own.
    """

    name: str
    var: Var
    extent: int
    kind: LoopKind
    reduction: bool
    shares: bool


@dataclass(frozen=True, slots=True)
class Placement:
    """The placement of a stage.

    start, region   first index and extent of what is computed, by axis
    folds           by axis, how what is computed lies apart, None where it lies together
    local           index within the region by axis, over the loops' variables
    point           the stage's axes, spatial and reduced, over the loops' variables
    reads           what the body reads there, indexes of whole tensors; by identity in the body
    facts           what is known outside the nest
    guards          conditions by the loop, as a number, inside of which they stand around all
                    (-1: around the nest), or, where True, around all but the stages attached
                    there, whose barriers all threads have to reach
    guests          stages attached at each loop, in order of execution
    """

    stage: ComputeStage
    loops: tuple[PlacedLoop, ...]
    start: tuple[Affine, ...]
    region: tuple[int, ...]
    local: tuple[Affine, ...]
    point: Mapping[Var, Affine]
    reads: Mapping[int, Read]
    facts: Facts
    guards: Mapping[tuple[int, bool], tuple[Condition, ...]]
    guests: Mapping[str, tuple[str, ...]]
    folds: tuple[Fold | None, ...]

    @property
    def first_reduction(self) -> int:
        """Number of the outermost reduction loop that runs more than once.

        Where there is none, the number of loops; never inside an instruction.
        """
        first = next(
            (d for d, loop in enumerate(self.loops) if loop.reduction and loop.extent > 1),
            len(self.loops),
        )
        instruction = self.stage.instruction
        return min(first, self.depth(instruction[0])) if instruction else first

    def value(self, load: Callable[[Read], Value]) -> Value:
        """The element over the loops' variables: loads for reads, what is known there folded."""
        facts = self.facts.with_conditions([c for found in self.guards.values() for c in found])

        def leaf(one: Value) -> Value:
            if isinstance(one, Read):
                read = self.reads.get(id(one))
                if read is None:
                    return one
                return map_value(load(read), lambda one: with_inside(one, loaded), inside=False)
            if isinstance(one, IndexValue):
                here = IndexValue(one.value.substitute(self.point, facts.bounds))
                return with_inside(here, loaded)
            return one

        def loaded(value: Value) -> Value:
            return map_value(value, lambda one: load(one) if isinstance(one, Read) else one)

        return map_value(self.stage.body, leaf, facts.simplified, inside=False)

    def depth(self, loop: str) -> int:
        """Number of the loop, outermost first. ValueError where there is none of that name."""
        for depth, one in enumerate(self.loops):
            if one.name == loop:
                return depth
        names = ", ".join(one.name for one in self.loops)
        raise ValueError(
            f"stages are computed at loop '{loop}' of {self.stage.name}, whose loops are {names}"
        )

    def local_index(self, indices: Sequence[Affine]) -> list[Affine]:
        """Where in the region the element at some indices is kept."""
        bounds = self.facts.bounds
        return [
            Affine() if extent == 1 else fold.place(one - start, bounds) if fold else one - start
            for one, start, extent, fold in zip(
                indices, self.start, self.region, self.folds, strict=True
            )
        ]

    def facts_inside(self, depth: int) -> Facts:
        """The facts inside the loop number `depth`, where attached stages are."""
        around = (found for (at, late), found in self.guards.items() if at <= depth and not late)
        return self.facts.with_conditions([c for found in around for c in found])


class _Placer:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.bounds: dict[Var, tuple[int, int]] = {}
        self.placed: dict[str, Placement] = {}
        self.reads: dict[str, list[tuple[str, tuple[Affine, ...]]]] = {}  # of a stage: by whom
        # vars of the loops around a stage's nest, outermost first, with their kinds
        self.around: dict[str, tuple[PlacedLoop, ...]] = {}
        self.guests: dict[str, dict[str, list[str]]] = {name: {} for name in schedule.stages}
        for stage in schedule.stages.values():
            if stage.attach:
                consumer, loop = stage.attach
                if consumer not in schedule.stages:
                    raise ValueError(
                        f"{stage.name} is computed inside {consumer}, which is inlined"
                    )
                self.guests[consumer].setdefault(loop, []).append(stage.name)

    def place(self, stage: ComputeStage) -> None:
        around, facts = self._enclosing(stage)
        self.around[stage.name] = around
        start, region, folds = self._region(stage, around)
        extents = {axis.name: extent for axis, extent in zip(stage.axes, region, strict=True)}
        extents.update((axis.name, axis.extent) for axis in stage.reduce_axes)
        extents = stage.extents(extents)
        if stage.attach and stage.overhangs:
            region = _overhung(stage, region, extents)
        loops, busy = self._loops(stage, around, extents)
        indices = stage.indices(
            {loop.name: loop.var.affine() if loop.extent > 1 else Affine() for loop in loops},
            extents,
            self.bounds,
        )
        local = tuple(indices[axis.name] for axis in stage.axes)
        point = {
            axis.var: begin + (fold.offset(one, self.bounds) if fold else one)
            for axis, begin, one, fold in zip(stage.axes, start, local, folds, strict=True)
        }
        conditions = busy + [
            (indices[relation.parent], extents[relation.parent])
            for relation in stage.relations
            if isinstance(relation, Split)
            and relation.parent not in stage.overhangs
            and prod(extents[child] for child in relation.children) != extents[relation.parent]
        ]
        if stage.attach:
            for axis in (one for one in stage.axes if one.name not in stage.overhangs):
                low, high = point[axis.var].range(self.bounds)
                if low < 0 or high >= axis.extent:
                    conditions += [(point[axis.var], axis.extent), (-point[axis.var], 1)]
        point.update((axis.var, indices[axis.name]) for axis in stage.reduce_axes)
        reads = _reads(stage.body, point, facts)
        for read in reads.values():
            self.reads.setdefault(read.tensor.name, []).append((stage.name, read.indices))
        self.placed[stage.name] = Placement(
            stage, loops, start, region, local, point, reads, facts,
            self._guards(stage.name, loops, conditions, facts),
            {loop: tuple(names) for loop, names in self.guests[stage.name].items()}, folds,
        )  # fmt: skip

    def _enclosing(self, stage: ComputeStage) -> tuple[tuple[PlacedLoop, ...], Facts]:
        """The loops around the stage's nest, and the facts there."""
        if not stage.attach:
            return (), Facts(self.bounds)
        consumer, at = stage.attach
        if consumer not in self.placed:
            raise ValueError(
                f"{stage.name} is computed inside {consumer}, which does not come after it"
            )
        host = self.placed[consumer]
        depth = host.depth(at)
        return self.around[consumer] + host.loops[: depth + 1], host.facts_inside(depth)

    def _loops(
        self, stage: ComputeStage, around: tuple[PlacedLoop, ...], extents: Mapping[str, int]
    ) -> tuple[tuple[PlacedLoop, ...], list[Condition]]:
        """(the stage's loops, what holds for the threads it shares that have something to do)."""
        loops: list[PlacedLoop] = []
        busy: list[Condition] = []
        reductions = stage.reductions()
        inside_parallel = any(loop.kind == "parallel" for loop in around)
        for name in stage.loops:
            kind = stage.kinds.get(name, "serial")
            if kind == "parallel" and inside_parallel:
                kind = "serial"  # all threads are taken
            extent, shared = extents[name], _thread_of(kind, around)
            if shared:
                var = shared.var
                if extent > shared.extent:
                    raise ValueError(
                        f"loop {name} of {stage.name} needs {extent} {kind}, "
                        f"{var.name} has {shared.extent}"
                    )
                if extent < shared.extent:
                    busy.append((var.affine(), extent))
            else:
                var = Var(f"{stage.name}.{name}")
                self.bounds[var] = (0, extent - 1)
            loops.append(
                PlacedLoop(name, var, extent, kind, name in reductions, shared is not None)
            )
        return tuple(loops), busy

    def _region(
        self, stage: ComputeStage, around: tuple[PlacedLoop, ...]
    ) -> tuple[tuple[Affine, ...], tuple[int, ...], tuple[Fold | None, ...]]:
        """Start and extent by axis of what has to be computed, and how it lies apart."""
        if not stage.attach:
            rank = len(stage.shape)
            return (Affine(),) * rank, stage.shape, (None,) * rank
        fixed = {
            loop.var for loop in around if not (stage.scope == "shared" and _is_thread(loop.kind))
        }
        known = self.reads.get(stage.name, ())
        self._check_inside({reader for reader, _ in known}, stage)
        if not known:
            raise ValueError(
                f"{stage.name} is computed inside {stage.attach[0]}, but nothing reads it"
            )
        start: list[Affine] = []
        region: list[int] = []
        folds: list[Fold | None] = []
        for indices, extent in zip(
            zip(*(indices for _, indices in known), strict=True), stage.shape, strict=True
        ):
            distinct = {id(index): index for index in indices}.values()
            span = common_span([span_of(index, fixed, self.bounds) for index in distinct])
            if span is None:
                low, high, origin, fold = 0, extent - 1, Affine(), None
            else:
                origin, low, high, fold = span
                if stage.scope not in IN_REGISTERS:
                    fold = None
                if origin.is_constant and not fold:
                    low, high = max(low, 0), min(high, extent - 1)
                # an index of registers must not vary with a loop: there, the overhang is guarded
                widens = origin.is_constant or stage.scope not in IN_REGISTERS
                if widens and high - low + 1 >= extent and not fold:
                    low, high, origin = 0, extent - 1, Affine()
            start.append(origin + low)
            runs = high - low + 1
            region.append((runs - fold.run) // fold.stride * fold.run + fold.run if fold else runs)
            folds.append(fold)
        return tuple(start), tuple(region), tuple(folds)

    def _check_inside(self, readers: Collection[str], stage: ComputeStage) -> None:
        """Raise ValueError where one runs outside of the loop at which the stage is attached."""
        assert stage.attach
        consumer, at = stage.attach
        host = self.placed[consumer]
        inner = host.loops[host.depth(at)].var
        for reader in readers:
            if reader != consumer and all(loop.var != inner for loop in self.around[reader]):
                raise ValueError(
                    f"{stage.name} is computed at {consumer}.{at}, "
                    f"but {reader} reads it outside of this loop"
                )

    def _guards(
        self, stage: str, loops: Sequence[PlacedLoop], conditions: list[Condition], facts: Facts
    ) -> dict[tuple[int, bool], tuple[Condition, ...]]:
        if not conditions:
            return {}
        depth_of = {loop.var: depth for depth, loop in enumerate(loops) if not loop.shares}
        barrier = max(
            (d for d, loop in enumerate(loops) if self._shares_inside(stage, loop.name)),
            default=-1,
        )
        threads = {loop.var for loop in (*self.around[stage], *loops) if _is_thread(loop.kind)}
        by_place: dict[tuple[int, bool], list[Condition]] = {}
        kept: list[Condition] = []
        for condition in conditions:
            # a condition that another one implies is left out
            if facts.with_conditions(kept).holds(condition):
                continue
            condition = facts.normal(condition)  # noqa: PLW2901
            kept.append(condition)
            variables = condition[0].variables()
            depth = max((depth_of[var] for var in variables if var in depth_of), default=-1)
            late = 0 <= barrier >= depth and not threads.isdisjoint(variables)
            by_place.setdefault((barrier if late else depth, late), []).append(condition)
        return {place: tuple(by_place[place]) for place in sorted(by_place)}

    def _shares_inside(self, stage: str, loop: str) -> bool:
        """Whether a stage in shared memory is computed at the loop, however deep."""
        return any(
            self.schedule.stages[guest].scope == "shared"
            or any(self._shares_inside(guest, g) for g in self.guests[guest])
            for guest in self.guests[stage].get(loop, ())
        )


def place(schedule: Schedule) -> dict[str, Placement]:
    """Every stage in its place, consumers before producers.

    ValueError where a stage is read outside its place.
    """
    placer = _Placer(schedule)
    for stage in reversed(tuple(schedule.stages.values())):
        placer.place(stage)
    return placer.placed


def _is_thread(kind: LoopKind) -> bool:
    return kind.startswith("threadIdx") or kind == "vthread"


def _thread_of(kind: LoopKind, around: tuple[PlacedLoop, ...]) -> PlacedLoop | None:
    if not kind.startswith("threadIdx"):
        return None
    return next((other for other in around if other.kind == kind), None)


def _overhung(
    stage: ComputeStage, region: tuple[int, ...], extents: Mapping[str, int]
) -> tuple[int, ...]:
    """The region with whole tiles along the axes whose tiles overhang."""
    whole = {
        relation.parent: prod(extents[child] for child in relation.children)
        for relation in stage.relations
        if isinstance(relation, Split) and relation.parent in stage.overhangs
    }
    pairs = zip(stage.axes, region, strict=True)
    return tuple(whole.get(axis.name, extent) for axis, extent in pairs)


def _reads(value: Value, point: Mapping[Var, Affine], facts: Facts) -> dict[int, Read]:
    """What a value reads at a point, by identity; not what stands where selects never look."""
    found: dict[int, Read] = {}
    # what is unrolled reads by few indexes, again and again
    known: dict[int, Affine] = {}
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, Op):
            taken = facts.truth(one.args[0], point) if one.name == "select" else None
            pending += one.args[::-1] if taken is None else [one.args[1 if taken else 2]]
        elif isinstance(one, Read) and id(one) not in found:
            for index in one.indices:
                if id(index) not in known:
                    known[id(index)] = simplify_div_mod(index.substitute(point, facts.bounds))
            found[id(one)] = Read(one.tensor, tuple([known[id(index)] for index in one.indices]))
            pending += values_inside(one)
    return found
