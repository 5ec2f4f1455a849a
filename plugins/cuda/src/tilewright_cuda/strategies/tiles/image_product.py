"""What convolutions as one product of matrices have in common: the tile, in either layout."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.strategies.strategy import variant_of
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_cuda.program.arch import arch_of
from tilewright_cuda.strategies.tiles.image_layouts import IMAGE_LAYOUTS
from tilewright_cuda.strategies.tiles.tile import Tile, define_tile, fallback_tile
from tilewright_tensor.algorithms.matrix_product import MatrixProduct, Padded
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import Dag
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import inlined_behind
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    constants,
    epilogue_layouts,
)


class ImageProduct(ScheduledImplementation):
    """Pixels times filters; an alternative a layout, a tile of the product in its knobs."""

    @abstractmethod
    def product(
        self, task: Task, layout: str, tensors: Sequence[Tensor] = (), step: int = 1
    ) -> MatrixProduct:
        """The product of the task's anchor, whose depth is taken in steps of so many."""

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """The tile, in either layout."""
        found = []
        for layout in IMAGE_LAYOUTS:
            knobs = Knobs(f"{self.name}/{layout}")
            define_tile(knobs, self.product(task, layout), arch_of(task.target))
            found.append(knobs.alternative())
        return found

    def fallback(self, task: Task) -> ConfigEntity:
        """A tile that fills the GPU, in NHWC."""
        tile = fallback_tile(self.product(task, "NHWC"), arch_of(task.target))
        return ConfigEntity(f"{self.name}/NHWC", tile.values)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Images as the alternative is named; constant filters side by side."""
        image = variant_of(config.strategy)
        filters = "HWIO" if 1 in constants(task) else "OIHW"
        epilogue = epilogue_layouts(task, 2, image)
        return Layouts((image, filters, *epilogue), (image,), constants(task))

    def variant(self, task: Task, config: ConfigEntity) -> tuple[str, int, Padded]:
        """Layout, steps of the depth and padded extents of the product."""
        layout, step = variant_of(config.strategy), config["bk"]
        product = self.product(task, layout, step=step)
        return layout, step, Tile.of(config.values).padded(product)

    def dag(self, task: Task, variant: tuple[str, int, Padded]) -> Dag:
        """The product of the padded tiles of filters and pixels."""
        layout, step, padded = variant
        return self.operators.compute_dag(
            task.workload,
            lambda tensors, _: self.product(task, layout, tensors, step).computed(padded),
        )

    def start(self, task: Task, variant: tuple[str, int, Padded]) -> Schedule:
        """What follows the product is computed where the output is stored."""
        return inlined_behind(super().start(task, variant), "product")

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """The product's tile."""
        product = self.product(task, variant_of(config.strategy), step=config["bk"])
        return Tile.of(config.values).scheduled(schedule, product)
