"""Pooling: a thread makes some places of some channels."""

from __future__ import annotations

from tilewright.strategies.strategy import variant_of
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_cuda.strategies.tiles.windows import WindowSchedule, windows_scheduled
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.strategies.scheduled_implementation import (
    constants,
    epilogue_layouts,
    is_float32,
)


class Pool2d(WindowSchedule):
    """Maximum and average pooling."""

    name = "pool2d.cuda"

    def applies(self, task: Task) -> bool:
        """float32."""
        return is_float32(task)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """The alternative's, on both sides."""
        image = variant_of(config.strategy)
        return Layouts((image, *epilogue_layouts(task, 1, image)), (image,), constants(task))

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """The window around the thread's places."""
        anchor = next(t.name for t in schedule.dag.computes if t.reduce_axes)
        return windows_scheduled(schedule, anchor, config)


make = Pool2d
