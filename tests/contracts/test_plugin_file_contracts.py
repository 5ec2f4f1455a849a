"""The suites over a plugin that is one file: `plugin_files` names it, from the folder of the test."""

from __future__ import annotations

from tilewright_testing.scheduler import TaskSchedulerContract
from tilewright_testing.support.on_target import OnTarget
from tilewright_testing.tuner import ReproducibleTunerContract, TunerContract

TOY = ("../toy/toy_plugin.py",)


class TestTunerOfAFile(TunerContract, ReproducibleTunerContract):
    """In other processes, too."""

    name, plugin_files = "toy", TOY


class TestSchedulerOfAFile(TaskSchedulerContract):
    name, plugin_files = "toy", TOY


class TestTargetOfAFile(OnTarget):
    target, tasks, plugin_files = "toynative", ("toyadd(8)",), TOY

    def test_suites_of_targets_find_its_devices(self, resolved, device):
        assert (resolved.kind, device.name) == ("toy", "toy0")
