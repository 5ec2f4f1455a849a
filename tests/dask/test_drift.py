"""A device that is not as fast as usual is set aside, and what it measured since is not believed."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from fleet_bench import has_devices, until

from tilewright.roles import BuildResult
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import (
    Conditions,
    Failure,
    FailureKind,
    MeasureInput,
    MeasureResult,
)
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import Workload
from tilewright_dask import fleet_log
from tilewright_dask.driver.batch import Batch, Candidate
from tilewright_dask.driver.seat import Seat
from tilewright_dask.worker.drift import Drift


def looks(drift, *seconds, limit=0.2):
    """What each look finds, of a device that takes so long, three times a look."""
    return [drift.look("key", lambda s=each: s, limit) for each in seconds]


def test_a_device_that_is_as_usual_is_not_off():
    assert looks(Drift(), 1.0, 1.1, 0.95, 1.19) == [0.0] * 4


def test_a_slower_one_is_off_by_its_share():
    assert looks(Drift(), 1.0, 1.3, 1.0) == [0.0, pytest.approx(0.3), 0.0]


def test_one_slow_look_of_three_is_noise():
    drift, seconds = Drift(), iter([1.0, 5.0, 5.0, 1.0])
    assert [drift.look("key", lambda: next(seconds), 0.2) for _ in range(2)] == [0.0, 0.0]


def test_one_that_stays_slow_is_taken_as_it_is():
    assert [share > 0 for share in looks(Drift(), 1.0, 2.0, 2.0, 2.0, 2.0, 2.1)] == [
        False,
        True,
        True,
        False,
        False,
        False,
    ]


def test_one_that_is_slow_again_and_again_is_usually_so():
    drift = Drift()
    assert [share > 0 for share in looks(drift, 1.0, 2.0, 1.0, 1.0, 1.8, 1.0, 1.9, 1.0, 2.1)] == [
        False, True, False, False, True, False, False, False, False,
    ]  # fmt: skip
    looks(drift, *[1.0] * 9)
    assert looks(drift, 1.8) == [pytest.approx(0.8)]


def test_one_that_is_faster_was_slow_before():
    drift = Drift()
    assert looks(drift, 1.0, 0.5, 1.0)[1:] == [0.0, pytest.approx(1.0)]


def test_a_reference_that_cannot_be_measured_tells_nothing():
    drift = Drift()
    assert looks(drift, 1.0, None, 1.0) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("speeds", "off"),
    [
        ([1.0], "-"),
        ([1.0, 1.19], "--"),
        ([1.0, 2.0], "-s"),
        ([1.0, None, 2.0], "--s"),
        ([1.0, 1.0, 2.0], "--s"),
        ([1.0, 2.0, 2.0], "f--"),
        ([1.0, 1.1, 1.2, 3.0], "---s"),
    ],
)
def test_of_fellows_who_is_off_from_the_median_is_set_aside(speeds, off):
    seats = [Seat(None, speed=speed) for speed in speeds]
    told = [seat.off_told(seats, 0.2) or "is -" for seat in seats]
    assert "".join(text.split()[1][0] for text in told) == off
    assert seats[0].off_told(seats, 1e6) is None


def test_who_is_set_aside_again_and_again_is_so_for_longer():
    seat = Seat(None)
    assert [seat.set_aside() for _ in range(10)] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 320]
    seat.prove()
    assert seat.set_aside() == 1


def test_the_reference_is_the_quickest_that_a_clock_can_tell_and_is_soon_measured_again():
    task = Task(Workload("scale", (), {}), Target("x86"))
    candidates = []
    for number, seconds in enumerate((3e-3, 1e-6, 2e-3, None)):
        asked = MeasureInput(task, ConfigEntity("a", {"number": number}), Conditions(turns=4))
        future = Future()
        crashed = MeasureResult(failure=Failure(FailureKind.CRASH, ""))
        future.set_result(crashed if seconds is None else MeasureResult((seconds,)))
        candidates.append(Candidate(asked, BuildResult(None), future))
    reference = Batch(candidates).reference
    assert reference.config["number"] == 2
    assert reference.conditions == Conditions("warm", repeat=3)


@pytest.fixture
def speed(tmp_path):
    """speed(seconds): how long the reference takes on the worker that has its environment."""
    file = tmp_path / "speed"

    def write(seconds):
        file.write_text(str(seconds))
        return {"SPEED": str(file)}

    return write


def test_one_device_alone_measures_again_when_it_is_as_before(fleet, drive, speed, caplog):
    fleet.scheduler()
    fleet.worker(environment=speed(0.001))
    bench = drive(drift=0.2)
    (reference,) = bench.start("right", time="$SPEED")
    assert reference.result(120).seconds == 0.001
    (same,) = bench.start("right", time=2e-3)
    assert same.result(120).seconds == 2e-3
    speed(0.002)
    (slow,) = bench.start("right", time=3e-3)
    until(lambda: "is slower than usual by 100%" in caplog.text, "warning")
    assert "it is set aside for 1 s" in caplog.text
    assert not slow.done()
    speed(0.001)
    assert slow.result(120).seconds == 3e-3


def test_a_batch_that_no_device_measures_at_its_usual_speed_is_given_up(
    fleet, drive, speed, monkeypatch
):
    monkeypatch.setattr("tilewright_dask.driver.seat._ASIDE_SECONDS", 0.1)
    monkeypatch.setattr("tilewright_dask.driver.dispatch._MOST_SLOWNESS", 2)
    fleet.scheduler()
    fleet.worker(environment=speed(0.001))
    bench = drive(drift=0.2)
    for _ in range(2):
        (reference,) = bench.start("right", time="$SPEED")
        assert reference.result(120).seconds == 0.001
    speed(0.002)
    (lost,) = bench.start("right", time=3e-3)
    failure = lost.result(120).failure
    assert failure.kind is FailureKind.DEVICE_LOST
    assert "is slower than usual by 100%" in failure.text


def test_another_device_measures_what_a_slow_one_did_not(
    fleet, drive, speed, tmp_path, monkeypatch
):
    monkeypatch.setattr("tilewright_dask.driver.seat._ASIDE_SECONDS", 60.0)
    steady = tmp_path / "steady"
    steady.write_text("0.001")
    fleet.scheduler()
    fleet.worker(core=0, environment=speed(0.001))
    bench = drive(drift=0.2)
    (reference,) = bench.start("right", time="$SPEED")
    slow = reference.result(120).device
    fleet.worker(core=1, environment={"SPEED": str(steady)})
    has_devices(bench, 2)
    batches = [bench.start("right", time=3e-3) for _ in range(4)]
    assert all(future.result(120).seconds == 3e-3 for (future,) in batches)
    speed(0.002)
    batches = [bench.start("right", time=4e-3) for _ in range(4)]
    results = [future.result(120) for (future,) in batches]
    assert {result.seconds for result in results} == {4e-3}
    assert slow not in {result.device for result in results}
    uses = bench.runner.device_uses()
    assert set(uses) == {slow} | {result.device for result in results}
    assert {name for name, own in uses.items() if max(u.pace or 0 for u in own) > 1.5} == {slow}
    for own in uses.values():
        assert all(0 < use.busy <= use.end - use.start + 1e-6 for use in own)
        assert [use.start for use in own] == sorted(use.start for use in own)
    assert set(bench.runner.device_faults()) == {slow}
    assert set(bench.runner.device_faults()[slow]) == {"drift"}


def test_a_device_that_is_slower_than_its_fellows_measures_nothing_until_it_is_as_they_are(
    fleet, drive, speed, tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr("tilewright_dask.driver.seat._ASIDE_SECONDS", 0.2)
    monkeypatch.setattr("tilewright_dask.driver.dispatch._MOST_SLOWNESS", 1000)
    steady = tmp_path / "steady"
    steady.write_text("0.001")
    fleet.scheduler()
    fleet.worker(core=0, environment={"SPEED": str(steady)})
    bench = drive(drift=0.2)
    for _ in range(2):  # the second is measured beside the first, the reference
        (reference,) = bench.start("right", time="$SPEED")
        assert reference.result(120).seconds == 0.001
    slow = fleet.worker(core=1, environment=speed(0.002)).name()
    has_devices(bench, 2)

    def devices():
        batches = [bench.start("right", time=3e-3) for _ in range(4)]
        return {future.result(120).device for (future,) in batches}

    assert slow not in devices()
    until(lambda: f"{slow} is slower than its fellows by 100%" in caplog.text, "warning")
    assert set(bench.runner.device_faults()) == {slow}
    assert set(bench.runner.device_faults()[slow]) == {"drift"}
    speed(0.001)
    until(lambda: slow in devices(), "return of the device")


def test_what_a_device_did_is_told_in_the_order_of_time(monkeypatch):
    clock = iter([0.0, 2.0, 2.1])
    monkeypatch.setattr(fleet_log, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    log = fleet_log.FleetLog()
    log.note_use("one", {"seconds": 0.5})
    log.note_use("one", {"seconds": 1.0})  # its answer was late
    assert [use.start for use in log.uses["one"]] == pytest.approx([1.1, 1.5])
