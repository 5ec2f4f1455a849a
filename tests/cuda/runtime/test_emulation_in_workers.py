"""The ordinary builder and runner drive the emulated device, and a GPU behind the driver."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.host.contexts import MeasureContext
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import (
    Conditions,
    FailureKind,
    MeasureInput,
    MeasureResult,
    Trial,
)
from tilewright.vocabulary.record import Query, Record
from tilewright_cuda.device.devices import probe
from tilewright_pipeline.api.task_text import find_task
from tilewright_records.store.store import JsonlRecordStore

_FILE = Path(__file__).with_name("hand_written.py")
_GPU = Device(
    "gpu0",
    {
        "model": "Emulated GPU",
        "capability": [9, 0],
        "l2_bytes": 1 << 20,
        "unified_addressing": True,
    },
)


@pytest.fixture(scope="module")
def host():
    return PluginHost.load([_FILE])


@pytest.fixture(params=["emulated", "gpu0"])
def device(request, monkeypatch):
    if request.param == "emulated":
        return next(device for device in probe() if device.name == "emulated")
    monkeypatch.setenv("EMULATED_GPU", "1")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(request.getfixturevalue("emulated_libcuda")))
    return _GPU


@pytest.fixture
def measure(host, device):
    """measure(acts): results in order, all of one batch in one worker as long as it lives."""
    context = MeasureContext(host, device)
    task = find_task("relu(1x37)", host.resolve_target("cuda:arch=sm_90"), host, None)
    conditions = Conditions("warm", min_repeat_ms=0.1)

    def run(acts, timeout_seconds=200.0):
        builder = host.make("builder", "local", {"n_parallel": 1}, context)
        # no race: how long the emulation takes says nothing of a candidate
        options = {"timeout_seconds": timeout_seconds, "racing": 1e9}
        runner = host.make("runner", "local", options, context)
        configs = [ConfigEntity("hand", {"act": a, "number": i}) for i, a in enumerate(acts)]
        asked = [MeasureInput(task, config, conditions) for config in configs]
        try:
            return [future.result(600) for future in runner.run(asked, builder.build(asked))]
        finally:
            runner.close()
            builder.close()

    return run


def _kinds(results):
    return [None if result.failure is None else result.failure.kind for result in results]


def test_d34_a_kernel_that_faults_costs_one_candidate_and_a_worker(measure):
    results = measure(["good", "overrun", "misaligned", "good", "wrong"])
    assert _kinds(results) == [
        None,
        FailureKind.CRASH,
        FailureKind.CRASH,
        None,
        FailureKind.WRONG_ANSWER,
    ]
    assert "illegal" in results[1].failure.text
    assert "misaligned" in results[2].failure.text
    assert len(results[3].costs) == 5


def test_a_divergent_barrier_is_no_hang(measure):
    assert _kinds(measure(["divergent", "good"])) == [FailureKind.CRASH, None]


def test_a_wrong_answer_and_a_refused_launch_leave_the_worker_alive(measure):
    results = measure(["wrong", "good", "refused", "good"])
    kinds = [FailureKind.WRONG_ANSWER, None, FailureKind.RUN_ERROR, None]
    assert _kinds(results) == kinds


def test_a_kernel_that_hangs_is_killed_and_the_next_one_runs(measure):
    measure(["good"])  # is compiled then, which the short limit below leaves no time for
    results = measure(["hang", "good"], timeout_seconds=6.0)
    assert _kinds(results) == [FailureKind.RUN_TIMEOUT, None]


def test_a_race_is_seen_where_every_order_is_tried(measure, device):
    (result,) = measure(["racing"])
    assert result.failure.kind in (FailureKind.RUN_ERROR, FailureKind.WRONG_ANSWER)
    if device.name == "emulated":
        assert "threads race" in result.failure.text


def test_times_of_the_emulation_are_no_history_of_a_gpu(host, tmp_path):
    (emulated,) = (device for device in probe() if device.name == "emulated")
    task = find_task("relu(1x37)", host.resolve_target("cuda:arch=sm_90"), host, None)
    asked = MeasureInput(
        task, ConfigEntity("hand", {"act": "good", "number": 0}), Conditions("warm")
    )
    store = JsonlRecordStore(tmp_path / "records.jsonl")
    store.append([Record.of(Trial(asked, MeasureResult((1e-9,))), emulated, 1)])
    mine = store.best(Query(task, asked.conditions, emulated.fingerprint, {"hand": 1}))
    theirs = store.best(Query(task, asked.conditions, _GPU.fingerprint, {"hand": 1}))
    assert mine is not None
    assert theirs is None
    assert emulated.fingerprint != _GPU.fingerprint
