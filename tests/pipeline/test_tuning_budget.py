"""A budget of trials is spent to the last one, and once: however often the run is killed."""

from __future__ import annotations

import random
from contextlib import suppress
from types import SimpleNamespace

import pytest
from toy_tasks import entry

from tilewright.host.plugin_host import PluginHost
from tilewright.json_object import BadLineError
from tilewright.options import Choice
from tilewright.vocabulary.task_set import TaskSet
from tilewright_pipeline.context.run_setup import make_context
from tilewright_pipeline.options.budget_text import parse_budget
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.tuning.loop import tune_tasks
from tilewright_records.line import unseal
from tilewright_records.store.compact import compact_log
from tilewright_records.store.store import JsonlRecordStore

TASKS = TaskSet((entry(8), entry(16), entry(32)))


@pytest.fixture
def tune(tmp_path, toy):
    """tune(budget): a stage over the same records file, as a new process would run it."""
    host = PluginHost.load([toy])

    def run(budget, tasks=TASKS, more=None, **runner):
        context = make_context(
            host,
            name="t",
            folder=tmp_path / "run",
            target="toynative",
            runner=Choice("toy", runner),
            builder=Choice("toy"),
        )
        return tune_tasks(
            tasks,
            context,
            TuneOptions(tuner=Choice("toy"), scheduler=Choice("toy"), budget=parse_budget(budget)),
            more=None if more is None else parse_budget(more),
        )

    return run


@pytest.fixture
def log(tmp_path):
    return tmp_path / "run" / "records.jsonl"


def spent(log):
    """What the one stage on the one device spent, as the store counts it."""
    lines = []
    for line in log.read_bytes().splitlines():
        with suppress(BadLineError):  # what a kill has cut
            lines.append(unseal(line))
    (stage,) = {line.get("budget", line).get("stage") for line in lines}
    (fingerprint,) = {line["device"]["fingerprint"] for line in lines}
    device = SimpleNamespace(fingerprint=fingerprint)
    return JsonlRecordStore(log).spent(stage, device)


@pytest.mark.parametrize("budget", [1, 2, 3, 7, 20, 41, 120])
@pytest.mark.parametrize("count", [1, 3])
def test_a_budget_of_trials_is_spent_to_the_last(tune, log, budget, count):
    report = tune(budget, TaskSet(TASKS.tasks[:count]))
    assert report.measurement["trials"] == budget == len(JsonlRecordStore(log).records())


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(n, marks=pytest.mark.full) for n in range(6, 200))]
)
def test_a_run_killed_at_any_byte_goes_on_with_what_its_records_leave_of_the_budget(
    tune, log, seed
):
    """Some trials are retried, some files compacted in between."""
    chance = random.Random(seed)
    budget, count = chance.randrange(5, 60), chance.choice((1, 2, 3))
    tasks, runner = TaskSet(TASKS.tasks[:count]), {"spoils_first": chance.random() < 0.3}
    left = 0
    for _ in range(5):
        measured = tune(budget, tasks, **runner).measurement["trials"]
        assert (left + measured, spent(log).trials) == (budget, budget)
        whole = log.read_bytes()
        log.write_bytes(whole[: chance.randrange(whole.index(b"\n") + 1, len(whole) - 1)])
        if chance.random() < 0.3:
            compact_log(log)
        left = spent(log).trials
    tune(budget, tasks, **runner)
    assert tune(budget, tasks, **runner).skipped


@pytest.mark.parametrize("count", [3, 8, 15])
def test_a_line_that_lacks_only_its_end_is_paid_for_once(tune, log, count):
    tune(20)
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:count]).removesuffix(b"\n"))
    left = spent(log).trials
    assert left + tune(20).measurement["trials"] == spent(log).trials == 20


def test_more_trials_are_exactly_so_many_more_even_after_a_kill(tune, log):
    tune(20)
    tune(20, more=15)
    assert spent(log).trials == 35
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:12]))
    tune(20, more=15)
    assert spent(log).trials == 35


def test_two_stages_in_one_file_do_not_pay_for_each_other(tune, log):
    tune(20)
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:8]))
    tune(30)
    assert len(JsonlRecordStore(log).records()) == 8 + 30
    assert tune(20).measurement["trials"] == 20 - 8


def test_seconds_that_a_killed_run_spent_are_spent(tune, log):
    tune(20, seconds=0.002)
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:10]))
    before = sum(record.charge.seconds for record in JsonlRecordStore(log).records())
    assert spent(log).seconds == pytest.approx(before)
    assert before >= 10 * 0.002
