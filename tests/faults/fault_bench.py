"""A builder and a runner, and what tests ask of them."""

from __future__ import annotations

from pathlib import Path

from tilewright.host.contexts import MeasureContext
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Conditions, MeasureInput
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import TensorSpec, Workload

FAULTS = Path(__file__).with_name("fault_target.py")
TIMEOUT_SECONDS = 30  # who waits for one gives less


class Bench:
    """A builder and a runner for the fault target."""

    def __init__(self, host: PluginHost, builder=None, runner=None, seed=0, device=None) -> None:
        limits = {"timeout_seconds": TIMEOUT_SECONDS}
        attributes = {"l1_bytes": 10, "l2_bytes": 1000, **(device or {})}
        self.device = Device("fake", attributes)
        context = MeasureContext(host, self.device, seed)
        self.builder = host.make(
            "builder", "local", {"n_parallel": 2, **limits, **(builder or {})}, context
        )
        self.runner = host.make("runner", "local", {**limits, **(runner or {})}, context)

    @staticmethod
    def ask(
        launch="right", *, shape=(37,), attributes=None, conditions=None, **values
    ) -> MeasureInput:
        specs = TensorSpec(shape), TensorSpec(shape, role="constant")
        task = Task(Workload("affine", specs, attributes or {}), Target("fault"))
        told = {"launch": launch, "lower": "", "time": 1e-3, "layout": "plain", **values}
        return MeasureInput(
            task, ConfigEntity("fault", told), conditions or Conditions(min_repeat_ms=0.5)
        )

    def measure_all(self, asked):
        return [future.result(120) for future in self.runner.run(asked, self.builder.build(asked))]

    def measure(self, launch="right", **values):
        return self.measure_all([self.ask(launch, **values)])[0]

    def close(self) -> None:
        self.runner.close()
        self.builder.close()
