"""What the host knows of tasks, asked once of each."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tilewright.terminal_text import printable

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import TaskState
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.task_set import WeightedTask
    from tilewright.vocabulary.workload import Workload


class TaskFacts:
    """Names and speeds of tasks.

    Counting operations takes a millisecond, which a display should not take from what is measured
    each time that it is drawn.
    """

    def __init__(self, host: PluginHost) -> None:
        self._host = host
        self._operations = cache(self._count)

    def name(self, entry: WeightedTask) -> str:
        """The task's name, else its text."""
        workload = entry.task.workload
        text = entry.name or self._host.reference(workload.operator).format(workload)
        return printable(text)

    def speed(self, state: TaskState, device: Device) -> tuple[str, str]:
        """GFLOP/s of the best, and its share of the peak of its precision; `-` where unknown."""
        if state.best_seconds is None or state.strategy is None:
            return "-", "-"
        operations = self._operations(state.task.workload)
        if not operations:
            return "-", "-"
        rate = operations / state.best_seconds
        precision = self._host.strategy(state.strategy).precision_of(state.task)
        peak = device.peak(precision, state.task.target.threads)
        return f"{rate / 1e9:.1f}", f"{rate / peak:.0%}" if peak else "-"

    def _count(self, workload: Workload) -> float:
        return self._host.reference(workload.operator).operations(workload)
