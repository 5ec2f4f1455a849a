"""The store of JSON lines, and what could be wrong with it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tilewright.vocabulary.measure import Conditions
from tilewright.vocabulary.record import BudgetRecord, GraphRecord, Record
from tilewright_records.store.store import JsonlRecordStore
from tilewright_testing.store import StoreContract

TURNS = "test_what_lost_to_finalists_before_their_turns_stands_behind_them"
STILL_LEADS = "test_what_was_faster_than_finalists_before_their_turns_still_leads"
ASKED_FOR = "test_a_query_ranks_and_counts_the_configs_that_it_asks_for"
KIN = "test_kin_are_the_tasks_of_a_target_that_differ_in_their_epilogue_only"
SYSTEMS = "test_records_of_other_systems_are_found_by_what_they_compute"
TURNED = "test_what_failed_counts_as_failed_until_it_succeeds_and_the_other_way_round"
BEFORE = "test_what_was_recorded_under_a_name_of_before_counts_under_the_present_one"
WHOSE = "test_it_tells_whose_records_it_holds_and_which_are_of_old_revisions"


class Good(JsonlRecordStore):
    fails = frozenset()


class CreatesItsFile(Good):
    fails = {"test_an_unused_store_leaves_nothing_behind"}

    def __init__(self, path):
        path.touch()
        super().__init__(path)


class LosesALine(Good):
    """The last of each batch of several."""

    fails = {
        "test_what_was_appended_is_read_back_in_order",
        "test_the_last_choice_for_a_node_counts",
        "test_of_a_config_measured_again_the_last_time_counts",
        SYSTEMS,
        TURNED,
        WHOSE,
    }

    def append(self, records):
        records = list(records)
        super().append(records[:-1] or records)


class WritesBackward(Good):
    fails = {
        "test_what_was_appended_is_read_back_in_order",
        "test_the_last_choice_for_a_node_counts",
        "test_of_a_config_measured_again_the_last_time_counts",
        TURNED,
    }

    def append(self, records):
        super().append(list(records)[::-1])


class WritesOver(Good):
    """What is in the file already is lost."""

    fails = {
        "test_what_was_appended_is_read_back_in_order",
        "test_writers_beside_each_other_lose_nothing",
        "test_budgets_add_up",
        BEFORE,
        TURNS,
    }

    def append(self, records):
        self.path.unlink(missing_ok=True)
        super().append(records)


class NeverLooksAgain(Good):
    fails = {"test_another_reader_sees_what_was_appended_since"}

    opened = False

    def refresh(self):
        if not self.opened:
            super().refresh()
        self.opened = True


class GivesTheSlowest(Good):
    fails = {
        "test_other_devices_and_revisions_are_misses",
        "test_the_best_is_the_smallest_median_of_equal_conditions",
        "test_of_a_config_measured_again_the_last_time_counts",
        TURNS,
        STILL_LEADS,
    }

    def best(self, query):
        timed = [r for r in self.records(query.task.key) if r.seconds is not None]
        return max(timed, key=lambda r: r.seconds) if super().best(query) else None


class CountsTheFirstTime(Good):
    fails = {"test_of_a_config_measured_again_the_last_time_counts", TURNS}

    def best(self, query):
        if super().best(query) is None:
            return None
        first = {}
        for record in self.records(query.task.key):
            if record.seconds is not None:
                first.setdefault(record.config, record)
        return min(first.values(), key=lambda r: r.seconds)


class MixesConditions(Good):
    fails = {"test_the_best_is_the_smallest_median_of_equal_conditions"}

    def best(self, query):
        found = (
            super(MixesConditions, self).best(replace(query, conditions=Conditions(c)))
            for c in ("cold", "warm")
        )
        return next(filter(None, found), None)


class MixesDevices(Good):
    fails = {"test_other_devices_and_revisions_are_misses"}

    def best(self, query):
        asked = [replace(query, fingerprint=found) for _, found in self.devices()]
        return next(filter(None, map(super().best, asked)), None)


class MixesRevisions(Good):
    fails = {"test_other_devices_and_revisions_are_misses"}

    def best(self, query):
        revisions = {"hill": 2}
        return super().best(query) or super().best(replace(query, revisions=revisions))


class ForgetsConditions(Good):
    fails = {"test_conditions_survive"}

    def append(self, records):
        super().append(_with_conditions(record, number=1) for record in records)


class ForgetsTurns(Good):
    fails = {TURNS}

    def append(self, records):
        super().append(_with_conditions(record, turns=1) for record in records)


class KeepsTheFirstChoice(Good):
    fails = {"test_the_last_choice_for_a_node_counts"}

    def append(self, records):
        known = set()
        kept = []
        for record in records:
            if not (isinstance(record, GraphRecord) and record.node in known):
                kept.append(record)
                known.add(getattr(record, "node", None))
        super().append(kept)


class CountsOneBudget(Good):
    fails = {"test_budgets_add_up"}

    spent_once = False

    def append(self, records):
        fresh = [r for r in records if not (isinstance(r, BudgetRecord) and r.finished)]
        super().append(fresh)


class RanksEverything(Good):
    fails = {ASKED_FOR}

    def ranked(self, query):
        return super().ranked(replace(query, where=None))


class CountsEverything(Good):
    fails = {ASKED_FOR}

    def count(self, query):
        return super().count(replace(query, where=None))


class NeverForgives(Good):
    """What failed once has failed."""

    fails = {TURNED, BEFORE}

    def failed(self, query):
        trials = (record.trial for record in self.records(query.task.key))
        asked = (trial for trial in trials if query.asks_for(trial.input.config))
        return {t.input.config: t.result.failure for t in asked if t.result.failure}


class AsksOtherTargetsForKin(Good):
    fails = {KIN}

    def best_of_anchor(self, query):
        key, own = query.task.workload.anchor_key, query.task
        kin = (r for r in self.records() if r.task.workload.anchor_key == key and r.task != own)
        return min(kin, key=lambda record: record.seconds, default=None)


class IsItsOwnKin(Good):
    fails = {KIN}

    def best_of_anchor(self, query):
        return self.best(query) or super().best_of_anchor(query)


class ForgetsOtherSystems(Good):
    fails = {SYSTEMS}

    def of_other_systems(self, workload, revisions):
        return []


class KnowsNoNameOfBefore(Good):
    """As if the mapping of revisions were a plain one, which has the names of before besides."""

    fails = {BEFORE}

    def trials(self, device_fingerprint, revisions, operators=None):
        return super().trials(device_fingerprint, _plain(revisions), operators)

    def ranked(self, query):
        return super().ranked(replace(query, revisions=_plain(query.revisions)))


class SeesNothingStale(Good):
    fails = {WHOSE}

    def stale(self, revisions):
        return Counter()


def _plain(revisions):
    return {**revisions, **{name: revisions[name] for name in ("hill",) if name in revisions}}


def _with_conditions(record, **changed):
    if not isinstance(record, Record):
        return record
    asked = record.trial.input
    conditions = replace(asked.conditions, **changed)
    return replace(record, trial=replace(record.trial, input=replace(asked, conditions=conditions)))


class TestStores(StoreContract):
    @pytest.fixture(
        params=[
            Good,
            CreatesItsFile,
            LosesALine,
            WritesBackward,
            WritesOver,
            NeverLooksAgain,
            GivesTheSlowest,
            CountsTheFirstTime,
            MixesConditions,
            MixesDevices,
            MixesRevisions,
            ForgetsConditions,
            ForgetsTurns,
            KeepsTheFirstChoice,
            CountsOneBudget,
            RanksEverything,
            CountsEverything,
            NeverForgives,
            AsksOtherTargetsForKin,
            IsItsOwnKin,
            ForgetsOtherSystems,
            KnowsNoNameOfBefore,
            SeesNothingStale,
        ]
    )
    def variant(self, request):
        return request.param

    @pytest.fixture
    def open_store(self, variant, tmp_path):
        return lambda: variant(tmp_path / "records")
