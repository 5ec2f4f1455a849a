"""Which records a pipeline counts: of its device and target, in the store of its file, whatever the disk does."""

from __future__ import annotations

import errno
import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from tilewright import Pipeline, hookimpl
from tilewright.errors import UsageError
from tilewright.vocabulary.config import ConfigEntity
from tilewright_pipeline.run.run_report import SCHEMA_FILE
from tilewright_records.store.log_file import LogFile
from tilewright_records.store.store import JsonlRecordStore

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(path, *settings, **options):
    return Pipeline.load(path, settings=settings).run(**options)


def read_report(folder):
    report = json.loads((folder / "run.json").read_text())
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    return report


@pytest.mark.parametrize(
    ("options", "message"),
    [({"device": "toy9"}, "no device 'toy9'"), ({}, "this machine has no device")],
)
def test_a_device_that_is_not_there_creates_nothing(
    pipeline_file, tmp_path, monkeypatch, options, message
):
    if not options:
        monkeypatch.setenv("TOY_DEVICE", "none")
    with pytest.raises(UsageError, match=message):
        run(pipeline_file(), **options)
    assert not (tmp_path / "runs").exists()


def test_devices_share_a_records_file_and_each_counts_its_own(pipeline_file, monkeypatch, caplog):
    path = pipeline_file()
    for device in ("toy0", "other"):
        monkeypatch.setenv("TOY_DEVICE", device)
        assert run(path).report["measurement"]["trials"] == 20
        assert run(path).report["measurement"]["trials"] == 0
    (said,) = caplog.messages
    assert re.search(r"all 20 records were made on another device \(toy0 \w{16}\)", said)
    assert re.search(r"count as misses; this is other \w{16}", said)
    assert "--foreign-records" in said


def test_records_of_another_kind_of_target_are_no_misses(pipeline_file, tmp_path, caplog):
    path = pipeline_file()
    record = JsonlRecordStore(run(path).folder / "records.jsonl").records()[0]
    moon = replace(record.trial.input, config=ConfigEntity("moon", {}))
    there = replace(record, trial=replace(record.trial, input=moon), fingerprint="0" * 16)
    JsonlRecordStore(tmp_path / "shared.jsonl").append([there])
    (tmp_path / "moon.py").write_text(
        "from tilewright import Strategy, hookimpl\n"
        "@hookimpl\ndef tilewright_strategies():\n"
        "    return [Strategy('moon', 1, ('moon',), (), lambda host: None)]\n"
    )
    pipeline = Pipeline.load(
        path, settings=["records=shared.jsonl"], plugins=[tmp_path / "moon.py"]
    )
    assert pipeline.run().report["measurement"]["trials"] == 20
    assert caplog.messages == []


def test_a_precision_in_which_nothing_computes_is_told_once(pipeline_file, caplog):
    run(pipeline_file(), "precision=tf32")
    assert caplog.messages == ["no strategy for toy computes in tf32, only in float32"]


def test_records_of_another_device_are_used_only_when_asked(pipeline_file, monkeypatch, caplog):
    path = pipeline_file()
    run(path)
    monkeypatch.setenv("TOY_DEVICE", "other")
    result = run(path, foreign_records=True)
    assert caplog.messages == []
    assert result.report["measurement"]["trials"] == 20
    store = JsonlRecordStore(result.folder / "records.jsonl")
    # The other device's best is among the first that are measured here.
    mine = [record for record in store.records() if record.device == "other"]
    theirs = [record for record in store.records() if record.device == "toy0"]
    best = min(theirs, key=lambda record: record.seconds)
    assert best.config in [record.config for record in mine[:4]]


STORE = """
from tilewright import Component, hookimpl
from tilewright.options import Options
from tilewright_records.store.store import JsonlRecordStore

class StoreOptions(Options):
    suffix: str = ".kept"

def store(options, path):
    return JsonlRecordStore(path.with_suffix(options.suffix), create_parents=True)

@hookimpl
def tilewright_record_stores():
    return [Component("kept", "elsewhere", lambda: store, lambda: StoreOptions)]
"""


def test_records_are_kept_by_the_store_that_the_file_chooses(pipeline_file, tmp_path):
    path, plugin = pipeline_file(), tmp_path / "kept.py"
    plugin.write_text(STORE)
    path.write_text(path.read_text() + "record_store: {kept: {suffix: .mine}}\n")
    result = Pipeline.load(path, plugins=[plugin]).run()
    assert {file.name for file in result.folder.iterdir()} == {"records.mine", "run.json"}
    setup = result.report["setup"]
    assert (setup["record_store"], setup["records"]) == (
        {"kept": {"suffix": ".mine"}},
        "records.mine",
    )
    with pytest.raises(UsageError, match=r"record_store\.kept\.suffix"):
        Pipeline.load(path, plugins=[plugin], settings=["record_store.kept.suffix=[1]"])
    with pytest.raises(UsageError, match="did you mean 'jsonl'"):
        run(path, "record_store=json")


def test_a_store_that_inherits_ours_opens_its_file_again(pipeline_file, tmp_path):
    path, plugin = pipeline_file(), tmp_path / "kept.py"
    plugin.write_text(STORE)
    path.write_text(path.read_text() + "record_store: {kept: {suffix: .jsonl}}\n")
    first, again = (Pipeline.load(path, plugins=[plugin]).run() for _ in range(2))
    assert [run.report["measurement"]["trials"] for run in (first, again)] == [20, 0]


class Heard:
    trials = None

    @hookimpl
    def tilewright_stage_finished(self, outcome):
        if outcome.name == "tune":
            self.trials = outcome.report["measurement"]["trials"]


def test_records_of_another_target_are_said_to_count_for_nothing(pipeline_file, caplog):
    path = pipeline_file()
    run(path)
    caplog.clear()
    Pipeline.load(path, target="toy:threads=3", only="check").run()
    assert (
        "none of its 20 records counts: they are of toy:threads=1, and this is toy:threads=3"
        in (caplog.text)
    )


def test_a_full_disk_is_told_as_the_records_fault_with_what_was_recorded(
    pipeline_file, monkeypatch
):
    """No byte can be written any more once some trials are in the file."""
    path = pipeline_file(tune="tuner: {toy: {batch: 4}}, budget: 60")
    write, write_text = LogFile._write, Path.write_text

    def full():
        log = path.parent / "runs/toyrun/records.jsonl"
        return log.exists() and log.read_bytes().count(b"\n") >= 20

    def limited(self, *data):
        if full():
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, *data)

    def limited_text(self, *data):
        if full():
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_text(self, *data)

    monkeypatch.setattr(LogFile, "_write", limited)
    monkeypatch.setattr(Path, "write_text", limited_text)
    heard = Heard()
    with pytest.raises(UsageError, match="cannot write the records file: No space left") as told:
        Pipeline.load(path, observers=[heard]).run()
    assert told.value.where.endswith("records.jsonl")
    recorded = len(JsonlRecordStore(path.parent / "runs/toyrun/records.jsonl").records())
    assert recorded >= 20
    assert heard.trials == recorded
