"""The one rule for paths on the command line and in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.errors import UsageError
from tilewright.paths import check_is_file, path_of


def test_a_path_begins_at_home_where_it_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert path_of("~/tuned.jsonl") == tmp_path / "tuned.jsonl"
    assert path_of("a/~b") == Path("a/~b")
    assert path_of("~nobody-of-that-name/x") == Path("~nobody-of-that-name/x")


def test_a_folder_that_may_not_be_entered_is_told_as_such(monkeypatch):
    def is_file(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", is_file)
    with pytest.raises(UsageError, match="no pipeline file can be read there: Permission denied"):
        check_is_file("shut/net.yaml", "pipeline file")
