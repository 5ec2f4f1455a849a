"""A space and the records of its points, as two files."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest

from tilewright.errors import UsageError
from tilewright.space.config_space import ConfigSpace
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Failure, FailureKind, MeasureResult, Trial
from tilewright.vocabulary.record import Record
from tilewright_records.recording import trials_in
from tilewright_records.spaces.space_files import read_space, write_space
from tilewright_testing.support.landscape import Landscape

DEVICE = Device("cpu", {"model": "Model of a processor", "cores": 2})


@pytest.fixture(scope="module")
def hill():
    """A landscape of few points, and a record of each."""
    landscape = Landscape(8)
    trials = landscape.measure_all(landscape.space.points())
    timed = [replace(t, result=replace(t.result, timings={"compile": 0.0123})) for t in trials]
    return landscape, [Record.of(trial, DEVICE, 1) for trial in timed]


@pytest.fixture
def written(hill, tmp_path):
    landscape, records = hill
    files = write_space(tmp_path / "new", "hill", landscape.space, records, DEVICE)
    return landscape, records, files


def test_what_is_written_is_read(written):
    landscape, records, (space_file, records_file) = written
    found = read_space(space_file)
    assert (found.name, found.task, found.device) == (
        "hill",
        landscape.task,
        "Model of a processor",
    )
    assert found.space.hash == landscape.space.hash
    assert found.conditions == records[0].trial.input.conditions
    assert len(found.results) == len(records) == landscape.space.valid_count()
    assert found.best_seconds == pytest.approx(
        min(r.seconds for r in records if r.seconds is not None), rel=1e-4
    )
    assert found.tells_trial_seconds
    assert {result.timings["compile"] for result in found.results.values()} == {0.012}
    kept = [record.trial.result.failure for record in trials_in(records_file)]
    assert kept == [record.trial.result.failure for record in records]


def test_a_config_without_a_record_fails(written):
    found = read_space(written[2][0])
    stranger = replace(next(iter(found.results)), strategy="other")
    assert found.measure(stranger).result.failure.kind is FailureKind.INVALID_CONFIG
    assert found.true_seconds(stranger) is None


def test_how_many_are_near_the_best(written):
    found = read_space(written[2][0])
    times = [r.seconds for r in found.results.values() if r.seconds is not None]
    assert found.count_within(0) == 1
    assert found.count_within(1e9) == len(times)


def test_a_space_in_which_nothing_worked_is_one_clear_line(written):
    found = read_space(written[2][0])
    failed = MeasureResult(failure=Failure(FailureKind.CRASH))
    with pytest.raises(UsageError, match="hill: every config of this space failed"):
        _ = replace(found, results=dict.fromkeys(found.results, failed)).best_seconds


def test_a_missing_record_is_one_clear_line(written):
    _, _, (space_file, records_file) = written
    lines = gzip.decompress(records_file.read_bytes()).splitlines(keepends=True)
    records_file.write_bytes(gzip.compress(b"".join(lines[1:])))
    with pytest.raises(UsageError, match="1 of its configs have no record"):
        read_space(space_file)


def test_a_trial_that_failed_through_no_fault_of_the_config_is_no_record(hill, tmp_path):
    landscape, records = hill
    lost = MeasureResult(failure=Failure(FailureKind.DEVICE_LOST))
    spoiled = replace(records[0], trial=Trial(records[0].trial.input, lost))
    space_file, _ = write_space(tmp_path, "hill", landscape.space, [spoiled, *records[1:]], DEVICE)
    with pytest.raises(UsageError, match="1 of its configs have no record"):
        read_space(space_file)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"recording": 2}, "its format is 2, this release reads 1"),
        ({"recording": None}, "its format is None"),
        ({"space": 3}, "no recorded space"),
        ({"task": {}}, "no member 'workload'"),
    ],
)
def test_other_formats_and_nonsense_are_one_clear_line(written, change, said):
    path = written[2][0]
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UsageError, match=said):
        read_space(path)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff"])
def test_what_is_no_json_object_is_one_clear_line(written, content):
    path = written[2][0]
    path.write_bytes(content)
    with pytest.raises(UsageError, match="no recorded space"):
        read_space(path)


def test_the_space_of_the_file_is_a_space(written):
    data = json.loads(written[2][0].read_text())
    assert ConfigSpace.from_json(data["space"]).valid_count() == written[0].space.valid_count()
    assert data["recording"] == 1
