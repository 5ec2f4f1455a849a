"""The tuning loop over the toy world: incumbents, budgets, resume, retries, early ends."""

from __future__ import annotations

import inspect
from collections import Counter
from pathlib import Path

import pytest
from toy_tasks import entry

from tilewright import hookimpl
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task_set import TaskSet
from tilewright.vocabulary.workload import EpilogueOp
from tilewright_pipeline.context.run_setup import make_context
from tilewright_pipeline.options.budget_text import parse_budget
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.tuning.history import best_of_anchor
from tilewright_pipeline.tuning.loop import measure_incumbents, tune_tasks

TASKS = TaskSet((entry(8), entry(16), entry(32)))


class Heard:
    def __init__(self):
        self.calls = []

    @hookimpl
    def tilewright_task_started(self, task, space):
        self.calls.append(("started", task.key))

    @hookimpl
    def tilewright_batch_measured(self, task, trials):
        self.calls.append(("batch", task.key, len(trials)))

    @hookimpl
    def tilewright_task_finished(self, task, outcome):
        self.calls.append(("finished", task.key, outcome))


@pytest.fixture
def make(tmp_path, toy):
    """A function that gives a fresh context over the same records file."""

    def context(heard=(), runner=None, **options):
        return make_context(
            PluginHost.load([toy], heard),
            name="t",
            folder=tmp_path / "run",
            target="toynative",
            runner=Choice("toy", runner or {}),
            builder=Choice("toy"),
            **options,
        )

    return context


def tune(context, tasks=TASKS, budget="24", tuner=None, early_stopping=None, **options):
    return tune_tasks(
        tasks,
        context,
        TuneOptions(
            tuner=Choice("toy", tuner or {}),
            scheduler=Choice("toy"),
            budget=parse_budget(budget),
            early_stopping=early_stopping,
        ),
        **options,
    )


def configs(context, device=None):
    records = context.store.records()
    return [(r.task.key, r.config) for r in records if device in (None, r.device)]


def test_incumbents_come_first_for_every_task(make):
    context = make()
    tune(context)
    first = context.store.records()[:3]
    assert [record.task for record in first] == [entry.task for entry in TASKS]
    assert all(r.config["unroll"] == 1 and r.config["width"] == 1 for r in first)


def test_what_came_back_together_is_written_at_one_stroke(make, monkeypatch):
    context, written = make(), []
    append = context.store.append

    def counted(records):
        append(records := list(records))
        written.append(len(records))

    monkeypatch.setattr(context.store, "append", counted)
    measure_incumbents(TASKS, context)
    assert written == [3]


def test_the_budget_in_trials_holds_for_the_stage_as_a_whole(make):
    context = make()
    report = tune(context, budget="25")
    assert report.measurement["trials"] == 25 == len(context.store.records())
    counts = Counter(key for key, _ in configs(context))
    assert max(counts.values()) - min(counts.values()) <= 4


def test_failures_count_as_trials(make):
    report = tune(make(runner={"fails": "all"}), budget="12")
    assert (report.measurement["trials"], report.measurement["failures"]) == (12, 12)


def test_the_budget_in_seconds_ends_the_stage(make, soon):
    with soon(0.5):
        report = tune(make(runner={"seconds": 0.01}), budget="300ms")
    assert 3 <= report.measurement["trials"] < 40


def test_only_finalists_are_measured_twice_even_with_a_forgetful_tuner(make):
    tune(make(), budget="30")
    context = make()
    tune(context, budget="40", tuner={"forgetful": True})
    counts = Counter(configs(context))
    assert sum(counts.values()) == 70
    assert set(counts.values()) == {1, 2}
    turned = {
        (record.task.key, record.config)
        for record in context.store.records()
        if record.trial.input.conditions.turns > 1
    }
    assert {config for config, count in counts.items() if count == 2} <= turned
    # At most a tenth of either budget, and one that overtook them with the last trial of the first.
    assert list(counts.values()).count(2) <= 3 + 4 + 1


def test_a_stage_ends_when_all_tasks_are_exhausted(make):
    context = make()
    report = tune(context, TaskSet((entry(8),)), budget="1000")
    assert report.measurement["trials"] == 128 + 4
    (outcome,) = report.outcomes.values()
    assert outcome.reason == "exhausted"
    assert outcome.best_config["unroll"] == 8


def test_another_revision_of_a_strategy_starts_anew(make, monkeypatch):
    tune(make())
    monkeypatch.setenv("TOY_REVISION", "2")
    context = make()
    assert tune(context).measurement["trials"] == 24
    assert [record.revision for record in context.store.records()].count(2) == 24


def test_what_the_machinery_spoiled_is_measured_again_once_and_counts_as_one_trial(make):
    context = make(runner={"spoils_first": True})
    spent = tune(context, budget="10").measurement
    assert (spent["trials"], spent["failures"]) == (10, 0)
    counts = Counter(configs(context))
    assert list(counts.values()) == [2] * 10


