"""The faults that Tilewright survives are numbered D-01 to D-31 and D-34 to D-37; tests carry the number in their name."""

from __future__ import annotations

import re
from pathlib import Path


def test_every_fault_has_a_test_of_its_number():
    tests = Path(__file__).parents[1]
    sources = "\n".join(file.read_text() for file in tests.rglob("test_*.py"))
    numbered = {
        int(number) for number in re.findall(r"^ *def test_d(\d\d)_", sources, re.MULTILINE)
    }
    assert {*range(1, 32), *range(34, 38)} <= numbered
