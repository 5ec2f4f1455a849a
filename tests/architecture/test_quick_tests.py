"""`pytest -m quick` runs something of every part."""

from __future__ import annotations

import runpy
from pathlib import Path

TESTS = Path(__file__).parents[1]
QUICK = runpy.run_path(str(TESTS.parent / "conftest.py"))["QUICK"]


def test_every_folder_of_tests_has_quick_ones() -> None:
    folders = {path.relative_to(TESTS).parts[0] for path in TESTS.glob("*/**/test_*.py")}
    assert {name.partition("/")[0] for name in QUICK} == folders


def test_what_is_called_quick_is_there() -> None:
    assert [name for name in QUICK if not (TESTS / name).is_file()] == []
