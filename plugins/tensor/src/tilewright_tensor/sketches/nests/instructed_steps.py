"""The steps that a point of a tiling around a tensor instruction stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.nests.tiling_steps import TilingSteps
from tilewright_tensor.sketches.structure.instructed import Instructed


@dataclass(frozen=True, eq=False)
class InstructedSteps(TilingSteps):
    """One point of a tiling whose innermost loops, lanes and terms, are an instruction."""

    product: Instructed = field(kw_only=True)

    def _kernel(self, s: Schedule, name: str) -> Schedule:
        """The register tile: lanes beyond the end of their axis are computed and never stored."""
        lanes = self.stage.axes[self.product.lanes].name
        s = super()._kernel(s.overhang(name, lanes), name)
        return s.tensorize(name, f"{lanes}.1", self.product.instruction)

    def _step(self, s: Schedule, name: str, loop: str) -> tuple[Schedule, str]:
        """Groups of terms, the last one filled up with zeros."""
        product, terms = self.product, self.product.terms
        if loop not in (terms.name, f"{terms.name}.1"):
            return s, loop
        if terms.extent % product.group:
            s = s.overhang(name, loop)
        s = s.split(name, loop, [product.group])
        return s.unroll(name, f"{loop}.1"), f"{loop}.0"

    def _tile_loops(
        self, s: Schedule, name: str, around: Sequence[str], tile: Sequence[str]
    ) -> Schedule:
        """As of every tile; the terms of a group are innermost of all."""
        terms = self.product.terms.name
        group = [loop for loop in s.loops(name) if loop in (f"{terms}.1", f"{terms}.1.1")]
        if group:
            s = s.reorder(name, [*(loop for loop in s.loops(name) if loop not in group), *group])
        return super()._tile_loops(s, name, around, tile)

    def _produced(self, s: Schedule, name: str, root: str, outer: str) -> Schedule:
        """A producer in its format; of a copy, terms that fill up the last group are copied."""
        layout = self.layouts[name]
        for axis, block in zip(s.stages[name].axes, layout.blocks, strict=True):
            if name == self.product.shared.name and axis.extent % block:
                s = s.overhang(name, axis.name)
        return super()._produced(s, name, root, outer)
