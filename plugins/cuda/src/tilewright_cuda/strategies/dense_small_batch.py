"""Dense layers of a few rows: bound by reading the weights, so every thread reads its own share.

Some threads share an output: neighbouring ones read neighbouring weights, each adds up its part for
all rows of the batch, and they join their sums in shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_cuda.program.arch import SHARED_EVERYWHERE
from tilewright_cuda.strategies.tiles.rows import MOST_THREADS, RowThreads
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.ir.dag import Dag, compute, reduce_axis, reduce_sum
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    is_float32,
    logical_layouts,
)

_MOST_ROWS = 8


class DenseSmallBatch(ScheduledImplementation):
    """`dense` of at most eight rows."""

    name = "dense_small_batch.cuda"

    def applies(self, task: Task) -> bool:
        """float32 and a small batch."""
        return is_float32(task) and task.workload.inputs[0].shape[0] <= _MOST_ROWS

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Outputs of a block, threads of an output, elements of a load, loads between additions."""
        batch, depth = task.workload.inputs[0].shape
        outputs = task.workload.inputs[1].shape[0]
        knobs = Knobs(self.name)
        rows = knobs.define_knob(
            "rows", [n for n in (1, 2, 4, 8, 16, 32) if n == 1 or n <= outputs]
        )
        threads = knobs.define_knob(
            "threads", [n for n in (8, 16, 32, 64, 128, 256) if n == 8 or n <= depth]
        )
        vec = knobs.define_knob("vec", [n for n in (1, 2, 4) if depth % n == 0])
        unroll = knobs.define_knob("unroll", [1, 2, 4])
        knobs.constrain((rows * threads <= MOST_THREADS) & (rows * threads >= 32))
        knobs.constrain(4 * rows * threads * batch * 2 <= SHARED_EVERYWHERE)
        knobs.constrain((unroll == 1) | (threads * vec * unroll <= depth))
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """A warp an output, the widest loads."""
        depth, outputs = task.workload.inputs[0].shape[1], task.workload.inputs[1].shape[0]
        rows = max(n for n in (1, 2, 4) if n == 1 or n <= outputs)
        threads = 32 if depth >= 32 else 16 if depth >= 16 and rows == 4 else 8
        vec = next(n for n in (4, 2, 1) if depth % n == 0)
        return ConfigEntity(self.name, {"rows": rows, "threads": threads, "vec": vec, "unroll": 1})

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Logical: the weights of an output lie together."""
        found = logical_layouts(task, 2)
        weight = "OI" if 1 in found.packed else found.inputs[1]
        return Layouts((found.inputs[0], weight, *found.inputs[2:]), found.outputs, found.packed)

    def dag(self, task: Task, variant: None) -> Dag:
        """The sums by output, then by row."""
        return self.operators.compute_dag(task.workload, _computed)

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Threads of an output along the depth."""
        threads = RowThreads(config["rows"], config["threads"])
        s, final = schedule, schedule.dag.outputs[0].name
        for tensor in s.dag.computes[1:-1]:
            s = s.inline(tensor)
        n, o = s.loops(final)
        s = s.split(final, o, [threads.rows]).reorder(final, [f"{o}.0", f"{o}.1", n])
        s = s.bind(final, f"{o}.0", "blockIdx.x").bind(final, f"{o}.1", threads.across)
        s = s.unroll(final, n)
        s = threads.reduced(s, "total", final, f"{o}.1", "shared", lanes=config["vec"])
        part = "total.rf.register"
        o, n, thread, step, *lanes = s.loops(part)
        if config["unroll"] > 1:
            s = s.split(part, step, [config["unroll"]]).unroll(part, f"{step}.1")
            s = s.reorder(part, [o, thread, f"{step}.0", f"{step}.1", n, *lanes])
            step = f"{step}.1"
        else:
            s = s.reorder(part, [o, thread, step, n, *lanes])
        s = s.unroll(part, n, *lanes)
        if lanes:
            for name in ("data", "weight"):
                s = s.cache_read(name, "register", [part])
                copy = f"{name}.register"
                s = s.compute_at(copy, part, step, "register")
                s = s.vectorize(copy, s.loops(copy)[-1]).unroll(copy, s.loops(copy)[0])
        return s


def _computed(tensors: Sequence[Tensor], attributes: object) -> Tensor:
    data, weight = tensors
    k = reduce_axis(data.shape[1], "k")
    total = compute(
        "total",
        (weight.shape[0], data.shape[0]),
        lambda o, n: reduce_sum(data[n, k] * weight[o, k], k),
    )

    def element(n: Axis, o: Axis) -> object:
        return total[o, n]

    return compute("dense", (data.shape[0], weight.shape[0]), element)


make = DenseSmallBatch
