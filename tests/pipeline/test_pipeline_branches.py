"""A stage that makes branches: tasks are merged for tuning, then each branch is a run of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import jsonschema
import pytest
from toy_tasks import entry

from tilewright import Pipeline
from tilewright.errors import UsageError
from tilewright.options import NoOptions
from tilewright.vocabulary.task_set import TaskSet
from tilewright_pipeline.run.run_report import SCHEMA_FILE
from tilewright_pipeline.stages.planned_stage import PlannedStage
from tilewright_pipeline.stages.stage import StageResult


@dataclass(frozen=True)
class Part:
    name: str
    sizes: tuple[int, ...]


class Toy:
    """Base of the stages below: they note who ran in which folder on what."""

    consumes: tuple[type, ...] = (Part,)
    optional: tuple[type, ...] = ()
    produces: tuple[type, ...] = ()
    calls: list[tuple[str, str, object]] = []
    folders: list[bool] = []

    def __init__(self, options, context):
        self.context = context

    def run(self, values):
        (taken,) = values.values() or (None,)
        Toy.calls.append((type(self).__name__, self.context.folder.name, taken))
        Toy.folders.append(self.context.folder.is_dir())
        return self.result(taken)

    def result(self, taken):
        return StageResult()


class Split(Toy):
    consumes = ()
    produces = (Part,)

    def result(self, taken):
        parts = (Part("one", (8, 16)), Part("two", (16, 32)))
        return StageResult(branches={part.name: (part,) for part in parts})


class Tasks(Toy):
    produces = (TaskSet,)

    def result(self, taken):
        return StageResult((TaskSet(tuple(map(entry, taken.sizes))),))


class Joint(Toy):
    consumes = (TaskSet,)


class Check(Toy):
    bad: frozenset[str] = frozenset()

    def result(self, taken):
        passed = taken.name not in Check.bad
        errors = {"max_abs_error": 0.0, "max_rel_error": 0.0}
        report = {"verify": {"oracle": "toy", **errors, "passed": passed}}
        return StageResult((f"kept {taken.name}",), report, ok=passed)


@pytest.fixture
def pipeline(pipeline_file, monkeypatch):
    monkeypatch.setattr(Toy, "calls", [])
    monkeypatch.setattr(Toy, "folders", [])
    made = Pipeline.load(pipeline_file())
    stages = tuple(
        PlannedStage(kind.__name__.lower(), NoOptions(), kind, "file:1:1")
        for kind in (Split, Tasks, Joint, Check)
    )
    return replace(made, plan=replace(made.plan, stages=stages))


def read_report(folder):
    report = json.loads((folder / "run.json").read_text())
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    return report


def test_tasks_are_merged_once_and_the_rest_runs_for_each(pipeline):
    result = pipeline.run()
    assert result.exit_code == 0
    assert [(stage, folder) for stage, folder, _ in Toy.calls] == [
        ("Split", "toyrun"),
        ("Tasks", "one"),
        ("Tasks", "two"),
        ("Joint", "toyrun"),
        ("Check", "one"),
        ("Check", "two"),
    ]
    merged = Toy.calls[3][2]
    assert [(entry.name, entry.weight) for entry in merged] == [
        ("t8", 1.0), ("t16", 2.0), ("t32", 1.0),
    ]  # fmt: skip


def test_the_folder_of_each_exists_before_each_of_its_stages(pipeline):
    pipeline.run()
    assert Toy.folders == [True] * 6


def test_each_has_a_report_of_its_own(pipeline):
    result = pipeline.run()
    whole = read_report(result.folder)
    assert [stage["name"] for stage in whole["stages"]] == ["split", "tasks", "joint"]
    assert len(whole["tasks"]) == 3
    assert list(result.branches) == ["one", "two"]
    for name, branch in result.branches.items():
        report = read_report(branch.folder)
        assert (report, report["name"]) == (branch.report, name)
        assert branch.folder == result.folder / name
        assert [stage["name"] for stage in report["stages"]] == ["check"]
        assert len(report["tasks"]) == 2


def test_a_failed_check_of_one_leaves_the_others_running(pipeline, monkeypatch):
    monkeypatch.setattr(Check, "bad", frozenset({"one"}))
    result = pipeline.run()
    assert result.exit_code == 1
    assert [branch.exit_code for branch in result.branches.values()] == [1, 0]


def test_mistakes_are_told_by_network_when_all_have_run(pipeline, monkeypatch):
    def refuse(stage, taken):
        raise UsageError("no network to check", remedy="another one")

    monkeypatch.setattr(Check, "result", refuse)
    with pytest.raises(UsageError) as caught:
        pipeline.run()
    told = "{}: file:1:1: no network to check\n  another one"
    assert str(caught.value) == "\n".join(map(told.format, ("one", "two")))


def test_a_failed_stage_before_the_branches_part_starts_none(pipeline, monkeypatch):
    monkeypatch.setattr(Joint, "result", lambda stage, taken: StageResult(ok=False))
    result = pipeline.run()
    assert (result.exit_code, result.branches) == (1, {})
    assert not (result.folder / "one").exists()


def test_an_interrupted_branch_ends_the_run(pipeline, monkeypatch):
    def interrupt(stage, taken):
        raise KeyboardInterrupt

    monkeypatch.setattr(Check, "result", interrupt)
    result = pipeline.run()
    assert (result.exit_code, list(result.branches)) == (130, ["one"])


def test_the_tasks_of_all_are_listed_together(pipeline):
    _, tasks = pipeline.tasks()
    assert [entry.name for entry in tasks] == ["t8", "t16", "t32"]
