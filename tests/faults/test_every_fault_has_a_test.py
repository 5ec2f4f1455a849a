"""SECURITY.md numbers the faults that Tilewright survives; tests carry the number in their name."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
NUMBERS = re.compile(r"D-(\d\d)(?: to D-(\d\d))?")
FILES = re.compile(r"`(tests/[\w/]+\.py)`")
RULES = re.split(r"^(?:\* |## )", PAGE, flags=re.MULTILINE)[1:]
WITHOUT = ("Data is not trusted\n", "Reporting\n")  # what precedes rules, and what promises nothing


def numbers(text):
    return {n for a, b in NUMBERS.findall(text) for n in range(int(a), int(b or a) + 1)}


def test_every_fault_has_a_test_of_its_number_and_every_number_its_place_on_the_page():
    sources = "\n".join(file.read_text() for file in (ROOT / "tests").rglob("test_*.py"))
    tested = re.findall(r"^ *def test_d(\d\d)_", sources, re.MULTILINE)
    assert {*range(1, 32), *range(34, 39)} <= {int(number) for number in tested} == numbers(PAGE)


def test_every_rule_of_the_security_page_names_its_tests():
    rules = [rule for rule in RULES if not rule.startswith(WITHOUT)]
    assert len(rules) > 10
    assert [rule for rule in rules if not numbers(rule) and not FILES.search(rule)] == []
    assert [name for name in FILES.findall(PAGE) if not (ROOT / name).is_file()] == []
