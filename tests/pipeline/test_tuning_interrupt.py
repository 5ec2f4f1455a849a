"""D-15, Ctrl-C and kill -9: nothing finished is lost, the log stays whole, the next run goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from tilewright import Pipeline
from tilewright_cli.terminal.group import run
from tilewright_pipeline.measuring.interrupt import Interrupt
from tilewright_records.checks import verify_log
from tilewright_records.store.store import JsonlRecordStore

COMMAND = [sys.executable, "-c", "from tilewright_cli import main; main()", "run"]


@pytest.fixture
def start():
    """A function that starts the run of a pipeline; none outlives the test."""
    started = []

    def run(path, *arguments):
        process = subprocess.Popen(
            [*COMMAND, str(path), "--quiet", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=path.parent,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def wait_for_records(path, count):
    log = path.parent / "runs" / "toyrun" / "records.jsonl"
    deadline = time.monotonic() + 300
    while not log.exists() or log.read_bytes().count(b"\n") < count:
        assert time.monotonic() < deadline, "no records"
        time.sleep(0.02)
    return log


# What the run is busy with nearly all of the time; `log`: writing records takes as long as a disk
# that sleeps.
BUSY_WITH = {
    "run": {"runner": "seconds: 0.05"},
    "build": {"builder": "seconds: 0.2"},
    "fit": {"tune": "budget: 10min, tuner: {toy: {fit_seconds: 0.2}}"},
    "log": {},
}
SLOW_DISK = """
import os, time

def slow(sync):
    return lambda descriptor: (time.sleep(0.3), sync(descriptor))[1]

