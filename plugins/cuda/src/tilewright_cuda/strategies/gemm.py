"""Dense layers and matrix products, in tiles of shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_cuda.program.arch import arch_of
from tilewright_cuda.strategies.tiles.adoption import block, of_thread
from tilewright_cuda.strategies.tiles.tile import Tile, define_tile, fallback_tile, fits_grid
from tilewright_tensor.algorithms.matrix_product import MatrixProduct, Padded
from tilewright_tensor.expressions.affine import Affine
from tilewright_tensor.expressions.expr import Value, cast
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.ir.dag import Dag, compute
from tilewright_tensor.logs.autotvm_templates import template_of
from tilewright_tensor.logs.nearest import nearest
from tilewright_tensor.operators.definition.places import axis_names
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import inlined_behind
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    is_float32,
    logical_layouts,
)


class Gemm(ScheduledImplementation):
    """`dense` and `matmul`, the batch over the third dimension of the grid."""

    name = "gemm.cuda"

    def applies(self, task: Task) -> bool:
        """float32, of no more columns and batches than a grid has blocks for."""
        return is_float32(task) and fits_grid(self._product(task))

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """The tile."""
        knobs = Knobs(self.name)
        define_tile(knobs, self._product(task), arch_of(task.target))
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """A tile that fills the GPU."""
        return ConfigEntity(
            self.name, fallback_tile(self._product(task), arch_of(task.target)).values
        )

    def adopt_config(self, task: Task, foreign: ConfigEntity) -> ConfigEntity | None:
        """AutoTVM's batch_matmul and large-batch dense: blocks, threads and steps of the depth."""
        if template_of(foreign) == "batch_matmul.cuda":
            rows, columns = foreign["tile_y"], foreign["tile_x"]
        elif template_of(foreign).startswith("dense_large_batch."):
            rows, columns = foreign["tile_x"], foreign["tile_y"]
        else:
            return None
        wanted = {
            "bm": block(rows),
            "bn": block(columns),
            "bk": block(foreign["tile_k"]),
            "tm": of_thread(rows),
            "tn": of_thread(columns),
        }
        (alternative,) = self.alternatives(task)
        return nearest(alternative, wanted)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Logical, but for constant weights of a dense layer: the outputs lie together."""
        found = logical_layouts(task, len(self.operators.output(task.workload).shape))
        if task.workload.operator == "dense" and 1 in found.packed:
            found = Layouts((found.inputs[0], "IO", *found.inputs[2:]), found.outputs, found.packed)
        return found

    def variant(self, task: Task, config: ConfigEntity) -> Padded:
        """Padded extents of the product."""
        return Tile.of(config.values).padded(self._product(task))

    def dag(self, task: Task, variant: Padded) -> Dag:
        """The product of padded tiles."""
        return self.operators.compute_dag(
            task.workload, lambda tensors, _: self._product(task, tensors).computed(variant)
        )

    def start(self, task: Task, variant: Padded) -> Schedule:
        """What follows the product is computed where the output is stored."""
        return inlined_behind(super().start(task, variant), "product")

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """The product's tile."""
        return Tile.of(config.values).scheduled(schedule, self._product(task))

    def _product(self, task: Task, tensors: Sequence[Tensor] = ()) -> MatrixProduct:
        anchor = task.workload.anchor
        shape = self.operators.output(anchor).shape
        first, second = (spec.shape for spec in anchor.inputs)
        if anchor.operator == "dense":
            packed = anchor.inputs[1].role == "constant"
            rows, columns = shape
            return MatrixProduct(
                1, rows, columns, first[1],
                lambda _, m, k: tensors[0][m, k],
                lambda _, k, n: tensors[1][n, k],
                lambda product: compute("dense", shape, lambda n, o: product[0, n, o]),
                (), (0,), (1,),
                column_runs=shape[1],
                left_runs=first[1], left_along_depth=True,
                right_runs=shape[1] if packed else first[1], right_along_depth=not packed,
            )  # fmt: skip
        batch, rank, dtype = shape[:-2], len(shape), self.operators.output(anchor).dtype

        def places(b: Axis, of: Sequence[int]) -> tuple[Affine | int, ...]:
            """Where in its own batch a factor is read; 0 where it is broadcast."""
            place: list[Affine | int] = []
            rest = b.affine()
            for number, extent in enumerate(reversed(batch), 1):
                own = of[-number] if number <= len(of) else 0
                place += [rest % extent if own == extent else 0] if own else []
                rest = rest // extent
            return tuple(reversed(place))

        def result(product: Tensor) -> Tensor:
            def element(*place: Axis) -> Value:
                number: Affine | int = 0
                for axis, extent in zip(place[:-2], batch, strict=True):
                    number = number * extent + axis
                return product[number, place[-2], place[-1]]

            return compute("matmul", shape, element, axes=axis_names(rank))

        return MatrixProduct(
            prod(batch), shape[-2], shape[-1], first[-1],
            lambda b, m, k: cast(tensors[0][(*places(b, first[:-2]), m, k)], dtype),
            lambda b, k, n: cast(tensors[1][(*places(b, second[:-2]), k, n)], dtype),
            result,
            tuple(range(rank - 2)), (rank - 2,), (rank - 1,),
            column_runs=shape[-1],
            left_runs=first[-1], left_along_depth=True,
            right_runs=shape[-1],
        )  # fmt: skip


make = Gemm
