"""The glossary has each noun once, and names classes that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tilewright.host.plugin_host import PluginHost

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
_TITLES, _RULE, *LINES = [line for line in PAGE.splitlines() if line.startswith("|")]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in LINES]
NOUNS = [row[0] for row in ROWS]
ROLES = PluginHost.load().roles()


@pytest.fixture(scope="module")
def classes():
    """Names of all classes of the distributions."""
    files = [*ROOT.glob("core/src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")]
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in files)
    return {
        node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    }


def test_every_noun_stands_once_and_in_order():
    assert sorted(set(NOUNS), key=str.lower) == NOUNS


def test_every_noun_has_a_sentence_and_a_cell_for_each_system():
    assert [row[0] for row in ROWS if len(row) != 6 or not all(row)] == []
    assert [noun for noun, meaning, *_ in ROWS if not re.fullmatch(r"[A-Z].*[^.]\.", meaning)] == []


def test_the_classes_that_are_named_exist(classes):
    named = {name for _, meaning, *_ in ROWS for name in re.findall(r"`([A-Z]\w+)`", meaning)}
    assert len(named) > 40
    assert named - classes - {"NCHW16c"} == set()


def test_no_class_stands_at_two_nouns():
    """One word, one thing."""
    named = [name for _, meaning, *_ in ROWS for name in re.findall(r"`([A-Z]\w+)`", meaning)]
    assert sorted(named) == sorted(set(named))


def test_every_role_is_a_noun():
    roles = {"task scheduler" if role == "scheduler" else role.replace("_", " ") for role in ROLES}
    assert roles - {noun.lower() for noun in NOUNS} == set()


def test_every_word_of_the_picture_is_a_noun():
    picture = (ROOT / "docs" / "pictures" / "way.svg").read_text(encoding="utf-8")
    words = re.findall(r'<text class="(?:value|part)"[^>]*>([^<:]+)', picture)
    assert len(words) > 20
    assert {word for words in words for word in words.split(", ")} - set(NOUNS) == set()
