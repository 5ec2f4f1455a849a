"""Sums, means and maxima over some axes, threads of a block sharing each of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.strategies.strategy import variant_of
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_cuda.strategies.tiles.image_layouts import image_layouts
from tilewright_cuda.strategies.tiles.rows import (
    Rows,
    RowThreads,
    define_row_threads,
    fallback_row_threads,
)
from tilewright_tensor.expressions.expr import Value
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.ir.dag import Dag, compute, reduce_axis, reduce_max, reduce_sum
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.operators.definition.places import axis_names
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    constants,
    epilogue_layouts,
    is_float32,
)


class BlockReduction(ScheduledImplementation):
    """Reductions over axes and global average pooling."""

    name = "reduction.cuda"

    def applies(self, task: Task) -> bool:
        """float32."""
        return is_float32(task)

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Threads of a row and rows of a block, in each layout."""
        found = []
        for layout in self._layouts(task):
            knobs = Knobs(f"{self.name}/{layout}")
            define_row_threads(knobs, _rows(task), contiguous=_contiguous(task, layout))
            found.append(knobs.alternative())
        return found

    def fallback(self, task: Task) -> ConfigEntity:
        """As many threads as a row keeps busy."""
        layout = self._layouts(task)[-1]
        values = fallback_row_threads(_rows(task), contiguous=_contiguous(task, layout))
        return ConfigEntity(f"{self.name}/{layout}", values)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """The alternative's."""
        layout = variant_of(config.strategy)
        output = self.operators.output(task.workload).shape
        result = layout if len(output) == 4 else Layout.logical(len(output)).text
        return Layouts((layout, *epilogue_layouts(task, 1, result)), (result,), constants(task))

    def dag(self, task: Task, variant: None) -> Dag:
        """A total a row, and from it the output."""
        return self.operators.compute_dag(task.workload, partial(_computed, task))

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Rows over blocks and threads, and threads within them."""
        layout = variant_of(config.strategy)
        threads = RowThreads.of(config.values, contiguous=_contiguous(task, layout))
        s, final = schedule, schedule.dag.outputs[0].name
        for tensor in s.dag.computes[1:-1]:
            s = s.inline(tensor)
        s, row = fused(s, final, s.loops(final))
        s = s.split(final, row, [threads.rows])
        s = s.bind(final, f"{row}.0", "blockIdx.x").bind(final, f"{row}.1", threads.across)
        return threads.reduced(s, "row_total", final, f"{row}.1", "shared")

    def _layouts(self, task: Task) -> list[str]:
        shape = task.workload.inputs[0].shape
        free = task.workload.operator == "global_avg_pool2d"
        return image_layouts(shape) if free else [Layout.logical(len(shape)).text]


def _rows(task: Task) -> Rows:
    shape = task.workload.inputs[0].shape
    if task.workload.operator == "global_avg_pool2d":
        return Rows(shape, (2, 3))
    axes = task.workload.attributes["axes"] or range(len(shape))
    return Rows(shape, tuple(sorted(axis % len(shape) for axis in axes)))


def _contiguous(task: Task, layout: str) -> bool:
    """Whether elements of a row lie side by side, and not those of neighbouring rows."""
    return Layout.parse(layout).dims[-1].axis in _rows(task).reduced


def _computed(task: Task, tensors: Sequence[Tensor], attributes: object) -> Tensor:
    anchor, rows = task.workload.anchor, _rows(task)
    data = tensors[0]
    combine = reduce_max if anchor.operator == "reduce_max" else reduce_sum
    k = reduce_axis(rows.length, "k")
    total = compute("row_total", (rows.count,), lambda row: combine(data[rows.place(row, k)], k))
    keeps = anchor.operator == "global_avg_pool2d" or anchor.attributes["keepdims"]
    rank = len(data.shape)
    kept = [axis for axis in range(rank) if axis not in rows.reduced]
    shape = tuple(
        1 if axis in rows.reduced else data.shape[axis] for axis in (range(rank) if keeps else kept)
    )

    def element(*place: Axis) -> Value:
        known = dict(zip(range(rank) if keeps else kept, place, strict=True))
        found = total[rows.row_of([known.get(axis, 0) for axis in range(rank)])]
        mean = anchor.operator in ("reduce_mean", "global_avg_pool2d")
        return found / rows.length if mean else found

    return compute(anchor.operator, shape, element, axes=axis_names(len(shape)))


make = BlockReduction
