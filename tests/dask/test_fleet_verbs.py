"""The verbs `tilewright fleet`, and a whole tuning through them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from fleet_bench import until

from tilewright_cli.terminal.group import run
from tilewright_dask.driver.fleet_link import FleetLink
from tilewright_dask.security.certificates import make_certificates
from tilewright_pipeline.run.run_report import SCHEMA_FILE

MATMUL = "matmul(16x16, 16x16)"
SCRIPT = Path(sys.executable).with_name("tilewright")
"""Unlike `python -m`, it exits as it should where Ctrl-C comes amid imports."""
FILE = """\
version: 1
name: far
target: x86
device: "cpu*"
measure:
  runner:  {{dask: {{scheduler: "{address}", drift: 1000000}}}}
  builder: {{dask: {{scheduler: "{address}"}}}}
stages:
  - import:  {{model: small.onnx}}
  - extract: {{}}
  - tune:    {{tuner: random, scheduler: round-robin, budget: 40}}
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Where the peaks of the processor are kept, which take a while to measure."""
    return {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture
def local(fleet, cache):
    """A local fleet of the processor, on as many workers as there are cores, two at most."""
    workers = min(2, len(os.sched_getaffinity(0)))
    started = fleet.start("local", "--workers", workers, "--port", 0, environment=cache)
    started.says("://")
    fleet.address = started.lines()[0]
    until(lambda: sum("serving" in line for line in started.lines()) == workers, "workers")
    yield started
    FleetLink.of(fleet.address, None).close()


def tune(fleet, *words, environment=None):
    where = f"dask:scheduler={fleet.address},drift=1000000"
    command = ("tune", MATMUL, "--runner", where, "--builder", f"dask:scheduler={fleet.address}")
    return start(fleet, *command, *words, environment=environment)


def start(fleet, *words, environment=None):
    return subprocess.Popen(
        [str(SCRIPT), *words],
        cwd=fleet.folder,
        env={**os.environ, "TILEWRIGHT_BLOCK_PLUGINS": "cuda", **(environment or {})},
        stdout=subprocess.PIPE,
        text=True,
    )


def trials(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return [record for line in lines if (record := json.loads(line))["kind"] == "trial"]


def test_a_task_is_tuned_on_every_device(fleet, local, capsys):
    records = fleet.folder / "records.jsonl"
    words = ("--budget", "40", "--tuner", "random", "--device", "cpu*", "--records", records)

    def listed():
        """What the workers said last, which is a moment ago."""
        assert run(["fleet", "ls", fleet.address, "--json"]) == 0
        return json.loads(capsys.readouterr().out)["devices"]

    for seed in range(5):  # a run begins with one device, and may be over before the other is open
        with tune(fleet, *map(str, words), "--seed", str(seed), "--json") as tuning:
            found = json.loads(tuning.stdout.read())
        assert tuning.returncode == 0
        assert found["best_seconds"] > 0
        assert found["peak_share"] > 0
        measured = trials(records)
        if seed == 0:
            assert found["trials"] == len(measured) == 40
        names = {one["device"]["name"] for one in measured}
        if names == {row["device"] for row in listed()}:
            break
    assert (
        len({json.dumps(one["config"], sort_keys=True) + one["strategy"] for one in measured}) > 20
    )

    def counted():
        rows = listed()
        return rows if sum(row["trials"] for row in rows) >= len(measured) else None

    rows = until(counted, "count of all trials")
    assert names == {row["device"] for row in rows}
    assert {one["device"]["fingerprint"] for one in measured} == {
        row["fingerprint"] for row in rows
    }
    assert set(rows[0]) == {
        *("device", "fingerprint", "worker", "pid"),
        *("state", "trials", "trials_per_second", "drift"),
    }


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="both need a core of their own")
def test_a_local_fleet_may_have_a_builder(fleet, cache, capsys):
    words = ("--workers", 1, "--builders", 1, "--port", 0)
    started = fleet.start("local", *words, environment=cache)
    until(lambda: sum("serving" in line for line in started.lines()) == 2, "workers")
    fleet.address = started.lines()[0]
    seeds = count()

    def built():
        """After one more run: one may be over before the builder is open."""
        seed, file = next(seeds), fleet.folder / "records.jsonl"
        words = ("--budget", 48, "--tuner", "random", "--seed", seed, "--records", file)
        with tune(fleet, *map(str, words), "--json") as tuning:
            found = json.loads(tuning.stdout.read())
        assert seed or found["trials"] == 48
        time.sleep(1)  # what is listed was said a moment ago
        assert run(["fleet", "ls", fleet.address, "--json"]) == 0
        return json.loads(capsys.readouterr().out)["builders"][0]["built"]

    until(lambda: built() >= 16, "batch that is built there")
    FleetLink.of(fleet.address, None).close()


def weight(*shape):
    return np.ones(shape, dtype=np.float32)


def test_two_runs_on_one_fleet_at_a_time_have_all_their_trials(fleet, local):
    files = [fleet.folder / "one.jsonl", fleet.folder / "other.jsonl"]
    words = ("--budget", "24", "--tuner", "random", "--records")
    with tune(fleet, *words, str(files[0])) as one, tune(fleet, *words, str(files[1])) as other:
        said = [tuning.stdout.read() for tuning in (one, other)]
    assert (one.returncode, other.returncode) == (0, 0)
    for file, text in zip(files, said, strict=True):
        assert len(trials(file)) == 24
        assert "\ndevices   " in text
        assert "measured again" not in text


@pytest.mark.needs("graph", "onnx")
def test_a_file_runs_on_a_fleet(fleet, local):
    from tilewright_graph.network.builder import NetworkBuilder
    from tilewright_onnx.model.writer import write_model

    network = NetworkBuilder("small")
    hidden = network.dense(network.input("x", (1, 8)), network.constant(weight(16, 8)))
    result = network.dense(network.relu(hidden), network.constant(weight(24, 16)))
    model = write_model(network.network([result])).SerializeToString()
    (fleet.folder / "small.onnx").write_bytes(model)
    (fleet.folder / "far.yaml").write_text(FILE.format(address=fleet.address))
    with start(fleet, "run", "far.yaml") as running:
        said = running.stdout.read()
    assert running.returncode == 0
    assert "measured on" in said
    report = json.loads((fleet.folder / "runs" / "far" / "run.json").read_text())
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    measured = report["measurement"]
    assert measured["trials"] == 40
    assert sorted(measured["devices"]) == sorted(report["devices"])
    assert all(share["faults"] == {} for share in measured["devices"].values())


def test_an_interrupted_run_keeps_what_came_back_and_leaves_nothing(fleet, local, living_in):
    records = fleet.folder / "records.jsonl"
    words = ("--budget", "1h", "--tuner", "random", "--records", str(records))
    with tune(fleet, *words) as tuning:
        until(lambda: trials(records), "trial")
        tuning.send_signal(signal.SIGINT)
        assert tuning.wait(60) == 130
    until(lambda: not living_in(fleet.temporary(local)), "end of all that measures")
    assert trials(records)


def test_a_task_that_no_worker_can_hold_is_told_before_anything_is_measured(fleet, local):
    records = fleet.folder / "records.jsonl"
    tight = f"dask:scheduler={fleet.address},memory_gib=0.000001"
    with tune(fleet, "--budget", "8", "--records", str(records), "--runner", tight) as tuning:
        assert tuning.wait(120) == 2
    assert not trials(records)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_local_fleet_ends_as_a_whole(fleet, cache, number, living_in):
    started = fleet.start("local", "--workers", 1, "--port", 0, environment=cache)
    started.says("serving")
    started.end(number)
    mark = f"TMPDIR={fleet.temporary(started)}".encode()

    def living():
        return [
            process
            for process in Path("/proc").glob("[0-9]*")
            if mark in _content(process / "environ").split(b"\0")
        ]

    until(lambda: not living(), "end of the workers")


def _content(path):
    try:
        return path.read_bytes()
    except OSError:  # it has just ended
        return b""


def test_a_port_that_is_taken_is_told(fleet):
    fleet.scheduler()
    port = fleet.address.rpartition(":")[2]
    again = fleet.start("scheduler", "--port", port)
    assert again.process.wait(120) == 2
    (error,) = [line for line in again.lines() if line.startswith("error: ")]
    assert "cannot listen on 127.0.0.1" in error


def test_a_host_of_another_machine_is_told(fleet, tmp_path):
    make_certificates(tmp_path / "certs", 1)
    options = ("--builds", "--host", "192.0.2.1", "--tls", tmp_path / "certs")
    started = fleet.start("worker", "tls://127.0.0.1:1", *options)
    assert started.process.wait(120) == 2
    (error,) = [line for line in started.lines() if line.startswith("error: ")]
    assert error.startswith("error: --host: cannot listen on 192.0.2.1: ")
    assert not any("Traceback" in line for line in started.lines())


def test_an_unknown_device_is_told(fleet):
    started = fleet.start("worker", "tcp://127.0.0.1:1", "--device", "gpu7")
    assert started.process.wait(120) == 2
    assert "error: --device: this machine has no device 'gpu7'" in started.log.read_text()


@pytest.mark.parametrize("verb", ["ls", "worker"])
def test_another_machine_needs_certificates(verb, capsys):
    assert run(["fleet", verb, "tcp://10.0.0.1:8786"]) == 2
    assert "is not on this machine" in capsys.readouterr().err


def test_certificates_are_made(tmp_path, capsys):
    assert run(["fleet", "certs", str(tmp_path / "certs"), "--days", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 8