os.fsync, os.fdatasync = slow(os.fsync), slow(os.fdatasync)
"""


@pytest.fixture(params=BUSY_WITH)
def busy(request, pipeline_file, start):
    """(process, log) of a run that is busy with one thing."""
    path = pipeline_file(**{"tune": "tuner: toy, budget: 10min", **BUSY_WITH[request.param]})
    (path.parent / "slow_disk.py").write_text(SLOW_DISK)
    slow = ["--plugin", "slow_disk.py"] if request.param == "log" else []
    return start(path, *slow), wait_for_records(path, 3)


def test_d15_one_ctrl_c_stops_within_two_seconds_and_keeps_everything(busy, soon):
    process, log = busy
    process.send_signal(signal.SIGINT)
    with soon(2):
        out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert verify_log(log).bad == ()
    assert not verify_log(log).torn
    report = json.loads((log.parent / "run.json").read_text())
    assert [stage["status"] for stage in report["stages"]] == ["ok", "interrupted", "skipped"]
    assert report["measurement"]["trials"] == len(JsonlRecordStore(log).records())
    assert "tasks" in out


def stops_at_once(process, log, soon):
    process.send_signal(signal.SIGINT)
    with soon(0.3):
        process.communicate(timeout=300)
    assert process.returncode == 130
    assert verify_log(log).bad == ()


def test_d15_two_of_them_stop_at_once_and_leave_whole_records(busy, soon):
    process, log = busy
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)  # two at once are one signal
    stops_at_once(process, log, soon)


def test_d15_another_ctrl_c_ends_what_the_first_is_waiting_for(pipeline_file, start, soon):
    path = pipeline_file(
        tune="tuner: toy, budget: 10min", runner="seconds: 0.05, close_seconds: 1000"
    )
    process = start(path)
    log = wait_for_records(path, 2)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert process.poll() is None
    with soon(1):
        while process.poll() is None:
            # Until it ends: two that come before the first is taken are one.
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
    assert process.returncode == 130
    assert verify_log(log).bad == ()


def test_sigterm_even_twice_ends_a_run_as_one_ctrl_c_does(pipeline_file, start):
    path = pipeline_file(tune="tuner: toy, budget: 10min", runner="seconds: 0.05")
    process, log = start(path), wait_for_records(path, 2)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.05)  # two at once are one signal
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    report = json.loads((log.parent / "run.json").read_text())
    assert [stage["status"] for stage in report["stages"]] == ["ok", "interrupted", "skipped"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_goes_on_where_it_stopped(pipeline_file, start, number):
    path = pipeline_file(tune="tuner: toy, budget: 30", runner="seconds: 0.03")
    process = start(path)
    log = wait_for_records(path, 5)
    process.send_signal(number)
    process.communicate(timeout=300)
    before = len(JsonlRecordStore(log).records())
    again = start(path, "--json")
    out, err = again.communicate(timeout=300)
    assert again.returncode == 0, err
    records = JsonlRecordStore(log).records()
    counts = Counter((record.task.key, record.config) for record in records)
    # Twice only the finalists of the two tasks.
    assert max(counts.values()) <= 2
    assert list(counts.values()).count(2) <= 4
    measured = json.loads(out)["measurement"]["trials"]
    assert len(records) == before + measured
    assert before + measured == 30


def test_what_native_code_makes_of_ctrl_c_while_it_is_imported_is_ctrl_c(pipeline_file, tmp_path):
    (tmp_path / "cut.py").write_text(
        "import os, signal, time\nfrom tilewright import Component, hookimpl\n"
        "class Cut:\n    consumes = optional = produces = ()\n"
        "    def __init__(self, options, context): pass\n"
        "    def run(self, values):\n"
        "        try:\n            os.kill(os.getpid(), signal.SIGINT)\n            time.sleep(9)\n"
        "        except KeyboardInterrupt as cut:\n"
        "            raise ImportError('initialization failed') from cut\n"
        "@hookimpl\ndef tilewright_stages():\n    return [Component('cut', '', lambda: Cut)]\n"
    )
    path = pipeline_file(check="{}\n  - cut: {}\n  - check: {passes: true}")
    result = Pipeline.load(path, plugins=[tmp_path / "cut.py"]).run()
    status = [stage["status"] for stage in result.report["stages"]]
    assert (result.exit_code, status) == (130, ["ok", "ok", "ok", "interrupted", "skipped"])


def test_an_interrupted_run_says_that_the_same_command_goes_on(pipeline_file, tmp_path, capsys):
    (tmp_path / "stop.py").write_text(
        "from tilewright import Component, hookimpl\n"
        "class Stop:\n    consumes = optional = produces = ()\n"
        "    def __init__(self, options, context): pass\n"
        "    def run(self, values): raise KeyboardInterrupt\n"
        "@hookimpl\ndef tilewright_stages():\n    return [Component('stop', '', lambda: Stop)]\n"
    )
    path = pipeline_file(check="{}\n  - stop: {}")
    plugin = ["--plugin", str(tmp_path / "stop.py")]
    assert run(["run", str(path), *plugin]) == 130
    said = capsys.readouterr().err
    assert "what was measured is kept: the same command goes on from there" in said


def test_a_shielded_section_is_not_cut():
    done = []
    with pytest.raises(KeyboardInterrupt), Interrupt() as interrupt:
        with interrupt.shield():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("whole")
        done.append("not reached")
    assert done == ["whole"]


@pytest.fixture
def in_the_background():
    """As of a job that a shell starts by `&`, in which the command line takes SIGTERM for Ctrl-C."""
    handlers = {signal.SIGINT: signal.SIG_IGN, signal.SIGTERM: signal.default_int_handler}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("in_the_background")
def test_ctrl_c_that_is_meant_for_others_ends_no_background_job():
    with Interrupt(), Interrupt():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.usefixtures("in_the_background")
def test_sigterm_even_twice_cuts_no_shielded_section_of_a_background_job():
    done = []
    with Interrupt():
        with pytest.raises(KeyboardInterrupt), Interrupt() as interrupt:
            with interrupt.shield():
                os.kill(os.getpid(), signal.SIGTERM)
                done.append("whole")
            done.append("not reached")
        os.kill(os.getpid(), signal.SIGTERM)
        done.append("told")
    assert done == ["whole", "told"]


@pytest.mark.usefixtures("in_the_background")
def test_the_handlers_of_a_background_job_come_back():
    before = signal.getsignal(signal.SIGTERM)
    with Interrupt():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_handler_of_before_comes_back():
    before = signal.getsignal(signal.SIGINT)
    with Interrupt():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
