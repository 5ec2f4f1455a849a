"""The recorded spaces of the package are whole, and hard."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilewright_recordings
from tilewright.vocabulary.measure import FailureKind
from tilewright_records.spaces.space_files import read_space
from tilewright_search.cli.recorded_spaces import recorded_spaces

DATA = Path(tilewright_recordings.__file__).parent / "data"
FILES = sorted(DATA.glob("*.space.json"))
TUNERS = ("grid", "random", "genetic", "xgb", "evolutionary")


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.name.partition(".")[0])
def recording(request):
    return read_space(request.param)


def test_the_installed_spaces_are_those_of_the_package():
    names = [path.name.removesuffix(".space.json") for path in FILES]
    assert [space.name for space in recorded_spaces(None)] == names
    assert [space.name for space in recorded_spaces(f"{names[0]},{names[0][:-1]}?")] == [names[0]]


def test_a_recorded_space_is_whole_large_and_hard(recording):
    results = [recording.results[config] for config in recording.space.points()]
    assert 2000 <= len(results) <= 50_000
    assert not [r for r in results if r.failure and r.failure.kind is FailureKind.INVALID_CONFIG]
    assert recording.count_within(2) <= 0.05 * len(results)


def test_recordings_are_small():
    assert sum(path.stat().st_size for path in DATA.glob("*")) < 10_000_000


def test_the_readme_has_a_line_on_every_space(recording):
    readme = (DATA.parents[2] / "README.md").read_text()
    near = recording.count_within(2)
    line = rf"^\| `{recording.name}` \| .* \| {len(recording.results)} \| {near} \|$"
    assert re.search(line, readme, re.MULTILINE)
