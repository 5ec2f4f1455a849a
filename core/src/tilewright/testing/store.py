"""What every record store keeps to. Subclass and give its `name`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tilewright.device import Device
from tilewright.host import PluginHost
from tilewright.measure import Conditions, MeasureInput, Trial
from tilewright.records import BudgetRecord, JsonlRecordStore, Record
from tilewright.testing.landscape import Landscape

_DEVICE = Device("bench", {"model": "imaginary one"})
_REVISIONS = {"hill": 3}
_WARM = Conditions(constants="warm")


class StoreContract:
    """Gives back what was appended, here and to the next reader, and knows the best."""

    name: str
    options: Mapping[str, Any] = {}

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> Callable[[], JsonlRecordStore]:
        """Opens the one store of this test anew with each call."""
        host = PluginHost.load()
        path = tmp_path / "records"
        return lambda: host.make("record_store", self.name, self.options, path)

    @pytest.fixture
    def trials(self) -> list[Trial]:
        """Some trials of one task, failures among them."""
        landscape = Landscape(48)
        trials = landscape.measure_all(landscape.space.sample(random.Random(0), 60))
        assert any(trial.result.failure for trial in trials)
        return trials

    def test_an_unused_store_leaves_nothing_behind(
        self, open_store: Callable[[], JsonlRecordStore], tmp_path: Path
    ) -> None:
        assert list(open_store().records()) == []
        assert list(tmp_path.iterdir()) == []

    def test_what_was_appended_is_read_back_in_order(
        self, open_store: Callable[[], JsonlRecordStore], trials: list[Trial]
    ) -> None:
        writer = open_store()
        for start in range(0, len(trials), 7):
            writer.append(Record.of(trial, _DEVICE, 3) for trial in trials[start : start + 7])
        for store in (writer, open_store()):
            assert store.trials(_DEVICE.fingerprint, _REVISIONS) == trials
            sequence = [record.sequence for record in store.records()]
            assert sequence == sorted(set(sequence))

    def test_another_reader_sees_what_was_appended_since(
        self, open_store: Callable[[], JsonlRecordStore], trials: list[Trial]
    ) -> None:
        reader = open_store()
        open_store().append([Record.of(trials[0], _DEVICE, 3)])
        reader.refresh()
        assert reader.trials(_DEVICE.fingerprint, _REVISIONS) == trials[:1]

    def test_the_best_is_the_smallest_median_of_equal_conditions(
        self, open_store: Callable[[], JsonlRecordStore], trials: list[Trial]
    ) -> None:
        store, task = open_store(), trials[0].input.task
        store.append(Record.of(trial, _DEVICE, 3) for trial in trials)
        timed = [trial for trial in trials if trial.result.seconds is not None]
        expected = min(timed, key=lambda trial: trial.result.seconds or 0.0)
        found = store.best(task, Conditions(), _DEVICE.fingerprint, _REVISIONS)
        assert found is not None
        assert found.config == expected.input.config
        assert store.best(task, _WARM, _DEVICE.fingerprint, _REVISIONS) is None

    def test_conditions_survive(
        self, open_store: Callable[[], JsonlRecordStore], trials: list[Trial]
    ) -> None:
        asked = trials[0].input
        conditions = replace(_WARM, number=3, repeat=7, min_repeat_ms=0.5, cooldown_interval=0.25)
        warm = Trial(MeasureInput(asked.task, asked.config, conditions), trials[0].result)
        open_store().append([Record.of(warm, _DEVICE, 3)])
        assert open_store().trials(_DEVICE.fingerprint, _REVISIONS) == [warm]

    def test_other_devices_and_revisions_are_misses(
        self, open_store: Callable[[], JsonlRecordStore], trials: list[Trial]
    ) -> None:
        store, task = open_store(), trials[0].input.task
        timed = [trial for trial in trials if trial.result.seconds is not None]
        other = Device("bench", {"model": "imaginary two"})
        store.append([Record.of(timed[0], other, 3), Record.of(timed[1], _DEVICE, 2)])
        ask = (task, Conditions(), _DEVICE.fingerprint, _REVISIONS)
        assert store.best(*ask) is None
        foreign = store.best(*ask, foreign_devices=True)
        assert foreign is not None
        assert foreign.config == timed[0].input.config

    def test_budgets_add_up(self, open_store: Callable[[], JsonlRecordStore]) -> None:
        for seconds, finished in ((20.0, False), (40.0, True)):
            open_store().append(
                [BudgetRecord("stage", "bench", _DEVICE.fingerprint, finished, seconds, 10)]
            )
        assert tuple(open_store().spent("stage", _DEVICE)) == (True, 60.0, 20)
        assert tuple(open_store().spent("other", _DEVICE)) == (False, 0, 0)
