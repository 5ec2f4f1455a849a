"""What every record store keeps to. Subclass and give its `name`.

>>> class TestMine(StoreContract):
...     name = "mine"
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.roles import RecordStore
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Conditions, MeasureInput, MeasureResult, Trial
from tilewright.vocabulary.record import BudgetRecord, GraphRecord, Query, Record
from tilewright.vocabulary.revisions import Revisions
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import EpilogueOp
from tilewright_testing.component import ComponentContract
from tilewright_testing.support.landscape import Landscape

_DEVICE = Device("bench", {"model": "imaginary one"})
_REVISIONS = {"hill": 3}
_WARM = Conditions(constants="warm")


class StoreContract(ComponentContract):
    """Returns what was appended, here and to the next reader, and finds the best."""

    role = "record_store"

    @pytest.fixture
    def open_store(self, host: PluginHost, tmp_path: Path) -> Callable[[], RecordStore]:
        """Opens the one store of this test again with each call."""
        return lambda: self.made(host, tmp_path / "records")

    @pytest.fixture
    def trials(self) -> list[Trial]:
        """Some trials of one task, failures among them."""
        landscape = Landscape(48)
        trials = landscape.measure_all(landscape.space.sample(random.Random(0), 60))
        assert any(trial.result.failure for trial in trials)
        return trials

    def test_an_unused_store_leaves_nothing_behind(
        self, open_store: Callable[[], RecordStore], tmp_path: Path
    ) -> None:
        assert list(open_store().records()) == []
        assert list(tmp_path.iterdir()) == []

    def test_what_was_appended_is_read_back_in_order(
        self, open_store: Callable[[], RecordStore], trials: list[Trial]
    ) -> None:
        writer = open_store()
        for start in range(0, len(trials), 7):
            writer.append(Record.of(trial, _DEVICE, 3) for trial in trials[start : start + 7])
        for store in (writer, open_store()):
            assert store.trials(_DEVICE.fingerprint, _REVISIONS) == trials
            own = trials[0].input.task.workload.operator
            assert store.trials(_DEVICE.fingerprint, _REVISIONS, {own}) == trials
            assert store.trials(_DEVICE.fingerprint, _REVISIONS, {"another"}) == []
            sequence = [record.sequence for record in store.records()]
            assert sequence == sorted(set(sequence))

    def test_another_reader_sees_what_was_appended_since(
        self, open_store: Callable[[], RecordStore], trials: list[Trial]
    ) -> None:
        reader = open_store()
        open_store().append([Record.of(trials[0], _DEVICE, 3)])
        reader.refresh()
        assert reader.trials(_DEVICE.fingerprint, _REVISIONS) == trials[:1]

    def test_the_best_is_the_smallest_median_of_equal_conditions(
        self, open_store: Callable[[], RecordStore], trials: list[Trial]
    ) -> None:
        store, task = open_store(), trials[0].input.task
        store.append(Record.of(trial, _DEVICE, 3) for trial in trials)
        timed = [trial for trial in trials if trial.result.seconds is not None]
        expected = min(timed, key=lambda trial: trial.result.seconds or 0.0)
        found = store.best(Query(task, Conditions(), _DEVICE.fingerprint, _REVISIONS))
        assert found is not None
        assert found.config == expected.input.config
        assert store.best(Query(task, _WARM, _DEVICE.fingerprint, _REVISIONS)) is None

    def test_conditions_survive(
        self, open_store: Callable[[], RecordStore], trials: list[Trial]
    ) -> None:
        asked = trials[0].input
        conditions = replace(_WARM, number=3, repeat=7, min_repeat_ms=0.5, cooldown_interval=0.25)
        warm = Trial(MeasureInput(asked.task, asked.config, conditions), trials[0].result)
        open_store().append([Record.of(warm, _DEVICE, 3)])
        assert open_store().trials(_DEVICE.fingerprint, _REVISIONS) == [warm]

    def test_other_devices_and_revisions_are_misses(
        self, open_store: Callable[[], RecordStore], trials: list[Trial]
    ) -> None:
        store, task = open_store(), trials[0].input.task
        timed = [trial for trial in trials if trial.result.seconds is not None]
        other = Device("bench", {"model": "imaginary two"})
        store.append([Record.of(timed[0], other, 3), Record.of(timed[1], _DEVICE, 2)])
        query = Query(task, Conditions(), _DEVICE.fingerprint, _REVISIONS)
        assert store.best(query) is None
        there = store.best(replace(query, fingerprint=other.fingerprint))
        assert there is not None
        assert there.config == timed[0].input.config

    def test_of_a_config_measured_again_the_last_time_counts(
        self, open_store: Callable[[], RecordStore], trials: list[Trial]
    ) -> None:
        asked, other = trials[0].input, trials[1].input
        assert _leader(open_store, (asked, 1e-3), (other, 2e-3), (asked, 3e-3)) == other.config

    def test_what_failed_counts_as_failed_until_it_succeeds_and_the_other_way_round(
        self, open_store: Callable[[], RecordStore], trials: list[Trial]
    ) -> None:
        bad = next(trial for trial in trials if trial.result.failure)
        good = next(trial for trial in trials if trial.result.costs)
        turned = [Trial(bad.input, good.result), Trial(good.input, bad.result)]
        open_store().append(Record.of(trial, _DEVICE, 3) for trial in [bad, good, *turned])
        store = open_store()
        query = Query(bad.input.task, Conditions(), _DEVICE.fingerprint, _REVISIONS)
        assert [found.record.config for found in store.ranked(query)] == [bad.input.config]
        assert store.failed(query) == {good.input.config: bad.result.failure}

    def test_a_query_ranks_and_counts_the_configs_that_it_asks_for(
        self, open_store: Callable[[], RecordStore], trials: list[Trial]
    ) -> None:
        store, task = open_store(), trials[0].input.task
        stranger = _asked_of(Landscape(32).task, trials[0])
        store.append(Record.of(trial, _DEVICE, 3) for trial in [*trials, stranger])
        whole = Query(task, Conditions(), _DEVICE.fingerprint, _REVISIONS)
        for query in (
            whole,
            replace(whole, where=lambda config: config.strategy == "hill/wide"),
            replace(whole, alternatives=lambda name: name == "hill/wide"),
        ):
            own = [trial for trial in trials if query.asks_for(trial.input.config)]
            failed = {trial.input.config for trial in own if trial.result.failure}
            seconds = [trial.result.seconds for trial in own if trial.result.seconds is not None]
            assert [found.seconds for found in store.ranked(query)] == sorted(seconds)
            assert store.failed(query).keys() == failed
            assert tuple(store.count(query)) == (len(own), len(failed))

    def test_kin_are_the_tasks_of_a_target_that_differ_in_their_epilogue_only(
        self, open_store: Callable[[], RecordStore], trials: list[Trial]
    ) -> None:
        store, task, larger = open_store(), trials[0].input.task, Landscape(96).task
        kin = Task(replace(task.workload, epilogue=(EpilogueOp("imaginary"),)), task.target)
        elsewhere = Task(kin.workload, Target("elsewhere"))
        timed = sorted(
            (trial for trial in trials if trial.result.costs), key=lambda t: t.result.costs
        )
        told = [
            _asked_of(asked, trial)
            for asked, trial in zip((task, larger, elsewhere, kin, kin), timed, strict=False)
        ]
        store.append(Record.of(trial, _DEVICE, 3) for trial in told)
        query = Query(task, Conditions(), _DEVICE.fingerprint, _REVISIONS)
        found = store.best_of_anchor(query)
        assert found is not None
        assert found.trial == told[3]
        assert store.best_of_anchor(replace(query, task=larger)) is None

    def test_records_of_other_systems_are_found_by_what_they_compute(
        self, open_store: Callable[[], RecordStore], trials: list[Trial]
    ) -> None:
        store, task = open_store(), trials[0].input.task
        strange = ConfigEntity("elsewhere:template", {"tile": [4, 2]})
        asked = MeasureInput(Task(task.workload, Target("elsewhere")), strange)
        told = [trials[0], Trial(asked, MeasureResult((1e-3,)))]
        store.append(Record.of(trial, _DEVICE, 3) for trial in told)
        found = store.of_other_systems(task.workload, _REVISIONS)
        assert [record.config for record in found] == [strange]
        assert not store.of_other_systems(Landscape(96).task.workload, _REVISIONS)

    def test_it_tells_whose_records_it_holds_and_which_are_of_old_revisions(
        self, open_store: Callable[[], RecordStore], trials: list[Trial]
    ) -> None:
        store, task = open_store(), trials[0].input.task
        other = Device("bench", {"model": "imaginary two"})
        owners = ((_DEVICE, 3), (_DEVICE, 2), (other, 3))
        store.append(Record.of(t, *owner) for t, owner in zip(trials, owners, strict=False))
        assert dict(store.devices()) == {
            ("bench", _DEVICE.fingerprint): 2,
            ("bench", other.fingerprint): 1,
        }
        assert not store.devices({"valley": 1})
        assert dict(store.stale(_REVISIONS)) == {"hill": 1}
        assert store.tasks() == [task]
        assert [len(store.records(key)) for key in (task.key, "another")] == [3, 0]

    def test_what_lost_to_finalists_before_their_turns_stands_behind_them(
        self, open_store: Callable[[], RecordStore], trials: list[Trial]
    ) -> None:
        finalist, loser, newcomer = (trial.input for trial in trials[:3])
        in_turns = replace(finalist, conditions=replace(finalist.conditions, turns=4))
        assert _leader(open_store, (finalist, 1e-3)) == finalist.config
        assert _leader(open_store, (loser, 2e-3)) == finalist.config
        assert _leader(open_store, (in_turns, 3e-3)) == finalist.config
        assert _leader(open_store, (newcomer, 2.5e-3)) == newcomer.config

    def test_what_was_faster_than_finalists_before_their_turns_still_leads(
        self, open_store: Callable[[], RecordStore], trials: list[Trial]
    ) -> None:
        """They were not measured with it: it is another log's, or another choice of strategies'."""
        finalist, other = (trial.input for trial in trials[:2])
        in_turns = replace(finalist, conditions=replace(finalist.conditions, turns=4))
        told = (other, 1e-3), (finalist, 1.5e-3), (in_turns, 2e-3)
        assert _leader(open_store, *told) == other.config

    def test_writers_beside_each_other_lose_nothing(
        self, open_store: Callable[[], RecordStore], trials: list[Trial]
    ) -> None:
        def write(own: list[Trial]) -> None:
            store = open_store()
            for trial in own:
                store.append([Record.of(trial, _DEVICE, 3)])

        writers = [threading.Thread(target=write, args=(trials[n::3],)) for n in range(3)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        records = open_store().records()
        assert len({record.sequence for record in records}) == len(records) == len(trials)
        assert {record.config for record in records} == {trial.input.config for trial in trials}

    def test_the_last_choice_for_a_node_counts(
        self, open_store: Callable[[], RecordStore], trials: list[Trial]
    ) -> None:
        chosen = [
            GraphRecord(
                node, asked.task, asked.config, _DEVICE.name, _DEVICE.fingerprint, revision=3
            )
            for node, asked in zip("aba", (trial.input for trial in trials), strict=False)
        ]
        open_store().append(chosen)
        found = open_store().graph_choices(_DEVICE.fingerprint, _REVISIONS)
        assert {node: record.config for node, record in found.items()} == {
            "a": chosen[2].config,
            "b": chosen[1].config,
        }

    def test_what_was_recorded_under_a_name_of_before_counts_under_the_present_one(
        self, open_store: Callable[[], RecordStore], trials: list[Trial]
    ) -> None:
        """Of a config the last measurement, under whichever name; every answer has the present."""
        revisions = Revisions({"hill.bench": 3}, {"hill": "hill.bench"})
        bad = next(trial for trial in trials if trial.result.failure)
        again, other, *_ = (trial.input for trial in trials if trial.result.costs)
        slower, one = MeasureResult((3e-3,)), MeasureResult((1e-3,))
        told = [Trial(again, one), Trial(other, MeasureResult((2e-3,))), bad]
        for trial in (*told, Trial(replace(again, config=_present(again.config)), slower)):
            open_store().append([Record.of(trial, _DEVICE, 3)])
        chosen = GraphRecord("a", again.task, again.config, "bench", _DEVICE.fingerprint, 3)
        open_store().append([chosen])
        store = open_store()
        query = Query(again.task, Conditions(), _DEVICE.fingerprint, revisions)
        ranked = [(found.record.config, found.seconds) for found in store.ranked(query)]
        assert ranked == [(_present(other.config), 2e-3), (_present(again.config), 3e-3)]
        assert store.failed(query).keys() == {_present(bad.input.config)}
        known = [trial.input.config for trial in store.trials(_DEVICE.fingerprint, revisions)]
        asked = [trial.input.config for trial in told] + [again.config]
        assert known == [_present(config) for config in asked]
        kept = store.graph_choices(_DEVICE.fingerprint, revisions)
        assert kept["a"].config == _present(again.config)

    def test_budgets_add_up(self, open_store: Callable[[], RecordStore]) -> None:
        for seconds, finished in ((20.0, False), (40.0, True)):
            open_store().append(
                [BudgetRecord("stage", "bench", _DEVICE.fingerprint, finished, seconds, 10)]
            )
        assert tuple(open_store().spent("stage", _DEVICE)) == (True, 60.0, 20)
        assert tuple(open_store().spent("other", _DEVICE)) == (False, 0, 0)


def _asked_of(task: Task, trial: Trial) -> Trial:
    return Trial(replace(trial.input, task=task), trial.result)


def _present(config: ConfigEntity) -> ConfigEntity:
    return replace(config, strategy=config.strategy.replace("hill", "hill.bench"))


def _leader(
    open_store: Callable[[], RecordStore], *told: tuple[MeasureInput, float]
) -> ConfigEntity:
    """The best config of the first one's task, once its store has been told these seconds too."""
    open_store().append(
        Record.of(Trial(asked, MeasureResult((seconds,))), _DEVICE, 3) for asked, seconds in told
    )
    task = told[0][0].task
    found = open_store().best(Query(task, Conditions(), _DEVICE.fingerprint, _REVISIONS))
    assert found is not None
    return found.config
