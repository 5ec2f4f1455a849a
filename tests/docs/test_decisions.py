"""docs/decisions: a page a decision, short, of one form, and found from the index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"
PAGES = sorted(path.name for path in FOLDER.glob("*.md") if path.name != "README.md")


def test_the_index_names_each_page_once():
    named = re.findall(r"\]\(([\w-]+\.md)\)", (FOLDER / "README.md").read_text())
    assert sorted(named) == PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_was_tried_measured_and_decided_and_when_to_look_again(name):
    text = (FOLDER / name).read_text()
    told = re.findall(r"^\*\*(Why|Tried|Measured|Decided|Look again when)\b", text, re.MULTILINE)
    assert told == ["Why", "Tried", "Measured", "Decided", "Look again when"]
    assert len(text.splitlines()) <= 30
