"""The tuner that CONTRIBUTING.md shows keeps the contract that it is said to keep."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tilewright.host import PluginHost
from tilewright.testing.tuner import BatchTunerContract, TunerContract

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


class TestMine(TunerContract, BatchTunerContract):
    name = "mine"

    @pytest.fixture
    def host(self, tmp_path: Path) -> PluginHost:
        snippet = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
        assert snippet is not None
        path = tmp_path / "mine.py"
        path.write_text(snippet[1], encoding="utf-8")
        return PluginHost.load([path])
