"""A foreign log is looked at and imported through the reader that recognises it."""

from __future__ import annotations

import json

import pytest

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright_cli.terminal.group import run
from tilewright_pipeline.context.run_setup import open_store
from tilewright_records.checks import verify_log
from tilewright_records.readers import JsonlReader, find_reader
from tilewright_records.store.store import JsonlRecordStore

READER = '''
from tilewright import Component, hookimpl
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import MeasureInput, MeasureResult, Trial
from tilewright.json_object import BadLineError
from tilewright.vocabulary.record import Record
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import TensorSpec, Workload

class CsvReader:
    """`size,unroll,width,seconds` below a line `toylog`."""

    def recognises(self, first_line):
        return first_line.strip() == "toylog"

    def read(self, path):
        for number, line in enumerate(path.read_text().splitlines()[1:], 2):
            try:
                size, unroll, width, seconds = line.split(",")
                workload = Workload("toyadd", (TensorSpec((int(size),)), TensorSpec((1,), role="constant")), {"bias": 0})
                config = ConfigEntity("toy.loop", {"unroll": int(unroll), "width": int(width)})
                asked = MeasureInput(Task(workload, Target.parse("toy:threads=1")), config)
                trial = Trial(asked, MeasureResult((float(seconds),)))
                yield number, Record.of(trial, Device("elsewhere", {"model": "c"}), 1)
            except ValueError as error:
                yield number, BadLineError(str(error))

@hookimpl
def tilewright_record_readers():
    return [Component("csv", "toy logs", lambda: lambda options, host: CsvReader())]
'''


@pytest.fixture
def reader(tmp_path):
    path = tmp_path / "csv_reader.py"
    path.write_text(READER)
    return path


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "old.log"
    path.write_text("toylog\n8,1,1,2e-3\n8,8,32,1e-3\n8,soon\n16,8,32,5e-3\n")
    return path


def test_the_reader_that_recognises_a_file_reads_it(reader, log, samples):
    host = PluginHost.load([reader])
    assert type(find_reader(log, host)).__name__ == "CsvReader"
    own = log.with_name("own.jsonl")
    JsonlRecordStore(own).append([samples.record(1)])
    assert isinstance(find_reader(own, host), JsonlReader)
    assert isinstance(find_reader(log, None), JsonlReader)
    with pytest.raises(UsageError, match="cannot read"):
        find_reader(log.with_name("missing"), host)


def test_a_file_that_nobody_recognises_is_read_as_our_own(tmp_path, host):
    path = tmp_path / "torn.jsonl"
    path.write_bytes(b"\x00\xff\nrubbish\n\n")
    assert [number for number, _ in verify_log(path, host).bad] == [1, 2]


def test_a_foreign_log_may_end_without_a_line_feed(reader, log, toy):
    host = PluginHost.load([reader, toy])
    log.write_bytes(log.read_bytes().rstrip(b"\n"))
    assert not verify_log(log, host).torn


def test_foreign_logs_are_verified_listed_and_merged(reader, log, tmp_path, capsys, toy):
    plugins = ["--plugin", str(reader), "--plugin", str(toy)]
    assert run(["records", "verify", str(log), *plugins]) == 1
    assert ":4: not enough values" in capsys.readouterr().out
    assert run(["records", "ls", str(log), "--json", *plugins]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [row["trials"] for row in listed["records"]] == [2, 1]
    assert listed["bad_lines"] == 1
    into = tmp_path / "new.jsonl"
    for added in (3, 0):
        assert run(["records", "merge", str(log), "--into", str(into), *plugins]) == 0
        told = capsys.readouterr()
        assert f"{added} records added" in told.out
        assert "1 lines left behind" in told.err
    records = JsonlRecordStore(into).records()
    assert [record.seconds for record in records] == [2e-3, 1e-3, 5e-3]
    assert {record.device for record in records} == {"elsewhere"}


def test_a_foreign_log_is_no_store_of_a_run_and_no_other_command_takes_it_for_one(
    reader, log, tmp_path, capsys, toy
):
    plugins = ["--plugin", str(reader), "--plugin", str(toy)]
    before = log.read_bytes()
    with pytest.raises(UsageError, match="records import FILE --into"):
        open_store(log, PluginHost.load([reader, toy]), Choice("jsonl"))
    for arguments in (
        ["records", "merge", str(log), "--into", str(log)],
        ["records", "best", str(log)],
        ["records", "compact", str(log)],
        ["space", "0123456789abcdef", "--records", str(log)],
        ["explain", "0123456789abcdef", "--records", str(log)],
    ):
        assert run([*arguments, *plugins]) == 2
        assert f"{log}: a log of another format\n" in capsys.readouterr().err
    assert log.read_bytes() == before


def test_a_file_that_holds_something_else_is_no_store_of_a_run(tmp_path, host):
    path = tmp_path / "notes.txt"
    path.write_text("buy milk\n")
    with pytest.raises(UsageError, match="no line of it is a record"):
        open_store(path, host, Choice("jsonl"))
    path.write_text("# which AutoTVM's reader takes for the head of a log\n")
    with pytest.raises(UsageError, match="no line of it is a record"):
        open_store(path, PluginHost.load(), Choice("jsonl"))
    path.write_text("")
    assert open_store(path, host, Choice("jsonl")).tasks() == []
