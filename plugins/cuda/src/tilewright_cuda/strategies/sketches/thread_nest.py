"""A stage in a launch of its own, a thread an element."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilewright.space.knobs import Knobs
from tilewright_cuda.strategies.tiles.thread_loops import one_thread_an_element
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.open_nest import OpenNest, Values
from tilewright_tensor.sketches.structure.sketch_input import SketchInput
from tilewright_tensor.sketches.structure.vectors import Vectors


@dataclass(frozen=True, eq=False)
class ThreadNest(OpenNest):
    """What no other rule takes; the knob is the number of threads of a block."""

    def with_vectors(self, vectors: Vectors) -> ThreadNest:
        """The same in every possible unblocked layout."""
        return replace(self, vectors=unblocked(vectors))

    def declare(self, problem: SketchInput, schedule: Schedule, knobs: Knobs) -> None:
        """Threads of a block."""
        knobs.define_knob(f"{self.stage}.block", [64, 128, 256, 512])

    def apply(
        self, problem: SketchInput, s: Schedule, values: Values, layouts: Mapping[str, Layout]
    ) -> Schedule:
        """Blocks and threads over the stage as its memory lies."""
        loops = s.loops(self.stage)
        axes = loops[: len(s.stages[self.stage].axes)]
        order = [axes[dim.axis] for dim in layouts[self.stage].dims] if axes else []
        s = s.reorder(self.stage, [*order, *loops[len(axes) :]]) if order else s
        return one_thread_an_element(s, self.stage, values[f"{self.stage}.block"])

    def cost(self, problem: SketchInput, schedule: Schedule, values: Values) -> float:
        """256 threads are a good start."""
        block: int = values[f"{self.stage}.block"]
        return abs(block - 256) / 1024


def unblocked(vectors: Vectors) -> Vectors:
    """Without vectors and layouts in blocks: here, neighbouring threads take what lies together."""
    kept = tuple(
        choice
        for choice in vectors.choices
        if all(max(Layout.parse(text).blocks, default=1) == 1 for text in choice)
    )
    return replace(vectors, axis=None, width=1, choices=kept or vectors.choices[:1])
