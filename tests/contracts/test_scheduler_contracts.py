"""The scheduler suite over every scheduler that this repository ships."""

from __future__ import annotations

from tilewright_testing.scheduler import TaskSchedulerContract


class TestRoundRobin(TaskSchedulerContract):
    name = "round-robin"


class TestGradient(TaskSchedulerContract):
    name = "gradient"
