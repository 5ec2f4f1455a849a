"""Workers with cores to spare build what devices measure, and whatever befalls them costs nothing."""

from __future__ import annotations

import json
import os
import signal

import pytest
from fault_bench import FAULTS
from fleet_bench import has_builder, until

from tilewright.vocabulary.measure import Conditions, FailureKind
from tilewright_cli.terminal.group import run
from tilewright_dask.driver.fleet_link import FleetLink

pytestmark = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="a builder beside a device needs a core of its own"
)


def builders_of(fleet):
    """What `fleet ls --json` says of them, a moment ago."""
    link = FleetLink.of(fleet.address, fleet.tls)
    return [one for one in link.run(link.members()) if one.name.startswith("builder@")]


def built(fleet):
    return sum(one.row()["built"] for one in builders_of(fleet))


@pytest.fixture
def pair(fleet):
    """A device, and a builder on another core."""
    fleet.scheduler()
    told = {"FAULT_CHILD": str(fleet.folder / "told")}
    return fleet.worker(core=0, environment=told), fleet.builder(core=1, environment=told)


def test_a_builder_builds_what_the_device_measures(fleet, pair, drive):
    bench = drive()
    has_builder(bench)
    before = built(fleet)
    for number in range(3):
        (future,) = bench.start("right", time=(2 + number) / 1e3)
        result = future.result(120)
        assert result.seconds == (2 + number) / 1e3
        assert result.device.startswith("fake@")
        assert result.timings["lower"] > 0
    until(lambda: built(fleet) >= before + 3, "count of what was built")
    assert bench.runner.batches_at_once == 3


def test_what_does_not_build_costs_itself_alone(fleet, pair, drive):
    bench = drive(timeout_seconds=6)
    has_builder(bench)
    asked = [bench.ask(lower=name) for name in ("", "refuse", "segfault", "fail", "")]
    kinds = [result.failure and result.failure.kind for result in bench.measure_all(asked)]
    wrong = [FailureKind.INVALID_CONFIG, FailureKind.CRASH, FailureKind.BUILD_ERROR]
    assert kinds == [None, *wrong, None]


def test_turns_of_a_candidate_are_of_one_build(fleet, pair, drive):
    bench = drive()
    has_builder(bench)
    asked = [bench.ask(conditions=Conditions(min_repeat_ms=0.5, turns=3), time=2e-3)]
    builds = bench.builder.build(asked)
    turns = [bench.runner.run(asked, builds)[0].result(120) for _ in range(3)]
    assert {result.seconds for result in turns} == {2e-3}
    assert ["lower" in result.timings for result in turns] == [True, False, False]


def test_what_is_built_counts_of_itself_comes_back(fleet, pair, drive):
    bench = drive()
    has_builder(bench)
    asked = [bench.ask(time=2e-3)]
    builds = bench.builder.build(asked)
    bench.runner.run(asked, builds)[0].result(120)
    assert builds[0].artifact.metadata["counts"] == {"programs": 1}


def test_a_device_that_has_nothing_to_do_does_not_wait_for_a_builder(fleet, pair, drive, living_in):
    bench = drive(timeout_seconds=60)
    has_builder(bench)
    (slow,) = bench.start("right", lower="hang_with_gil")
    until(lambda: living_in(fleet.temporary(pair[1])), "process that builds")
    assert [future.result(120).seconds for future in bench.start("right", time=2e-3)] == [2e-3]
    assert not slow.done()


def test_a_builder_that_is_killed_costs_nothing(fleet, pair, drive, living_in):
    told = fleet.folder / "told"
    bench = drive(timeout_seconds=60)
    has_builder(bench)
    _, killed = pair
    futures = [*bench.start("right", time=2e-3, lower="hang_once"), *bench.start("right")]
    until(told.exists, "process that builds")
    killed.end(signal.SIGKILL)
    assert [future.result(120).seconds for future in futures] == [2e-3, 1e-3]
    until(lambda: not living_in(fleet.temporary(killed)), "end of all that builds")
    until(lambda: bench.runner.batches_at_once == 2, "notice of the loss")
    ((name, faults),) = bench.runner.builder_faults().items()
    assert (name, set(faults)) == (killed.name("builder"), {"builder_lost"})
    assert bench.runner.device_faults() == {}


