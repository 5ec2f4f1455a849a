"""What the page on plugins says that parts offer, or may offer beside, is what is asked for."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

from tilewright_records.store.store import JsonlRecordStore

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "writing-plugins.md").read_text(encoding="utf-8")
ANSWERS = {"tilewright_pipeline.context.explaining.Explains"}
"""Protocols of what a hook gives: whoever implements the hook has said so already."""
ROW = re.compile(r"\| `(tilewright\w*\.[\w.]+)` \| [^|]+ \| ([^|]+) \|")


def _optional_protocols():
    """Dotted name and methods of each protocol that objects are asked for at run time.

    It is told by the package that exports it, where one does.
    """
    sources = [ROOT / "core" / "src", *sorted(ROOT.glob("plugins/*/src"))]
    for source, path in ((one, path) for one in sources for path in one.rglob("*.py")):
        module = ".".join(path.relative_to(source).with_suffix("").parts)
        for made in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(made, ast.ClassDef) and any(
                isinstance(mark, ast.Name) and mark.id == "runtime_checkable"
                for mark in made.decorator_list
            ):
                methods = [_name_in(each) for each in made.body if _name_in(each)]
                package = module.rpartition(".")[0]
                exported = hasattr(import_module(package), made.name)
                yield f"{package if exported else module}.{made.name}", methods


def _name_in(statement):
    """What a method or an attribute of a class is called; empty for what is neither."""
    if isinstance(statement, ast.AnnAssign):
        return statement.target.id
    return statement.name if isinstance(statement, ast.FunctionDef) else ""


def test_every_optional_protocol_stands_on_the_page_with_its_methods():
    _, table = PAGE.split("| protocol | implemented by | methods |")
    told = {name: re.findall(r"`(\w+)`", methods) for name, methods in ROW.findall(table)}
    found = dict(_optional_protocols())
    found = {name: methods for name, methods in found.items() if name not in ANSWERS}
    assert len(found) >= 10
    assert told == found


def test_no_object_offers_an_optional_part_by_an_accident_of_naming():
    """One of the names that are asked for is of two words, and nothing else has it."""
    everyday = {
        name: methods
        for name, methods in _optional_protocols()
        if name not in ANSWERS and not any("_" in method for method in methods)
    }
    assert everyday == {}


def test_every_method_of_a_record_store_stands_on_the_page():
    _, _, told = PAGE.partition("A record store is made with")
    named = set(re.findall(r"`(\w+)`", told.partition("\n\n")[0]))
    assert {name for name in vars(JsonlRecordStore) if not name.startswith("_")} <= named
