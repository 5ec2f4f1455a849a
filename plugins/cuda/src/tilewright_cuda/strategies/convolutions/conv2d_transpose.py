"""Transposed convolution as a batch of matrix products without a copy of the image.

One product a residue of the strides, so that none multiplies zeros that lie between pixels; the
taps that some residues lack are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_cuda.passes.skipped_steps import skip_zero_steps
from tilewright_cuda.strategies.tiles.adoption import image_tile
from tilewright_cuda.strategies.tiles.image_layouts import IMAGE_LAYOUTS
from tilewright_cuda.strategies.tiles.image_product import ImageProduct
from tilewright_cuda.strategies.tiles.tile import fits_grid
from tilewright_tensor.algorithms.matrix_product import MatrixProduct
from tilewright_tensor.algorithms.transposed_convolution import TransposedConvolution
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.logs.autotvm_templates import template_of
from tilewright_tensor.logs.nearest import nearest
from tilewright_tensor.lowering.program_pass import ProgramPass
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.strategies.scheduled_implementation import constants, is_float32


class Conv2dTranspose(ImageProduct):
    """Transposed convolutions without groups."""

    name = "conv2d_transpose.cuda"

    def applies(self, task: Task) -> bool:
        """float32 without groups, where a grid has the blocks."""
        return (
            is_float32(task)
            and task.workload.attributes["groups"] == 1
            and all(fits_grid(self.product(task, layout)) for layout in IMAGE_LAYOUTS)
        )

    def adopt_config(self, task: Task, foreign: ConfigEntity) -> ConfigEntity | None:
        """AutoTVM's template: its tiles of filters and pixels are ours, in NCHW."""
        if template_of(foreign) != "conv2d_transpose_nchw.cuda":
            return None
        wanted = {**image_tile(foreign), "bk": foreign["tile_rc"][-1]}
        return nearest(self.alternatives(task)[IMAGE_LAYOUTS.index("NCHW")], wanted)

    def passes(self, task: Task, config: ConfigEntity) -> Sequence[ProgramPass]:
        """Steps of the depth whose tap the residue lacks are left out."""
        del task, config
        return [skip_zero_steps]

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Residues apart, then the product's tile."""
        final = schedule.dag.outputs[0].name
        _, _, *places = schedule.loops(final)
        for loop, stride in zip(places, task.workload.attributes["strides"], strict=True):
            schedule = schedule.split(final, loop, [stride])
        return super().scheduled(task, config, schedule)

    def product(
        self, task: Task, layout: str, tensors: Sequence[Tensor] = (), step: int = 1
    ) -> MatrixProduct:
        """One product a residue of the strides."""
        anchor = task.workload.anchor
        form = TransposedConvolution.of(anchor, self.operators.output(anchor).shape, step)
        return form.product(layout, packed=1 in constants(task), tensors=tensors)


make = Conv2dTranspose