def test_early_stopping_ends_a_task(make):
    # In the toy's order the eighth config after the incumbent is the first that ends a batch without a new best;
    # then the four finalists are measured again.
    report = tune(make(), TaskSet((entry(8),)), budget="1000", early_stopping=1)
    (outcome,) = report.outcomes.values()
    assert (outcome.reason, outcome.trials) == ("early_stopping", 9 + 4)


def test_the_best_of_an_anchor_is_an_incumbent_of_its_kin(make):
    tune(make(), TaskSet((entry(8),)), budget="1000")
    context = make()
    kin = entry(8, epilogue=(EpilogueOp("relu"),))
    measure_incumbents(TaskSet((kin,)), context)
    tried = [record.config for record in context.store.records(kin.task.key)]
    assert len(tried) == 2
    assert (tried[1]["unroll"], tried[1]["width"]) == (8, 32)


def test_kin_are_asked_for_their_best_however_fast_the_own_one_is(make):
    small, kin = entry(8), entry(8, epilogue=(EpilogueOp("relu"),))
    tune(make(), TaskSet((small,)), budget="10")
    tune(make(), TaskSet((kin,)), budget="40")
    context = make()
    (config,) = best_of_anchor(context, kin.task)
    assert config == context.history.best(small.task).config
    assert config != context.history.best(kin.task).config


def test_a_run_counts_records_of_its_strategies_only(make, monkeypatch):
    tune(make())
    # Where nothing of a task matches, it may take all that there is.
    for strategies, counts in (("toy.*", True), ("toy.loop/b", False), ("toy.loop/none", True)):
        context = make(strategies=strategies)
        schedule = type(context.host.implementation("toy.loop"))
        two = [Knobs("toy.loop").alternative(), Knobs("toy.loop/b").alternative()]
        monkeypatch.setattr(schedule, "alternatives", lambda *_, two=two: two)
        found = context.history.best(TASKS.tasks[0].task)
        assert (found is not None) == counts


def test_incumbents_alone_are_measured_only_once(make):
    assert measure_incumbents(TASKS, make()).measurement["trials"] == 3
    assert measure_incumbents(TASKS, make()).measurement["trials"] == 0


def test_hooks_hear_of_every_trial_after_it_is_in_the_store(make):
    heard = Heard()
    context = make([heard])
    tune(context)
    assert sum(call[2] for call in heard.calls if call[0] == "batch") == 24
    assert [c[0] for c in heard.calls].count("started") == 3
    finished = [call for call in heard.calls if call[0] == "finished"]
    assert [call[2].trials for call in finished] == [
        len(context.store.records(entry.task.key)) for entry in TASKS
    ]


def test_tuners_get_the_history_of_all_tasks(make, monkeypatch):
    tune(make(), TaskSet((entry(8),)), budget="10")
    context, told = make(), []
    tuner = context.host.component("tuner", "toy").load()
    init = tuner.__init__

    def spy(self, options, known):
        told.append((known.task, [trial.input.task for trial in known.history]))
        init(self, options, known)

    monkeypatch.setattr(tuner, "__init__", spy)
    tune(context, TaskSet((entry(16),)), budget="10")
    # Those of the run before, and the incumbent of its own.
    assert told == [(entry(16).task, [entry(8).task] * 10 + [entry(16).task])]


@pytest.mark.parametrize(
    ("role", "method", "answer", "says"),
    [
        ("tuner", "propose", None, "the tuner 'toy' proposed None; expected at most 4 configs"),
        ("tuner", "propose", [0] * 20, "the tuner 'toy' proposed 20; expected at most 4 configs"),
        ("tuner", "propose", [None], "the tuner 'toy' proposed None, which is no feasible point"),
        ("tuner", "propose", [ConfigEntity("nobody")], "'toy' proposed {.*}, which is no feasible"),
        ("builder", "build", [], "the builder 'toy' answered 0; expected a result for each of 3"),
        ("runner", "run", [0] * 4, "the runner 'toy' answered 4; expected a result for each of 3"),
        ("runner", "run", None, "the runner 'toy' answered None; expected a result for each of 3"),
        ("scheduler", "next_task", -1, "chose -1; expected the number of one of 3 tasks"),
        ("scheduler", "next_task", "0", "chose '0'; expected the number of one of 3 tasks"),
    ],
)
def test_what_a_component_answers_wrong_is_told_by_its_name(
    make, monkeypatch, toy, role, method, answer, says
):
    context = make()
    part = context.host.component(role, "toy").load()
    monkeypatch.setattr(part, method, lambda *_: answer)
    with pytest.raises(RuntimeError, match=says) as error:
        tune(context)
    line = inspect.getsourcelines(part)[1]
    assert error.value.__notes__ == [f"in the {role} 'toy' of file {toy}, {toy}:{line}"]


