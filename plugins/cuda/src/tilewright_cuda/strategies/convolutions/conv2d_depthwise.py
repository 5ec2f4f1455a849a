"""Depthwise convolution: a thread makes some pixels of some channels, filters in registers."""

from __future__ import annotations

from tilewright.strategies.strategy import variant_of
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_cuda.strategies.tiles.adoption import of_thread
from tilewright_cuda.strategies.tiles.image_layouts import IMAGE_LAYOUTS
from tilewright_cuda.strategies.tiles.windows import WindowSchedule, windows_scheduled
from tilewright_tensor.logs.autotvm_templates import template_of
from tilewright_tensor.logs.nearest import nearest
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.strategies.scheduled_implementation import (
    constants,
    epilogue_layouts,
    is_float32,
)


class Conv2dDepthwise(WindowSchedule):
    """Convolutions with one filter a channel."""

    name = "conv2d_depthwise.cuda"

    def applies(self, task: Task) -> bool:
        """float32 with as many groups as channels and filters."""
        data, weight, *_ = task.workload.inputs
        groups = task.workload.attributes["groups"]
        return is_float32(task) and groups == data.shape[1] == weight.shape[0]

    def adopt_config(self, task: Task, foreign: ConfigEntity) -> ConfigEntity | None:
        """AutoTVM's depthwise template: threads of a block and pixels of a thread, in NCHW."""
        if template_of(foreign) != "depthwise_conv2d_nchw.cuda":
            return None
        filters, rows, columns = (foreign[f"tile_{axis}"] for axis in "fyx")
        wanted = {
            "block": filters[2] * rows[2] * columns[2],
            "rows": of_thread(rows),
            "columns": of_thread(columns),
        }
        return nearest(self.alternatives(task)[IMAGE_LAYOUTS.index("NCHW")], wanted)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Images in the alternative's layout; constant filters with channels side by side."""
        image = variant_of(config.strategy)
        filters = "HWIO" if image == "NHWC" and 1 in constants(task) else "OIHW"
        epilogue = epilogue_layouts(task, 2, image)
        return Layouts((image, filters, *epilogue), (image,), constants(task))

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """The taps around the thread's pixels."""
        return windows_scheduled(schedule, "conv2d", config)


make = Conv2dDepthwise
