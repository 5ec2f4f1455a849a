"""Packs: records of others as a package, whose records count or are proposed, and whatever is wrong with one."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from tilewright import Pipeline, hookimpl
from tilewright.vocabulary.record import BudgetRecord, Charge
from tilewright_cli.terminal.group import run
from tilewright_pipeline.run.run_report import SCHEMA_FILE
from tilewright_records.encoding import record_json
from tilewright_records.line import seal
from tilewright_records.packs.manifest import MANIFEST
from tilewright_records.packs.record_pack import MODEL, RECORDS
from tilewright_records.store.store import JsonlRecordStore

pytestmark = pytest.mark.needs("cli", "pipeline")
OWN = Path("runs/toyrun/records.jsonl")


@pytest.fixture
def package(pipeline_file, capsys, toy):
    """The folder of a package with the 20 trials of a toy run, which itself is gone."""
    Pipeline.load(pipeline_file()).run()
    pack("theirs", toy)
    capsys.readouterr()
    shutil.rmtree("runs")
    return Path("tilewright-records-theirs")


def pack(name, toy, *more, file=OWN):
    arguments = ["--name", name, "--licence", "CC0-1.0", "--plugin", str(toy), *more]
    assert run(["records", "pack", str(file), *arguments]) == 0


@pytest.fixture
def install(tmp_path, monkeypatch):
    """install(package): what pip makes of it, found by this process; the folder of its data."""
    from hatchling.builders.wheel import WheelBuilder

    def installed(package):
        site = tmp_path / f"site-{package.name}"
        wheel = WheelBuilder(str(package)).build(directory=str(tmp_path), versions=["standard"])
        with zipfile.ZipFile(next(wheel)) as files:
            files.extractall(site)
        monkeypatch.syspath_prepend(site)
        module = package.name.replace("-", "_")
        for known in [one for one in sys.modules if one.partition(".")[0] == module]:
            monkeypatch.delitem(sys.modules, known)
        return site / module

    return installed


def file_of(data):
    return gzip.decompress((data / RECORDS).read_bytes())


def report_of(result):
    jsonschema.validate(result.report, json.loads(SCHEMA_FILE.read_text()))
    return result.report


class First:
    """What was measured in a run, in order."""

    def __init__(self):
        self.configs = []

    @hookimpl
    def tilewright_batch_measured(self, trials):
        self.configs += [trial.input.config for trial in trials]


def test_a_package_says_what_it_holds_and_equal_records_make_equal_bytes(package, toy):
    (inside,) = (package / "src").iterdir()
    said = json.loads((inside / MANIFEST).read_text())
    assert (said["licence"], said["records"], said["tasks"]) == ("CC0-1.0", 20, 2)
    assert said["sha256"] == hashlib.sha256((inside / RECORDS).read_bytes()).hexdigest()
    assert [(one["name"], one["records"]) for one in said["devices"]] == [("toy0", 20)]
    assert said["devices"][0]["attributes"] == {"model": "toy0"}
    assert said["versions"]["tilewright-records"] == "0.1.0"
    Path("again.jsonl").write_bytes(file_of(inside))
    pack("theirs", toy, "--output", "again", file="again.jsonl")
    (again,) = Path("again/src").iterdir()
    assert [file.read_bytes() for file in sorted(again.iterdir())] == [
        file.read_bytes() for file in sorted(inside.iterdir())
    ]


def test_what_is_of_one_machine_or_of_one_budget_stays_out_of_a_package(
    samples, tmp_path, monkeypatch, toy
):
    record = replace(samples.record(1), device="cpu@host.mine", charge=Charge("a" * 16, 1.0, 1))
    ended = BudgetRecord("a" * 16, "cpu@host.mine", record.fingerprint, True, 3.0, 0)
    failed = samples.record(2, failure="crash")
    monkeypatch.chdir(tmp_path)
    JsonlRecordStore(Path("few.jsonl")).append([record, ended, failed])
    pack("few", toy, file="few.jsonl")
    lines = file_of(Path("tilewright-records-few/src/tilewright_records_few")).splitlines()
    line, other = map(json.loads, lines)
    assert line["device"] == {"name": "cpu", "fingerprint": record.fingerprint}
    assert "budget" not in line
    assert other["failure"]["text"] == ""


def test_records_of_another_system_are_said_to_be_of_no_use_in_a_pack(
    samples, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    strange = samples.record(1, strategy="autotvm:dense.x86")
    strange = replace(strange, device="llvm", fingerprint="autotvm:llvm")
    JsonlRecordStore(Path("log.jsonl")).append([strange])
    assert run(["records", "pack", "log.jsonl", "--name", "log", "--licence", "CC0-1.0"]) == 0
    assert "of another system: of use where its log is imported" in capsys.readouterr().out


def test_a_run_on_an_equal_machine_has_the_packs_records_and_says_so(
    package, install, pipeline_file, call
):
    data = install(package)
    before = {file: file.read_bytes() for file in data.iterdir() if file.is_file()}
    first, path = First(), pipeline_file()
    result = Pipeline.load(path, observers=[first]).run()
    theirs = [json.loads(line)["config"] for line in file_of(data).splitlines()]
    assert not [one for one in first.configs if dict(one.values) in theirs]
    report = report_of(result)
    assert sum(task["trials"] for task in report["tasks"]) == 40
    assert len(JsonlRecordStore(OWN).records()) == 20
    (used,) = report["setup"]["packs"]
    assert used["source"] == "tilewright-records-theirs 1.0"
    assert (used["name"], used["records"], used["similar_devices"]) == ("theirs", 20, 0)
    _, out, _ = call("run", str(path), plugin=False)
    assert "tilewright-records-theirs 1.0" in out
    assert {file: file.read_bytes() for file in before} == before


def test_the_best_of_a_device_like_this_is_measured_first_and_decides_nothing(
    package, install, pipeline_file, monkeypatch
):
    data = install(package)
    monkeypatch.setenv("TOY_DEVICE", "other")
    first, path = First(), pipeline_file()
    pipeline = Pipeline.load(path, observers=[first])
    context, tasks = pipeline.tasks(device="other")
    assert [context.history.best(entry.task) for entry in tasks] == [None, None]
    result = pipeline.run()
    (used,) = report_of(result)["setup"]["packs"]
    assert (used["records"], used["similar_devices"]) == (0, 1)
    lines = [json.loads(line) for line in file_of(data).splitlines()]
    for key in {line["key"] for line in lines}:
        best = min((line for line in lines if line["key"] == key), key=lambda line: line["costs"])
        assert best["config"] in [dict(config.values) for config in first.configs[:4]]
    assert sum(task["trials"] for task in result.report["tasks"]) == 20


def test_a_pack_of_a_machine_that_nobody_describes_is_of_no_use_elsewhere(
    package, install, pipeline_file, monkeypatch
):
    spoil = json.loads((manifest := next(package.rglob(MANIFEST))).read_text())
    del spoil["devices"][0]["attributes"]
    manifest.write_text(json.dumps(spoil))
    install(package)
    monkeypatch.setenv("TOY_DEVICE", "other")
    assert "packs" not in Pipeline.load(pipeline_file()).run().report["setup"]


def with_manifest(data, **changes):
    said = json.loads((data / MANIFEST).read_text())
    (data / MANIFEST).write_text(json.dumps({**said, **changes}))


def with_lines(data, content):
    packed = gzip.compress(content)
    (data / RECORDS).write_bytes(packed)
    with_manifest(data, sha256=hashlib.sha256(packed).hexdigest())


REFUSED = {
    "a byte more": lambda data: (data / RECORDS).write_bytes((data / RECORDS).read_bytes() + b"\0"),
    "records gone": lambda data: (data / RECORDS).unlink(),
    "manifest gone": lambda data: (data / MANIFEST).unlink(),
    "manifest torn": lambda data: (data / MANIFEST).write_text('{"version": 1,'),
    "nested": lambda data: (data / MANIFEST).write_text("[" * 10**5),
    "later version": lambda data: with_manifest(data, version=2),
    "no hash": lambda data: with_manifest(data, sha256="x"),
    "unknown key": lambda data: with_manifest(data, run="rm"),
    "another machine": lambda data: with_manifest(
        data, devices=[{"name": "toy0", "fingerprint": "0" * 16, "records": 1, "attributes": {}}]
    ),
    "a pipe": lambda data: ((data / RECORDS).unlink(), os.mkfifo(data / RECORDS)),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_what_is_wrong_with_a_pack_is_told_in_one_line_and_the_run_goes_on(
    package, install, pipeline_file, caplog, wrong
):
    REFUSED[wrong](install(package))
    report = Pipeline.load(pipeline_file()).run().report
    assert sum(task["trials"] for task in report["tasks"]) == 20
    assert "packs" not in report["setup"]
    (said,) = [one for one in caplog.messages if "pack" in one]
    assert said.startswith("the pack 'theirs' is passed over: ")
    assert "\n" not in said


def test_what_to_do_about_a_pack_of_a_later_version_is_told(
    package, install, pipeline_file, caplog
):
    with_manifest(install(package), version=2)
    Pipeline.load(pipeline_file()).run()
    assert "a pack of version 2, expected 1; install a pack that this release" in caplog.text


def test_nonsense_among_a_packs_lines_is_no_record_and_costs_no_budget(
    package, install, pipeline_file, samples
):
    data = install(package)
    own = file_of(data)
    fingerprint = json.loads(own.splitlines()[0])["device"]["fingerprint"]
    Pipeline.load(pipeline_file()).run()  # leaves the hash of its stage
    stage = json.loads(OWN.read_text().splitlines()[0])["budget"]["stage"]
    shutil.rmtree("runs")
    ended = seal(record_json(BudgetRecord(stage, "toy0", fingerprint, True, 1e6, 10**6)))
    later = seal({**record_json(samples.record(1)), "version": 2})
    content = b"no JSON\n" + b"x" * (3 << 20) + b"\n" + ended + later + own + b'{"torn'
    with_lines(data, content)
    report = Pipeline.load(pipeline_file()).run().report
    assert sum(task["trials"] for task in report["tasks"]) == 40
    assert report["measurement"]["trials"] == 20


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--name", "My Pack"], "no name for a pack"),
        (["--licence", "free\nfor all"], "no licence"),
        (["--version", "new"], "no version"),
        (["--output", "runs"], "runs exists"),
    ],
)
def test_a_package_that_cannot_be_written_is_refused(pipeline_file, toy, capsys, wrong, said):
    Pipeline.load(pipeline_file()).run()
    arguments = ["--name", "theirs", "--licence", "CC0-1.0", "--plugin", str(toy), *wrong]
    assert run(["records", "pack", str(OWN), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not Path("tilewright-records-theirs").exists()


def test_a_cost_model_goes_with_the_records_and_what_is_none_is_refused(package, toy, capsys):
    records, model = Path("again.jsonl"), Path("model.json.gz")
    records.write_bytes(file_of(next((package / "src").iterdir())))
    lists = ("columns", "machines", "examples", "members")
    data = {"format": 2, "features": 2, "told": "", **{name: [] for name in lists}}
    model.write_bytes(gzip.compress(json.dumps(data).encode()))
    pack("led", toy, "--model", str(model), file=records)
    (inside,) = Path("tilewright-records-led/src").iterdir()
    assert '"tilewright-models"]' in Path("tilewright-records-led/pyproject.toml").read_text()
    assert (inside / MODEL).read_bytes() == model.read_bytes()
    said = json.loads((inside / MANIFEST).read_text())["model"]
    assert said == hashlib.sha256(model.read_bytes()).hexdigest()
    assert f"a cost model of {model.stat().st_size} bytes, CC0-1.0" in capsys.readouterr().out
    whole = json.dumps(data).encode()
    for wrong in (whole, gzip.compress(whole)[:-9], gzip.compress(b"{}"), gzip.compress(b"[1]")):
        model.write_bytes(wrong)
        arguments = ["--name", "other", "--licence", "CC0-1.0", "--plugin", str(toy)]
        assert run(["records", "pack", str(records), *arguments, "--model", str(model)]) == 2
        assert "model.json.gz: no cost model: " in capsys.readouterr().err
    assert not Path("tilewright-records-other").exists()
