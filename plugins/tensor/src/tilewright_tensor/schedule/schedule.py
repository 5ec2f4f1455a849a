"""Schedules: how a compute DAG is carried out, as a list of primitive steps that replays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from tilewright_tensor.expressions.buffer import Scope
from tilewright_tensor.ir.dag import Dag
from tilewright_tensor.ir.loop_ir import LoopKind
from tilewright_tensor.ir.tensor_instruction import TensorInstruction
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule import rewrite
from tilewright_tensor.schedule.compute_stage import ComputeStage, Fuse, PrefetchNote, Split
from tilewright_tensor.schedule.schedule_state import Name, ScheduleState, name_of

_ATTACHED = tuple(scope for scope in get_args(Scope) if scope != "global")
_BINDINGS = tuple(kind for kind in get_args(LoopKind) if "Idx" in kind or kind == "vthread")


@dataclass(frozen=True)
class Schedule(ScheduleState):
    """An immutable state; every primitive gives a new one with one more step.

    A stage starts with one serial loop an axis, named as the axis, reductions innermost. `split`
    of `x` makes `x.0`, `x.1`, ... outermost first; `fuse` of `n` and `y` makes `n@y`. Wrong
    arguments are ValueErrors that say which.
    """

    @classmethod
    def of(cls, dag: Dag) -> Schedule:
        """Every stage by itself, in serial loops."""
        return cls(dag, {tensor.name: ComputeStage.of(tensor) for tensor in dag.computes}, {})

    @classmethod
    def replay(
        cls,
        dag: Dag,
        steps: Sequence[Sequence[Any]],
        instructions: Mapping[str, TensorInstruction] = {},
    ) -> Schedule:
        """The schedule that the steps of another one give; equal steps, equal schedule.

        `instructions` by name are those that `tensorize` steps name.
        """
        schedule = cls.of(dag)
        for primitive, *arguments in steps:
            if primitive == "tensorize" and arguments[2] in instructions:
                arguments[2] = instructions[arguments[2]]
            if primitive not in PRIMITIVES:
                raise ValueError(
                    f"no primitive named '{primitive}', there are {', '.join(PRIMITIVES)}"
                )
            schedule = getattr(schedule, primitive)(*arguments)
        return schedule

    def loops(self, stage: Name) -> tuple[str, ...]:
        """Names of the stage's loops, outermost first."""
        return self._stage("loops", stage).loops

    # --- loops of one stage -----------------------------------------------------------------------

    def split(self, stage: Name, loop: str, factors: Sequence[int]) -> Schedule:
        """`loop` becomes `loop.0` ... `loop.N`, outermost first.

        The factors are the extents of all but the outermost, which covers the rest. Where they do
        not divide, the tail is guarded, or peeled off serial loops.
        """
        found = self._stage("split", stage)
        position = self._loop("split", found, loop)
        if not factors or any(not isinstance(f, int) or f < 1 for f in factors):
            raise ValueError(
                f"argument 3, 'factors' of split: expected integers of at least 1, got {factors}"
            )
        children = tuple(f"{loop}.{i}" for i in range(len(factors) + 1))
        return self._changed(
            ("split", found.name, loop, tuple(factors)),
            found.changed(
                loops=found.loops[:position] + children + found.loops[position + 1 :],
                relations=(*found.relations, Split(loop, children, tuple(factors))),
                kinds={name: kind for name, kind in found.kinds.items() if name != loop},
            ),
        )

    def fuse(self, stage: Name, loops: Sequence[str]) -> Schedule:
        """Adjacent loops, outermost first, become one, named `a@b@c`.

        Of none there is a new outermost loop, `once`: what the nest of a scalar can be bound by.
        """
        found = self._stage("fuse", stage)
        positions = [self._loop("fuse", found, loop, "loops") for loop in loops]
        first = positions[0] if positions else 0
        if len(loops) == 1 or positions != list(range(first, first + len(loops))):
            raise ValueError(
                f"argument 2, 'loops' of fuse: {', '.join(loops)} are not two or more neighbours "
                f"in this order, "
                f"loops of {found.name} are {', '.join(found.loops)}"
            )
        reductions = found.reductions()
        if len({loop in reductions for loop in loops}) > 1:
            raise ValueError(
                f"argument 2, 'loops' of fuse: {', '.join(loops)} mix reduction and spatial loops"
            )
        child = "@".join(loops) or "once"
        return self._changed(
            ("fuse", found.name, tuple(loops)),
            found.changed(
                loops=(*found.loops[:first], child, *found.loops[first + len(loops) :]),
                relations=(*found.relations, Fuse(tuple(loops), child)),
                kinds={name: kind for name, kind in found.kinds.items() if name not in loops},
            ),
        )

    def reorder(self, stage: Name, loops: Sequence[str]) -> Schedule:
        """The named loops, in this order, take the places that they held together.

        Others stay where they are.
        """
        found = self._stage("reorder", stage)
        places = sorted(self._loop("reorder", found, loop, "loops") for loop in loops)
        if len(set(places)) != len(loops):
            raise ValueError(
                f"argument 2, 'loops' of reorder: a loop occurs twice in {', '.join(loops)}"
            )
        order = list(found.loops)
        for place, loop in zip(places, loops, strict=True):
            order[place] = loop
        return self._changed(
            ("reorder", found.name, tuple(loops)), found.changed(loops=tuple(order))
        )

    def unroll(self, stage: Name, *loops: str) -> Schedule:
        """Code generation repeats the body for every value of each loop."""
        return self._annotated("unroll", stage, loops, "unrolled")

    def vectorize(self, stage: Name, loop: str) -> Schedule:
        """Code generation makes one vector operation of it.

        The loop has to be the innermost, and no reduction.
        """
        return self._annotated("vectorize", stage, (loop,), "vectorized")

    def parallel(self, stage: Name, loop: str) -> Schedule:
        """Iterations run on several threads."""
        return self._annotated("parallel", stage, (loop,), "parallel")

    def bind(self, stage: Name, loop: str, thread: LoopKind) -> Schedule:
        """The loop runs over a GPU's blocks or threads: `blockIdx.x` ... `threadIdx.z`, `vthread`.

        A stage inside the loops of another shares the other's threads.
        """
        if thread not in _BINDINGS:
            raise ValueError(
                f"argument 3, 'thread' of bind: expected one of {', '.join(_BINDINGS)}, "
                f"got {thread!r}"
            )
        return self._annotated("bind", stage, (loop,), thread)

    def prefetch(
        self,
        stage: Name,
        loop: str,
        tensor: Name,
        offset_bytes: int,
        step: int | None = None,
    ) -> Schedule:
        """The loop's body first fetches ahead of where the stage first reads the tensor there.

        With a `step`, ahead of where it does in the loop's first turn, and so many elements more
        every turn: what is read after the loop is fetched evenly while it runs.
        """
        found = self._stage("prefetch", stage)
        self._loop("prefetch", found, loop)
        name = name_of(tensor)
        if not found.reads(name):
            raise ValueError(
                f"argument 3, 'tensor' of prefetch: {found.name} does not read '{name}'"
            )
        note = PrefetchNote(loop, name, offset_bytes, step)
        return self._changed(
            ("prefetch", found.name, loop, name, offset_bytes, step),
            found.changed(prefetches=(*found.prefetches, note)),
        )

    def tensorize(self, stage: Name, loop: str, instruction: TensorInstruction) -> Schedule:
        """The loop and all inside it are one instruction of the target.

        They have to be the loops of its meaning: their number and extents are compared here, the
        expression, its operands' data types and how they lie when the schedule is lowered.
        """
        found = self._stage("tensorize", stage)
        inside = found.loops[self._loop("tensorize", found, loop) :]
        if not isinstance(instruction, TensorInstruction):
            raise TypeError(
                "argument 3, 'instruction' of tensorize: expected a TensorInstruction, "
                f"got {instruction!r}; replay takes them by name"
            )
        axes = instruction.meaning.axes + instruction.meaning.reduce_axes
        extents, reductions = found.full_extents(), found.reductions()
        have = [f"{'+' * (name in reductions)}{extents[name]}" for name in inside]
        reduced = {axis.name for axis in instruction.meaning.reduce_axes}
        want = [f"{'+' * (axis.name in reduced)}{axis.extent}" for axis in axes]
        if have != want:
            raise ValueError(
                f"argument 2, 'loop' of tensorize: from {loop} on, loops of {found.name} run "
                f"{', '.join(have)} times, {instruction} wants {', '.join(want)} (+ is a reduction)"
            )
        return self._changed(
            ("tensorize", found.name, loop, instruction.name),
            found.changed(instruction=(loop, instruction)),
        )

    def pipeline(self, stage: Name, loop: str, tiles: int) -> Schedule:
        """What is computed at the loop in shared memory is copied there `tiles - 1` turns ahead.

        The stages there have to copy or be cheap, and read none of each other. The copies go on
        while the loop computes, as in the multi-stage kernels of CUTLASS.
        """
        found = self._stage("pipeline", stage)
        self._loop("pipeline", found, loop)
        if tiles < 2:
            raise ValueError(f"argument 3, 'tiles' of pipeline: expected at least 2, got {tiles}")
        return self._changed(
            ("pipeline", found.name, loop, tiles),
            found.changed(pipelines={**found.pipelines, loop: tiles}),
        )

    # --- where stages are computed, and what they compute -----------------------------------------

    def compute_at(
        self, stage: Name, consumer: Name, loop: str, scope: Scope | None = None
    ) -> Schedule:
        """The stage is computed inside the consumer's loop, as much of it as is read there.

        It lives in the scope given, else in the one it has from `cache_read` or `cache_write`,
        else in `local`.
        """
        found, target = (
            self._stage("compute_at", stage),
            self._stage("compute_at", consumer, 2, "consumer"),
        )
        self._loop("compute_at", target, loop, position=3)
        chosen: Scope = scope or ("local" if found.scope == "global" else found.scope)
        if chosen not in _ATTACHED:
            raise ValueError(
                "argument 4, 'scope' of compute_at: "
                f"expected {', '.join(_ATTACHED[:-1])} or {_ATTACHED[-1]}, got {chosen!r}"
            )
        if found.name in {tensor.name for tensor in self.dag.outputs}:
            raise ValueError(f"argument 1, 'stage' of compute_at: {found.name} is an output")
        at: str | None = target.name
        while at is not None:
            if at == found.name:
                raise ValueError(
                    f"argument 2, 'consumer' of compute_at: {target.name} is inside {found.name}"
                )
            attach = self.stages[at].attach
            at = attach[0] if attach else None
        return self._changed(
            ("compute_at", found.name, target.name, loop, chosen),
            found.changed(attach=(target.name, loop), scope=chosen),
        )

    def inline(self, stage: Name) -> Schedule:
        """Readers compute the element themselves; the stage is removed."""
        found = self._stage("inline", stage)
        if found.combiner is not None:
            raise ValueError(f"argument 1, 'stage' of inline: {found.name} is a reduction")
        if found.name in {tensor.name for tensor in self.dag.outputs}:
            raise ValueError(f"argument 1, 'stage' of inline: {found.name} is an output")
        if guests := [
            s.name for s in self.stages.values() if s.attach and s.attach[0] == found.name
        ]:
            raise ValueError(
                "argument 1, 'stage' of inline: "
                f"{', '.join(guests)} is computed inside {found.name}"
            )
        return self._rewritten(("inline", found.name), rewrite.inlined(self.stages, found.name))

    def cache_read(self, tensor: Name, scope: Scope, readers: Sequence[Name]) -> Schedule:
        """The readers read a copy of the tensor, a new stage named `TENSOR.SCOPE`."""
        name, names = name_of(tensor), tuple(map(name_of, readers))
        placeholders = {one.name: one for one in self.dag.inputs}
        source = placeholders.get(name) or self._stage("cache_read", name, 1, "tensor").tensor
        for reader in names:
            if not self._stage("cache_read", reader, 3, "readers").reads(name):
                raise ValueError(
                    f"argument 3, 'readers' of cache_read: {reader} does not read '{name}'"
                )
        return self._rewritten(
            ("cache_read", name, scope, names),
            rewrite.with_cached_read(self.stages, source, scope, names),
        )

    def cache_write(self, stage: Name, scope: Scope) -> Schedule:
        """A new stage `STAGE.SCOPE` computes what the stage did, with its loops.

        The stage copies the result.
        """
        found = self._stage("cache_write", stage)
        return self._rewritten(
            ("cache_write", found.name, scope),
            rewrite.with_cached_write(self.stages, found.name, scope),
        )

    def rfactor(self, stage: Name, loop: str) -> Schedule:
        """A new stage `STAGE.rf` with the reduction loop as its last axis reduces the rest.

        The stage reduces that.
        """
        found = self._stage("rfactor", stage)
        self._loop("rfactor", found, loop)
        if loop not in found.reductions():
            raise ValueError(
                f"argument 2, 'loop' of rfactor: '{loop}' is no reduction loop of {found.name}"
            )
        return self._rewritten(
            ("rfactor", found.name, loop),
            rewrite.with_factored_reduction(self.stages, found.name, loop),
        )

    def transform_layout(self, tensor: Name, layout: str) -> Schedule:
        """The tensor's memory, operand or not, is arranged in the layout.

        The computation stays as it is.
        """
        name = name_of(tensor)
        if name not in {one.name for one in self.dag.inputs}:
            self._stage("transform_layout", name, 1, "tensor")
        layouts = {**self.layouts, name: Layout.parse(layout)}
        return replace(
            self, layouts=layouts, steps=(*self.steps, ("transform_layout", name, layout))
        )

    def overhang(self, stage: Name, loop: str) -> Schedule:
        """Tiles of the loop that reach beyond its end compute what is there, without guards.

        For formats whose blocks are padded with zeros: products with them add nothing, and what is
        computed beyond the end of an axis of the stage is never stored.
        """
        found = self._stage("overhang", stage)
        known = {axis.name for axis in found.axes + found.reduce_axes}
        known |= {one.parent for one in found.relations if isinstance(one, Split)}
        if loop not in known:
            raise ValueError(
                f"argument 2, 'loop' of overhang: {found.name} has no axis or split loop '{loop}', "
                f"there are {', '.join(sorted(known))}"
            )
        return self._changed(
            ("overhang", found.name, loop),
            found.changed(overhangs=found.overhangs | {loop}),
        )

    def storage_align(self, stage: Name, factor: int, offset: int) -> Schedule:
        """Rows of the stage's scratch lie a multiple of `factor` plus `offset` elements apart.

        What lies beyond a row is never read. So columns of shared memory fall into different banks.
        """
        found = self._stage("storage_align", stage)
        if factor < 1 or not 0 <= offset < factor:
            raise ValueError(
                f"argument 3, 'offset' of storage_align: expected 0 to {factor - 1}, got {offset}"
            )
        return self._changed(
            ("storage_align", found.name, factor, offset),
            found.changed(row_align=(factor, offset)),
        )


PRIMITIVES: Mapping[str, Callable[..., Schedule]] = {
    method.__name__: method
    for method in (
        Schedule.split, Schedule.fuse, Schedule.reorder, Schedule.unroll, Schedule.vectorize,
        Schedule.parallel, Schedule.bind, Schedule.prefetch, Schedule.compute_at, Schedule.inline,
        Schedule.cache_read, Schedule.cache_write, Schedule.rfactor, Schedule.transform_layout,
        Schedule.storage_align, Schedule.pipeline, Schedule.tensorize, Schedule.overhang,
    )
}  # fmt: skip
