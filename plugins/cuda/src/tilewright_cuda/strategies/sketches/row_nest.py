"""Reductions across threads: a block goes through a row together, then stores what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilewright.space.knobs import Knobs
from tilewright_cuda.strategies.sketches.thread_nest import unblocked
from tilewright_cuda.strategies.tiles.rows import RowThreads
from tilewright_tensor.expressions.buffer import Scope
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.access import readers, reads, reduction_size, single_var
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.sketches.structure.open_nest import OpenNest, Values
from tilewright_tensor.sketches.structure.sketch_input import SketchInput
from tilewright_tensor.sketches.structure.vectors import Vectors

_THREADS = (32, 64, 128, 256, 512)


@dataclass(frozen=True, eq=False)
class RowNest(OpenNest):
    """A storing stage and the reductions of its rows.

    stage    what stores
    members  reductions that only the storing stage and each other read, consumers first
    """

    members: tuple[str, ...] = ()

    def joined_by(self, member: str) -> RowNest:
        """With one more reduction."""
        return replace(self, members=(*self.members, member))

    def takes(self, schedule: Schedule, name: str) -> bool:
        """Whether a reduction is over what the rows share: its axes are the first of the stage."""
        known = {self.stage, *self.members}
        return set(readers(schedule, name)) <= known and all(
            self._leads(schedule, reader, name) for reader in readers(schedule, name)
        )

    def with_vectors(self, vectors: Vectors) -> RowNest:
        """The same in unblocked layouts."""
        return replace(self, vectors=unblocked(vectors))

    def declare(self, problem: SketchInput, schedule: Schedule, knobs: Knobs) -> None:
        """Threads of a block."""
        most = max(reduction_size(schedule.stages[name]) for name in self.members)
        knobs.define_knob("threads", [n for n in _THREADS if n == _THREADS[0] or n <= most])

    def apply(
        self, problem: SketchInput, s: Schedule, values: Values, layouts: Mapping[str, Layout]
    ) -> Schedule:
        """A block a row; the rest of the storing stage over its threads."""
        threads = RowThreads(1, values["threads"])
        rows = len(s.stages[self.members[0]].axes)
        own = s.loops(self.stage)[: len(s.stages[self.stage].axes)]
        around, columns = own[:rows], own[rows:]
        scope: Scope = "shared"
        s, at = fused(s, self.stage, around)
        s = s.bind(self.stage, at, "blockIdx.x")
        if columns:
            s, column = fused(s, self.stage, columns)
            s = s.split(self.stage, column, [threads.threads])
            lane, step = f"{column}.1", f"{column}.0"
            s = s.reorder(self.stage, [lane, step]).bind(self.stage, lane, threads.along)
            at, scope = lane, "register"
        for name in self.members:
            sums = s.loops(name)[len(s.stages[name].axes) :]
            s, _ = fused(s, name, sums)
            s = threads.reduced(s, name, self.stage, at, scope)
        return s

    def cost(self, problem: SketchInput, schedule: Schedule, values: Values) -> float:
        """About eight terms a thread."""
        terms = max(reduction_size(schedule.stages[name]) for name in self.members)
        threads: int = values["threads"]
        return abs(threads - max(32, terms / 8)) / 1024

    def _leads(self, schedule: Schedule, reader: str, name: str) -> bool:
        stage = schedule.stages[reader]
        axes = [axis.var for axis in stage.axes]
        count = len(schedule.stages[name].axes)
        return count > 0 and all(
            [single_var(one) for one in read.indices] == axes[:count]
            and not any(one.constant for one in read.indices)
            for read in reads(stage)
            if read.tensor.name == name
        )