def test_a_tuner_that_raises_is_named_once(make, monkeypatch):
    def propose(self, count):
        raise RuntimeError("oh")

    context = make()
    monkeypatch.setattr(context.host.component("tuner", "toy").load(), "propose", propose)
    with pytest.raises(RuntimeError, match="oh") as error:
        tune(context)
    assert len(error.value.__notes__) == 1


def test_what_fails_while_it_is_made_is_told_with_its_owner(make, monkeypatch):
    context = make()
    monkeypatch.setattr(context.host.component("tuner", "toy").load(), "__init__", None)
    with pytest.raises(TypeError) as error:
        tune(context)
    (note,) = error.value.__notes__
    assert note.startswith("in the tuner 'toy' of file /")
    path, _, line = note.rpartition(", ")[2].rpartition(":")
    assert "class ToyTuner" in Path(path).read_text().splitlines()[int(line) - 1]


@pytest.mark.parametrize(
    ("text", "seconds", "trials"),
    [
        ("60s", 60.0, None),
        ("2min", 120.0, None),
        ("336h", 1209600.0, None),
        ("200", None, 200),
        (200, None, 200),
        ("5 trials", None, 5),
    ],
)
def test_budgets_are_seconds_or_trials(text, seconds, trials):
    budget = parse_budget(text)
    assert budget == Budget(seconds, trials) == parse_budget(str(budget))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5sec", 5), ("90 seconds", 90), ("1 minute", 60), ("5m", 300), ("2 Hours", 7200),
        ("1h30m", 5400), ("1h 30min 10s", 5410), ("1.5h", 5400), ("250ms", 0.25),
    ],
)  # fmt: skip
def test_a_budget_that_can_mean_one_thing_only_is_read(text, seconds):
    assert parse_budget(text) == Budget(seconds=seconds)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (0, "expected more than nothing, got 0\n  write 60s"),
        ("0s", "expected more than nothing, got '0s'\n  write 60s"),
        (5.5, "got 5.5\n  a number without a unit counts trials: write 5.5s, or a whole number"),
        ("1.5", "write 1.5s, or a whole number"),
        *((text, "\n  write 60s, 2min or 1h30m, or 200 for trials") for text in (
            "", "soon", "-5", "-5s", "5 parsecs", None, True, "1e3", "30m1h", "1h30", "1h1h",
            "9" * 5000, [5], {"s": 5},
        )),
    ],
)  # fmt: skip
def test_other_budgets_are_refused_with_a_remedy(text, says):
    with pytest.raises(UsageError) as error:
        parse_budget(text)
    assert says in str(error.value)
    assert len(str(error.value)) < 200


def test_spaces_are_made_as_far_as_the_budget_goes(make, monkeypatch):
    """Those of hundreds of tasks together took longer than a small budget."""
    made = []
    context = make()
    schedule = type(context.host.implementation("toy.loop"))
    alternatives = schedule.alternatives
    monkeypatch.setattr(
        schedule,
        "alternatives",
        lambda self, task: [made.append(task), alternatives(self, task)][1],
    )
    many = TaskSet(tuple(entry(size) for size in range(1, 101)))
    report = tune(context, many, budget="20")
    assert report.measurement["trials"] == 20
    assert len(made) <= 20


def test_a_glob_or_a_scheduler_that_suits_not_every_task_is_refused_before_anything_is_measured(
    make, monkeypatch
):
    many = TaskSet(tuple(entry(size) for size in range(1, 41)))
    context = make(strategies="toy.*")
    schedule = type(context.host.implementation("toy.loop"))
    monkeypatch.setattr(schedule, "applies", lambda _, task: task != many.tasks[-1].task)
    with pytest.raises(UsageError, match="no strategy for 'toyadd'"):
        tune(context, many, budget="400")
    context = make()

    def check(_, tasks):
        raise UsageError(f"{len(tasks)} tasks are too many")

    scheduler = context.host.component("scheduler", "toy").load()
    monkeypatch.setattr(scheduler, "check_tasks", check, raising=False)
    with pytest.raises(UsageError, match="40 tasks"):
        tune(context, many, budget="400")
    assert not context.store.records()


def test_progress_names_the_task_that_is_next_and_at_last_none(make):
    told = []

    class Watcher:
        @hookimpl
        def tilewright_batch_scheduled(self, progress):
            told.append(progress)

    tune(make([Watcher()]))
    assert [entry.name for entry in told[0].entries] == ["t8", "t16", "t32"]
    assert (told[0].next_task, told[0].trials, told[0].total_seconds) == (0, 0, None)
    assert {progress.next_task for progress in told} == {0, 1, 2, None}
    assert (told[-1].next_task, told[-1].trials) == (None, 24)
    seconds = [progress.seconds for progress in told]
    assert seconds == sorted(seconds)


def test_the_tuner_s_own_time_is_a_part_of_the_split(make):
    report = tune(make(), tuner={"fit_seconds": 0.01})
    assert 0.01 <= report.measurement["split"]["search"] < report.measurement["seconds"]
