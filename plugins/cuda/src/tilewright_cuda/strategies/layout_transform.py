"""Changes between NCHW and NHWC through tiles of shared memory: both sides see whole rows.

The tile's rows are one element longer than they are filled, so that its columns fall into
different banks (Ruetsch and Micikevicius, 2009).
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_cuda.text.limits import MOST_BLOCKS
from tilewright_tensor.expressions.expr import Value
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.ir.dag import Dag, compute
from tilewright_tensor.ir.loop_ir import LoopKind
from tilewright_tensor.operators.definition.places import axis_names
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    constants,
    epilogue_layouts,
    is_float32,
)

_TILE = 32
_BANKS = 32
_PLACES: tuple[LoopKind, ...] = (
    "blockIdx.z", "blockIdx.x", "blockIdx.y", "threadIdx.y", "threadIdx.x",
)  # fmt: skip


class LayoutTransform(ScheduledImplementation):
    """Transpositions of channels and pixels."""

    name = "layout_transform.cuda"

    def applies(self, task: Task) -> bool:
        """float32 images between NCHW and NHWC, no more of them than a grid has blocks for."""
        attributes = task.workload.attributes
        if not is_float32(task) or {attributes["src"], attributes["dst"]} != {"NCHW", "NHWC"}:
            return False
        n, c, h, w = task.workload.inputs[0].shape
        along_y = h * w if attributes["dst"] == "NCHW" else c
        _, most_y, most_z = MOST_BLOCKS
        return along_y <= _TILE * most_y and n <= most_z

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Rows of threads, each of which copies some rows of a tile."""
        knobs = Knobs(self.name)
        knobs.define_knob("rows", [2, 4, 8, 16, 32])
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """256 threads."""
        return ConfigEntity(self.name, {"rows": 8})

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """The two that the operator names."""
        source, target = (task.workload.attributes[name] for name in ("src", "dst"))
        operands = (source, *epilogue_layouts(task, 1, target))
        return Layouts(operands, (target,), constants(task) - {0})

    def dag(self, task: Task, variant: None) -> Dag:
        """The image with its pixels in one row, and back."""
        return self.operators.compute_dag(task.workload, _computed)

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """A tile is read along one axis and written along the other."""
        s, final = schedule, schedule.dag.outputs[0].name
        for tensor in s.dag.computes[1:-1]:
            s = s.inline(tensor)
        n, c, h, w = s.loops(final)
        s, pixel = fused(s, final, [h, w])
        outer, inner = (c, pixel) if task.workload.attributes["dst"] == "NCHW" else (pixel, c)
        s = s.split(final, outer, [config["rows"], _TILE // config["rows"]])
        s = s.split(final, inner, [_TILE])
        order = [n, f"{outer}.0", f"{inner}.0", f"{outer}.1", f"{inner}.1", f"{outer}.2"]
        s = s.reorder(final, order).unroll(final, f"{outer}.2")
        for loop, thread in zip(order, _PLACES, strict=False):
            s = s.bind(final, loop, thread)
        s = s.compute_at("tile", final, f"{inner}.1", "shared")
        s = s.storage_align("tile", _BANKS, 1)
        # rows of the tile lie as the source does
        n, c, pixel = s.loops("tile")
        rows, lanes = (pixel, c) if inner != c else (c, pixel)
        s = s.reorder("tile", [n, rows, lanes]).split("tile", rows, [config["rows"]])
        s = s.split("tile", lanes, [_TILE])
        s = s.unroll("tile", f"{rows}.0").bind("tile", f"{rows}.1", "threadIdx.y")
        return s.bind("tile", f"{lanes}.1", "threadIdx.x")


def _computed(tensors: Sequence[Tensor], attributes: object) -> Tensor:
    (data,) = tensors
    n, c, h, w = data.shape
    tile = compute("tile", (n, c, h * w), lambda n, c, p: data[n, c, p // w, p % w])

    def element(n: Axis, c: Axis, y: Axis, x: Axis) -> Value:
        return tile[n, c, y * w + x]

    return compute("layout_transform", data.shape, element, axes=axis_names(4))


make = LayoutTransform
