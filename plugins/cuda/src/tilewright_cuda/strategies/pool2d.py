"""Pooling: a thread makes some places of some channels."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.config import ConfigEntity
from tilewright.layouts import Layouts
from tilewright.space.alternative import Alternative
from tilewright.task import Task
from tilewright_cuda.strategies.tensor_schedule import epilogue_layouts
from tilewright_cuda.strategies.windows import (
    window_alternatives,
    window_fallback,
    window_layout,
    windows_scheduled,
)
from tilewright_tensor.schedule import Schedule
from tilewright_tensor.tensor_schedule import TensorSchedule, constants, is_float32


class Pool2d(TensorSchedule):
    """Maximum and average pooling."""

    name = "pool2d.cuda"

    def applies(self, task: Task) -> bool:
        """float32."""
        return is_float32(task)

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Threads of a block, places and channels of a thread, in either layout."""
        return window_alternatives(self.name, self.operators.output(task.workload).shape)

    def fallback(self, task: Task) -> ConfigEntity:
        """One place of a vector of channels."""
        return window_fallback(self.name, self.operators.output(task.workload).shape)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """The alternative's, on both sides."""
        image = window_layout(config)
        return Layouts((image, *epilogue_layouts(task, 1, image)), (image,), constants(task))

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """The window around the thread's places."""
        anchor = next(t.name for t in schedule.dag.computes if t.reduce_axes)
        return windows_scheduled(schedule, anchor, config)


make = Pool2d