def test_a_stopped_builder_is_lost_until_it_goes_on(fleet, pair, drive, soon_silent):
    bench = drive()
    has_builder(bench)
    _, stopped = pair
    stopped.process.send_signal(signal.SIGSTOP)
    soon_silent(stopped)
    assert [future.result(120).seconds for future in bench.start("right", time=2e-3)] == [2e-3]
    assert bench.runner.builder_faults() == {stopped.name("builder"): {"builder_lost": 1}}
    stopped.process.send_signal(signal.SIGCONT)
    until(lambda: bench.runner.batches_at_once == 3, "return of the builder")


def test_builders_that_come_and_are_killed_lose_nothing(fleet, pair, drive):
    bench = drive()
    has_builder(bench)
    _, builder = pair
    batches = []
    for number in range(12):
        batches.append(bench.start("right", "right", time=(1 + number) / 1e3))
        if number in (4, 8):
            builder.end(signal.SIGKILL)
            builder = fleet.builder(core=1)
    found = [[future.result(120).seconds for future in batch] for batch in batches]
    assert found == [[(1 + number) / 1e3] * 2 for number in range(12)]


def test_a_builder_that_comes_late_joins(fleet, drive):
    fleet.scheduler()
    fleet.worker(core=0)
    bench = drive()
    assert bench.measure().failure is None
    fleet.builder(core=1)
    has_builder(bench)


def test_nothing_is_built_on_the_cores_of_a_device(fleet, drive, caplog):
    fleet.scheduler()
    device, builder = fleet.worker(core=0), fleet.builder(core=0)
    bench = drive()
    until(lambda: "is not used: it has cores of fake@" in caplog.text, "warning")
    assert bench.measure().failure is None
    assert bench.runner.batches_at_once == 2
    device.end()
    assert builder.process.poll() is None
    assert built(fleet) == 0


def test_a_builder_of_another_version_is_left_out(fleet, drive, other_version, caplog):
    fleet.scheduler()
    fleet.worker(core=0)
    fleet.builder(core=1, environment=other_version)
    bench = drive()
    until(lambda: "left out: builder@" in caplog.text, "warning")
    assert bench.measure().failure is None
    assert bench.runner.batches_at_once == 2


def test_a_builder_takes_plugin_files_only_where_it_accepts_them(fleet, drive, tmp_path, caplog):
    changed = tmp_path / FAULTS.name
    changed.write_text(FAULTS.read_text() + "\n# changed\n")
    fleet.scheduler()
    fleet.worker("--accept-plugins", core=0)
    refusing = fleet.builder(core=1)
    bench = drive(files=(changed,))
    until(lambda: "takes no plugin files" in caplog.text, "warning")
    assert bench.measure().failure is None
    refusing.end()
    fleet.builder("--accept-plugins", core=1)
    has_builder(bench)


def test_a_run_that_is_closed_leaves_nothing_building(fleet, pair, drive, living_in):
    bench = drive(timeout_seconds=60)
    has_builder(bench)
    futures = bench.start("right", lower="hang_with_gil")
    until(lambda: living_in(fleet.temporary(pair[1])), "process that builds")
    bench.runner.close()
    assert {future.result(120).failure.kind for future in futures} == {FailureKind.CANCELLED}
    until(lambda: not living_in(fleet.temporary(pair[1])), "end of all that builds")


def test_ls_shows_builders(fleet, pair, capsys):
    assert run(["fleet", "ls", fleet.address, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["device"].partition("@")[0] for row in found["devices"]] == ["fake"]
    (row,) = found["builders"]
    assert set(row) == {"worker", "pid", "cores", "state", "built"}
    assert row["pid"] == pair[1].process.pid
    assert (row["cores"], row["state"], row["built"]) == (
        [sorted(os.sched_getaffinity(0))[1]],
        "idle",
        0,
    )
    assert run(["fleet", "ls", fleet.address]) == 0
    assert "builder@127.0.0.1:" in capsys.readouterr().out


def test_a_worker_builds_or_has_a_device(fleet):
    started = fleet.start("worker", "tcp://127.0.0.1:1", "--builds", "--device", "cpu")
    assert started.process.wait(120) == 2
    assert "error: --device: a worker that builds announces no device" in started.log.read_text()
