"""Files that verbs write: the folders above are made, and what refuses them is told."""

from __future__ import annotations

import pytest

from tilewright.errors import UsageError
from tilewright_pipeline.writing import check_file, writing_file


def test_the_folders_above_a_file_are_made_when_it_is_written(tmp_path):
    path = tmp_path / "new" / "deep" / "rows.json"
    check_file(path, "--json")
    assert list(tmp_path.iterdir()) == []
    with writing_file(path, "--json"):
        path.write_text("[]")
    assert path.read_text() == "[]"


def test_a_file_amid_the_path_is_told_with_what_was_to_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(UsageError, match="--json: Not a directory"),
        writing_file(tmp_path / "file" / "below" / "rows.json", "--json"),
    ):
        pytest.fail("it cannot be written")
