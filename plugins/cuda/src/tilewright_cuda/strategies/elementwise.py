"""Chains of element-wise operators in one pass over memory, in the layout of the neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_cuda.strategies.tiles.image_layouts import image_layouts
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    constants,
    epilogue_layouts,
    is_elementwise,
    is_float32,
)


class Elementwise(ScheduledImplementation):
    """Element-wise chains; the layout is what all operands of full rank share."""

    name = "elementwise.cuda"

    def applies(self, task: Task) -> bool:
        """Element-wise anchors on float32 with at least one axis."""
        return is_float32(task) and is_elementwise(task, self.operators)

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Layout, threads of a block, elements of a vector, vectors of a thread."""
        shape = self.operators.output(task.workload).shape
        layouts = image_layouts(shape)
        vectors = [n for n in (1, 2, 4) if all(_last(one, shape) % n == 0 for one in layouts)]
        knobs = Knobs(self.name)
        knobs.define_knob("layout", layouts)
        knobs.define_knob("block", [64, 128, 256, 512, 1024])
        knobs.define_knob("vec", vectors)
        knobs.define_knob("items", [1, 2, 4, 8])
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """256 threads, the widest vectors, in NHWC where there are channels."""
        (alternative,) = self.alternatives(task)
        widest = {knob.name: knob.values[-1] for knob in alternative.knobs}
        return ConfigEntity(self.name, {**widest, "block": 256, "items": 1})

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """The chosen layout."""
        operands = epilogue_layouts(task, 0, config["layout"])
        return Layouts(operands, (config["layout"],), constants(task))

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """One loop over memory: blocks, items, threads, vectors."""
        s, final = schedule, schedule.dag.outputs[0].name
        for tensor in s.dag.computes[:-1]:
            s = s.inline(tensor)
        loops = s.loops(final)
        order = [loops[dim.axis] for dim in Layout.parse(config["layout"]).dims]
        return one_pass(s.reorder(final, order), final, order, config)


def one_pass(s: Schedule, stage: str, loops: Sequence[str], config: ConfigEntity) -> Schedule:
    """The loops as one: blocks, `items` of a thread, `block` threads, vectors of `vec`."""
    s, one = fused(s, stage, loops)
    extent = prod(s.stages[stage].shape)
    block = min(config["block"], -(-extent // config["vec"]))
    s = s.split(stage, one, [config["items"], block, config["vec"]])
    s = s.bind(stage, f"{one}.0", "blockIdx.x").unroll(stage, f"{one}.1")
    return s.bind(stage, f"{one}.2", "threadIdx.x").vectorize(stage, f"{one}.3")


def _last(layout: str, shape: Sequence[int]) -> int:
    return shape[Layout.parse(layout).dims[-1].axis]


make = Elementwise
