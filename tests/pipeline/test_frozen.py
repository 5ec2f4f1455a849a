"""A frozen run measures nothing, says all that its records lack, and takes only the records that were pinned."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tilewright import Pipeline
from tilewright.errors import UsageError
from tilewright.vocabulary.task_set import TaskSet
from tilewright_pipeline.measuring.measurement import Measurement

KEPT = Path("runs/toyrun/records.jsonl")


@pytest.fixture
def tuned(pipeline_file):
    """A pipeline file whose two tasks were tuned."""
    path = pipeline_file()
    Pipeline.load(path).run()
    return path


def test_nothing_is_measured_or_written_and_the_report_has_the_records_hash(tuned):
    before = KEPT.read_bytes()
    result = Pipeline.load(tuned, settings=["tune.budget=60"]).run(frozen=True)
    assert result.exit_code == 0
    assert result.report["measurement"]["trials"] == 0
    assert KEPT.read_bytes() == before
    assert result.report["setup"]["frozen"] == f"sha256:{hashlib.sha256(before).hexdigest()}"
    assert result.report["device"]["peak_flops"] == {}


def test_every_task_without_a_record_is_told(pipeline_file, tuned):
    with pytest.raises(UsageError) as told:
        Pipeline.load(pipeline_file(sizes="[8, 32, 64]"), settings=["frozen=true"]).run()
    head, *each = told.value.each
    assert "no record of 2 kernels on toy0" in head.message
    assert [error.message for error in each] == [
        "no record of toyadd(32)", "no record of toyadd(64)",
    ]  # fmt: skip


def test_a_missing_records_file_is_not_made(pipeline_file, tmp_path):
    with pytest.raises(UsageError, match=r"no record of 2 kernels .*, which is not there"):
        Pipeline.load(pipeline_file(), settings=["frozen=true"]).run()
    assert not list(tmp_path.rglob("*.jsonl"))


def test_only_the_records_that_were_pinned_are_taken(tuned):
    pin = f"sha256:{hashlib.sha256(KEPT.read_bytes()).hexdigest()}"
    frozen = Pipeline.load(tuned, settings=[f"frozen={pin}"])
    assert frozen.run().report["setup"]["frozen"] == pin
    Pipeline.load(tuned, settings=["tune.budget=24"]).run()
    with pytest.raises(UsageError, match=f"pinned is {pin}"):
        frozen.run(frozen=True)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("frozen=sha256:12", "expected true, or the records' hash"),
        ("frozen=1", "expected true, or the records' hash"),
        ("records=frozen", "write `frozen: true`; a file of that name is ./frozen"),
    ],
)
def test_what_pins_nothing_is_refused_with_its_place(pipeline_file, setting, said):
    with pytest.raises(UsageError) as told:
        Pipeline.load(pipeline_file(), settings=[setting])
    assert said in str(told.value)
    assert told.value.where == f"--set {setting}"


def test_more_budget_for_a_frozen_run_is_refused(tuned):
    with pytest.raises(UsageError, match="--more: nothing is measured in a frozen run"):
        Pipeline.load(tuned).run(frozen=True, more=10)


def test_no_stage_can_measure_in_a_frozen_run(tuned):
    pipeline = Pipeline.load(tuned, settings=["frozen=true"])
    context, tasks = pipeline.tasks(device="toy0")
    assert isinstance(tasks, TaskSet)
    with pytest.raises(UsageError, match="the run is frozen"):
        Measurement(context)
