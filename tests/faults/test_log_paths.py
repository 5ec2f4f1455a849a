"""D-07: paths that are no files are one-line errors, and nothing is created."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tilewright.cli.group import run
from tilewright.errors import UsageError
from tilewright.records import JsonlRecordStore

ROOT = os.geteuid() == 0
BAD = {
    "a folder": "folder",
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
    assert BAD[case] in caught.value.where
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
