"""Records for the tests of records and of dispatch; the toy world for those of host, tuning and pipelines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.config import ConfigEntity
from tilewright.device import Device
from tilewright.measure import (
    Conditions,
    Failure,
    FailureKind,
    MeasureInput,
    MeasureResult,
    Trial,
)
from tilewright.records import Record
from tilewright.target import Target
from tilewright.task import Task
from tilewright.workload import EpilogueOp, TensorSpec, Workload


class Samples:
    """Two devices, a task, the same with an epilogue, and records of them."""

    here = Device("cpu", {"model": "one", "cores": 2})
    elsewhere = Device("cpu", {"model": "another", "cores": 64})
    operands = (TensorSpec((1, 7)), TensorSpec((5, 7), role="constant"))
    task = Task(Workload("dense", operands), Target.parse("toy:threads=2"))
    fused = Task(Workload("dense", operands, epilogue=(EpilogueOp("relu"),)), task.target)

    @staticmethod
    def config(number, strategy="plain/a"):
        return ConfigEntity(strategy, {"tile": [2, number], "unroll": True})

    @classmethod
    def record(
        cls,
        number,
        costs=(2e-3, 1e-3, 3e-3),
        *,
        task=task,
        device=here,
        revision=1,
        strategy="plain/a",
        failure=None,
        constants="cold",
        repeat=3,
    ):
        if failure is None:
            result = MeasureResult(tuple(costs), timings={"compile": 0.01})
        else:
            result = MeasureResult(failure=Failure(FailureKind(failure), "why", "SIGSEGV"))
        conditions = Conditions(constants=constants, repeat=repeat)
        asked = MeasureInput(task, cls.config(number, strategy), conditions)
        return Record.of(Trial(asked, result), device, revision)


@pytest.fixture(scope="session")
def samples():
    return Samples


# --- the toy world: toy_plugin.py is a whole set of plugins in one file

TOY = Path(__file__).with_name("toy_plugin.py")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("BLOCK", "STRICT", "TRACE"):
        monkeypatch.delenv(f"TILEWRIGHT_{name}_PLUGINS", raising=False)


@pytest.fixture
def toy():
    return TOY


@pytest.fixture
def host():
    from tilewright.host import PluginHost

    return PluginHost.load([TOY])


@pytest.fixture
def pipeline_file(tmp_path, monkeypatch):
    """A function that writes a pipeline and gives its path; runs happen in a fresh folder."""
    monkeypatch.chdir(tmp_path)

    def write(tune="tuner: toy, budget: 20", runner="", builder="", sizes="[8, 16]", check="{}"):
        path = tmp_path / "toy.yaml"
        path.write_text(
            f"version: 1\nname: toyrun\ntarget: {{kind: toy, threads: 1}}\nplugins: ['{TOY}']\n"
            f"measure: {{runner: {{toy: {{{runner}}}}}, builder: {{toy: {{{builder}}}}}}}\n"
            f"stages:\n  - source: {{sizes: {sizes}}}\n"
            f"  - tune: {{scheduler: toy, {tune}}}\n  - check: {check}\n"
        )
        return path

    return write
