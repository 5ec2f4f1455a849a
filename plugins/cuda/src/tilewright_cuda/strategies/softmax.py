"""Softmax: the threads of a row find its maximum and its sum together, then each its elements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tilewright.space.alternative import Alternative
from tilewright.space.feasible.constraint import Knob
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_cuda.program.arch import SHARED_EVERYWHERE
from tilewright_cuda.strategies.tiles.rows import (
    Rows,
    RowThreads,
    define_row_threads,
    fallback_row_threads,
)
from tilewright_tensor.expressions.expr import Value, exp
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.ir.dag import Dag, compute, reduce_axis, reduce_max, reduce_sum
from tilewright_tensor.operators.definition.places import axis_names
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    is_float32,
    logical_layouts,
)


class Softmax(ScheduledImplementation):
    """Softmax along any axis."""

    name = "softmax.cuda"

    def applies(self, task: Task) -> bool:
        """float32."""
        return is_float32(task)

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Threads of a row, rows of a block, whether exponentials are kept or computed twice."""
        rows = _rows(task)
        knobs = Knobs(self.name)
        define_row_threads(knobs, rows, contiguous=_contiguous(task))
        most = SHARED_EVERYWHERE // (4 * rows.length)
        keep = knobs.define_knob("keep", [False, True] if most else [False])
        if most:
            knobs.constrain((keep == False) | (Knob("rows") <= most))  # noqa: E712
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """As many threads as a row keeps busy."""
        values = fallback_row_threads(_rows(task), contiguous=_contiguous(task))
        return ConfigEntity(self.name, {**values, "keep": False})

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Logical."""
        return logical_layouts(task, len(task.workload.inputs[0].shape))

    def dag(self, task: Task, variant: None) -> Dag:
        """Maximum, exponentials and sum by rows."""
        return self.operators.compute_dag(task.workload, partial(_computed, task))

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """A row's threads go through it three times; what they join is in shared memory."""
        threads = RowThreads.of(config.values, contiguous=_contiguous(task))
        s, final = schedule, schedule.dag.outputs[0].name
        for tensor in s.dag.computes[3:-1]:
            s = s.inline(tensor)
        loops = s.loops(final)
        reduced = _rows(task).reduced
        columns = [loops[axis] for axis in reduced]
        around = [loop for loop in loops if loop not in columns]
        s = s.reorder(final, [*around, *columns])
        if around:
            s, row = fused(s, final, around)
            s = s.split(final, row, [threads.rows]).bind(final, f"{row}.0", "blockIdx.x")
            s = s.bind(final, f"{row}.1", threads.across)
        (column,) = columns
        s = s.split(final, column, [threads.threads])
        lane, step = f"{column}.1", f"{column}.0"
        s = s.reorder(final, [lane, step]).bind(final, lane, threads.along)
        if config["keep"]:
            row, k = s.loops("row_exp")
            s = s.compute_at("row_exp", final, lane, "shared").split(
                "row_exp", k, [threads.threads]
            )
            s = s.bind("row_exp", row, threads.across)
            s = s.bind("row_exp", f"{k}.1", threads.along)
        else:
            s = s.inline("row_exp")
        s = threads.reduced(s, "row_sum", final, lane, "register")
        return threads.reduced(s, "row_max", final, lane, "register")


def _rows(task: Task) -> Rows:
    shape = task.workload.inputs[0].shape
    return Rows(shape, (task.workload.attributes["axis"] % len(shape),))


def _contiguous(task: Task) -> bool:
    rows = _rows(task)
    return rows.reduced == (len(rows.shape) - 1,)


def _computed(task: Task, tensors: Sequence[Tensor], attributes: object) -> Tensor:
    rows, data = _rows(task), tensors[0]
    (axis,) = rows.reduced
    shape = (rows.count, rows.length)
    k = reduce_axis(rows.length, "k")
    largest = compute("row_max", shape[:1], lambda row: reduce_max(data[rows.place(row, k)], k))
    raised = compute(
        "row_exp", shape, lambda row, column: exp(data[rows.place(row, column)] - largest[row])
    )
    total = compute("row_sum", shape[:1], lambda row: reduce_sum(raised[row, k], k))

    def element(*place: Axis) -> Value:
        row = rows.row_of(place)
        return raised[row, place[axis]] / total[row]

    return compute("softmax", data.shape, element, axes=axis_names(len(data.shape)))


make = Softmax
