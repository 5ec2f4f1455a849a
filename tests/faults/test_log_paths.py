"""D-07: paths that are no files are one-line errors, and nothing is created."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tilewright.errors import UsageError
from tilewright.terminal_text import printable
from tilewright_cli.terminal.group import run
from tilewright_records.store.store import JsonlRecordStore

ROOT = os.geteuid() == 0
BAD = {
    "a folder": "folder",
    "a device": "device",
    "a pipe": "pipe",
    "a loop of links": "loop",
    "a name of 300 bytes": "x" * 300,
    "below a file": "file/below",
    "a NUL": "nul\0",
    "in a folder that is not there": "none/records.jsonl",
    "in a folder that may not be written": "locked/records.jsonl",
}


@pytest.fixture
def places(tmp_path):
    places = tmp_path / "places"
    places.mkdir()
    for name in ("folder", "locked"):
        (places / name).mkdir()
    (places / "file").touch()
    (places / "device").symlink_to("/dev/full")
    os.mkfifo(places / "pipe")
    (places / "loop").symlink_to(places / "loop")
    (places / "locked").chmod(0o555)
    yield places
    (places / "locked").chmod(0o755)


@pytest.mark.parametrize("case", BAD)
def test_d07_a_path_that_is_no_file_is_refused_before_or_at_the_first_append(places, samples, case):
    if ROOT and "may not" in case:
        pytest.skip("the superuser may write everywhere")
    before = sorted(places.iterdir())
    with pytest.raises(UsageError) as caught:
        JsonlRecordStore(places / BAD[case]).append([samples.record(1)])
    assert printable(BAD[case]) in caught.value.where
    assert "\n" not in caught.value.message
    assert sorted(places.iterdir()) == before


@pytest.mark.parametrize("case", BAD)
def test_d07_a_run_with_such_records_exits_with_2(places, monkeypatch, toy, capsys, case):
    if ROOT and "may not" in case:
        pytest.skip("the superuser may write everywhere")
    if "not there" in case or "NUL" in case:
        pytest.skip("a run makes the folders of its records; no argument holds a NUL")
    monkeypatch.chdir(places)
    before = sorted(places.rglob("*"))
    records = f"--records={places / BAD[case]}"
    assert run(["tune", "toyadd(8)", "--plugin", str(toy), "--target=toy", records]) == 2
    error = capsys.readouterr().err
    assert "error: " in error
    assert "Traceback" not in error
    assert sorted(places.rglob("*")) == before


def test_d07_a_name_of_255_bytes_and_one_that_is_no_utf8_work(tmp_path, samples):
    for name in (b"x" * 249 + b".jsonl", b"\xff.jsonl"):
        path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
        JsonlRecordStore(path).append([samples.record(1)])
        assert len(JsonlRecordStore(path).records()) == 1


FOLDERS = {
    **{case: path for case, path in BAD.items() if case not in ("a folder", "a NUL", "a pipe")},
    "a file": "file",
    "where nothing can be made": "/proc/new",
}
del FOLDERS["in a folder that is not there"]


@pytest.mark.parametrize("case", FOLDERS)
def test_d07_a_run_refuses_such_a_folder_before_it_begins(
    places, pipeline_file, monkeypatch, capsys, case
):
    if ROOT and "may not" in case:
        pytest.skip("the superuser may write everywhere")
    pipeline = pipeline_file()
    monkeypatch.chdir(places)
    before = sorted(places.rglob("*"))
    assert run(["run", str(pipeline), "--out", str(places / FOLDERS[case])]) == 2
    (message, remedy) = capsys.readouterr().err.splitlines()
    assert message.startswith(f"error: {places / FOLDERS[case]}: --out: ")
    assert remedy == "  choose another path"
    assert sorted(places.rglob("*")) == before


@pytest.mark.parametrize(
    "arguments",
    [
        "run {pipeline} --out",
        "explain {pipeline} --out",
        "tune toyadd(8) --records",
        "records ls",
        "records merge {records} --into",
        "plugins --plugin",
        "graph-tune {pipeline} --svg",
    ],
)
def test_d07_an_empty_path_is_a_mistake(pipeline_file, samples, tmp_path, capsys, arguments):
    records = tmp_path / "records.jsonl"
    JsonlRecordStore(records).append([samples.record(1)])
    words = arguments.format(pipeline=pipeline_file(), records=records).split()
    assert run([*words, ""]) == 2
    assert "expected a path, got nothing" in capsys.readouterr().err


def test_d07_a_disk_that_fills_up_during_a_run_is_one_message(pipeline_file, monkeypatch, capsys):
    def full(*_arguments, **_options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    pipeline = pipeline_file()
    monkeypatch.setattr(Path, "replace", full)
    assert run(["run", str(pipeline), "--quiet"]) == 2
    error = capsys.readouterr().err
    assert error.splitlines()[-2].startswith("error: runs/toyrun/run.json: the report: No space")
    assert "Traceback" not in error
