"""What a fleet measures is what one machine would, on many devices at once."""

from __future__ import annotations

import pytest
from fleet_bench import has_devices, until

from tilewright.errors import UsageError
from tilewright.roles import TakesBatches
from tilewright.vocabulary.measure import Conditions, FailureKind


def devices_of(results):
    return {result.device for result in results}


def test_results_come_in_order_and_name_their_device(fleet, drive):
    fleet.scheduler()
    worker = fleet.worker()
    bench = drive()
    asked = [bench.ask(time=seconds) for seconds in (1e-3, 2e-3, 3e-3)]
    asked.insert(1, bench.ask("skips_the_tail"))
    results = bench.measure_all(asked)
    assert [result.seconds for result in results] == [1e-3, None, 2e-3, 3e-3]
    assert results[1].failure.kind is FailureKind.WRONG_ANSWER
    address = worker.says("serving").partition("://")[2]
    assert devices_of(results) == {f"fake@{address}"}


def test_two_devices_serve_one_run(fleet, drive):
    fleet.scheduler()
    fleet.worker(core=0)
    fleet.worker(core=1)
    bench = drive()
    assert isinstance(bench.runner, TakesBatches)
    has_devices(bench, 2)
    batches = [bench.runner.run(asked, bench.builder.build(asked)) for asked in [[bench.ask()]] * 8]
    assert len(devices_of([future.result(120) for batch in batches for future in batch])) == 2


def test_turns_of_a_candidate_are_of_one_device(fleet, drive):
    fleet.scheduler()
    fleet.worker(core=0)
    fleet.worker(core=1)
    bench = drive()
    has_devices(bench, 2)
    turns = Conditions(min_repeat_ms=0.5, turns=3)
    asked = [bench.ask(conditions=turns, time=seconds) for seconds in (1e-3, 2e-3)]
    others = [bench.ask()]
    seen = set()
    for due in (asked, asked[1:], asked[1:]):  # one that fails gets no further turn
        pending = bench.runner.run(due, bench.builder.build(due))
        bench.runner.run(others, bench.builder.build(others))
        seen |= devices_of([future.result(120) for future in pending])
    assert len(seen) == 1


def test_code_that_the_drive_built_is_sent(fleet, drive, make_bench):
    fleet.scheduler()
    fleet.worker()
    bench, local = drive(), make_bench()
    asked = [bench.ask(time=2e-3), bench.ask(lower="fail")]
    futures = bench.runner.run(asked, local.builder.build(asked))
    good, bad = (future.result(120) for future in futures)
    assert good.seconds == 2e-3
    assert bad.failure is not None
    assert not bad.device


def kinds_of(results):
    return [result.failure and result.failure.kind for result in results]


def test_candidates_that_do_harm_cost_themselves_alone(fleet, drive, living_in, tmp_path):
    """They crash, hang, end their process, take memory, leave children and daemons."""
    fleet.scheduler()
    told = tmp_path / "told"
    worker = fleet.worker(environment={"FAULT_CHILD": str(told)})
    bench = drive(timeout_seconds=6, memory_gib=2)
    harm = ("segfault", "hang_with_gil", "leave", "eat_memory", "spawn_child")
    asked = [bench.ask(act) for act in ("right", *harm, "spawn_daemon_and_die", "right")]
    assert kinds_of(bench.measure_all(asked)) == [
        None,
        FailureKind.CRASH,
        FailureKind.RUN_TIMEOUT,
        FailureKind.CRASH,
        FailureKind.OUT_OF_MEMORY,
        FailureKind.CRASH,
        FailureKind.CRASH,
        None,
    ]
    assert len(told.read_text().split()) >= 2
    assert bench.runner.device_faults() == {}
    bench.runner.close()
    until(lambda: not living_in(fleet.temporary(worker)), "end of all that candidates left")


def test_candidates_that_do_harm_while_they_are_built_cost_themselves_alone(
    fleet, drive, living_in, tmp_path
):
    fleet.scheduler()
    worker = fleet.worker(environment={"FAULT_CHILD": str(tmp_path / "told")})
    bench = drive(builder={"timeout_seconds": 6, "memory_gib": 2})
    acts = ("", "segfault", "fork_bomb", "leave", "eat_memory", "")
    assert kinds_of(bench.measure_all([bench.ask(lower=act) for act in acts])) == [
        None,
        FailureKind.CRASH,
        FailureKind.BUILD_TIMEOUT,
        FailureKind.CRASH,
        FailureKind.OUT_OF_MEMORY,
        None,
    ]
    bench.runner.close()
    until(lambda: not living_in(fleet.temporary(worker)), "end of all that candidates left")


def test_two_runs_share_a_fleet(fleet, drive):
    fleet.scheduler()
    fleet.worker()
    one, other = drive(), drive()
    assert all(bench.measure().seconds == 1e-3 for bench in (one, other, one, other))


def test_a_device_serves_four_runs_and_a_fifth_as_soon_as_one_of_them_ends(fleet, drive):
    fleet.scheduler()
    name = fleet.worker().name()
    four = [drive() for _ in range(4)]
    with pytest.raises(UsageError, match="it serves 4 runs already") as refused:
        drive()
    assert refused.value.where == name
    assert [bench.measure().seconds for bench in four] == [1e-3] * 4
    four[0].runner.close()
    assert drive().measure().seconds == 1e-3
    assert all(bench.runner.device_faults() == {} for bench in four)
