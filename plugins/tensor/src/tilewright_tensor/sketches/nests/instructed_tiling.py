"""Multi-level tiling around a tensor instruction: the open choices, and the operands' formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import lcm
from typing import ClassVar, Self

from tilewright.space.feasible.constraint import Knob
from tilewright.space.knobs import Knobs
from tilewright_tensor.expressions.tensor import Axis
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.compute_stage import ComputeStage
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.nests.instructed_steps import InstructedSteps
from tilewright_tensor.sketches.nests.packed_constants import packed_layout
from tilewright_tensor.sketches.nests.tiling import Tiling
from tilewright_tensor.sketches.structure.instructed import Factor, Instructed
from tilewright_tensor.sketches.structure.open_nest import Values
from tilewright_tensor.sketches.structure.sketch_input import SketchInput
from tilewright_tensor.sketches.structure.splits import reduction_split, spatial_split, tile_knob
from tilewright_tensor.sketches.structure.vectors import Vectors

_VECTORS = 1, 2, 4
"""So many make a block of a format."""
_IMAGE = 3
"""Fewest axes of what comes in blocks, of any axis but the last."""
_BLOCK = "block_terms"


@dataclass(frozen=True, eq=False)
class InstructedTiling(Tiling):
    """A reduction in tiles whose innermost loops are an instruction.

    Both factors lie as the instruction reads them, in the data type that it takes: operands come
    like this, and what other stages compute is stored like this.
    """

    places: ClassVar[Sequence[str]] = ("root",)
    product: Instructed = field(kw_only=True)

    def with_vectors(self, vectors: Vectors) -> Self:
        """Itself: vectors run along the lanes of the instruction."""
        del vectors
        return self

    def packable(self, problem: SketchInput, stage: ComputeStage) -> tuple[str, ...]:
        """Nothing: what is read lies together."""
        del problem, stage
        return ()

    def streamed(self, problem: SketchInput, stage: ComputeStage) -> dict[str, Axis]:
        """Nothing: the factors lie in tiles."""
        del problem, stage
        return {}

    def apply(
        self, problem: SketchInput, s: Schedule, values: Values, layouts: Mapping[str, Layout]
    ) -> Schedule:
        """The schedule with the stage, its consumer and its producers in their loops."""
        for factor in (self.product.shared, self.product.rows):
            if factor.name in s.stages and factor.name not in self.producers:
                s = s.transform_layout(factor.name, layouts[factor.name].text)
        steps = InstructedSteps(
            self, problem, s.stages[self.stage], values, layouts, product=self.product
        )
        return steps.apply(s, (), {})

    def operand_layout(
        self, problem: SketchInput, schedule: Schedule, name: str, values: Values
    ) -> str | None:
        """Groups of terms innermost; in rows, behind those of a tile of lanes."""
        product = self.product
        for factor in (product.shared, product.rows):
            if name in (factor.name, factor.source):
                letters = (
                    problem.constants.get(factor.source) or Layout.logical(factor.rank).letters
                )
                term = letters[factor.place].lower()
                if factor is product.shared:
                    return f"{letters}{values[_BLOCK]}{term}{_storage(factor)}"
                stage = schedule.stages[self.stage]
                text = self._rows(stage, letters, values)
                return f"{text}{product.group}{term}{_storage(factor)}"
        return None

    def _rows(self, stage: ComputeStage, letters: str, values: Values) -> str:
        """Rows in groups of terms, in the order in which the kernel reads them where it can be."""
        product = self.product
        outer, inner = reduction_split(values, product.terms)
        grouped = {**values, tile_knob(product.terms.name): (outer, -(-inner // product.group))}
        name, lanes = product.rows.name, stage.axes[product.lanes]
        if text := packed_layout(stage, name, letters, self.vectors, grouped):
            return text
        place = product.rows.read.indices.index(lanes.affine())
        return f"{letters}{spatial_split(values, lanes)[-1]}{letters[place].lower()}"

    # --- knobs ------------------------------------------------------------------------------------

    def _extent(self, stage: ComputeStage, axis: Axis) -> int:
        """Lanes beyond the end of their axis are computed, too, and dropped."""
        unit = self._unit(stage, axis)
        return -(-axis.extent // unit) * unit

    def _reductions(self, stage: ComputeStage, axis: Axis) -> Sequence[tuple[int, int]]:
        """Cut between groups."""
        found, product = super()._reductions(stage, axis), self.product
        if axis != product.terms:
            return found
        return [(outer, inner) for outer, inner in found if outer == 1 or not inner % product.group]

    def _cuts(self, stage: ComputeStage) -> bool:
        """Between blocks as well, where terms of the shared factor are in blocks."""
        return super()._cuts(stage) or self._is_blocked

    def _constrain_blocks(self, stage: ComputeStage, knobs: Knobs) -> None:
        """The block of terms in the shared factor; the inner reduction runs over one."""
        del stage
        chosen, terms = knobs.define_knob(_BLOCK, self._blocks), self.product.terms
        if self._is_blocked and tile_knob(terms.name) in knobs.names:
            inner = Knob(tile_knob(terms.name))[-1]
            for block in self._blocks:
                knobs.constrain((chosen != block) | (inner == min(block, terms.extent)))

    @property
    def _blocks(self) -> list[int]:
        """Terms side by side in the shared factor: in rows a group.

        In images vectors of channels where these divide them, else all; groups and vectors are
        filled up.
        """
        product, extent = self.product, self.product.terms.extent
        if not self._is_blocked:
            return [product.group]
        vector, groups = lcm(product.width, product.group), -(-extent // product.group)
        whole = [n * vector for n in _VECTORS if extent % (n * vector) == 0]
        filled = groups * product.group
        if filled != extent and filled > product.width:
            filled = -(-extent // vector) * vector
        return whole or [filled]

    @property
    def _is_blocked(self) -> bool:
        """Whether terms are not along the last axis of the shared factor, an image."""
        shared = self.product.shared
        return _IMAGE <= shared.rank != shared.place + 1


def lanes_of(
    problem: SketchInput, stage: ComputeStage, product: Instructed, consumer: str
) -> Vectors:
    """Vectors along the lanes of a product, and layouts of the output where its consumer is that.

    Lanes that are not its last axis lie apart or, as channels of images do, in blocks, which are
    stored in the data type that products read.
    """
    rank = len(problem.dag.outputs[0].shape)
    texts = [Layout.logical(rank).text]
    if consumer == problem.output and _IMAGE <= rank != product.lanes + 1:
        extent = stage.shape[product.lanes]
        whole = [n * product.width for n in _VECTORS if extent % (n * product.width) == 0]
        letter = texts[0][product.lanes].lower()
        dtype = _storage(product.shared)
        texts += [f"{texts[0]}{block}{letter}{dtype}" for block in whole or [extent]]
    return Vectors(product.lanes, product.width, (), tuple((text,) for text in texts))


def _storage(factor: Factor) -> str:
    """The end of a format that says what a factor is stored as."""
    return "" if factor.read.tensor.dtype == factor.dtype else f":{factor.dtype}"
