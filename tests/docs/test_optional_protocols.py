"""What the page on plugins says that parts offer, or may offer beside, is what is asked for."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

from tilewright_records.store.store import JsonlRecordStore

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "writing-plugins.md").read_text(encoding="utf-8")
ROW = re.compile(r"\| `(tilewright\.[\w.]+)` \| [^|]+ \| ([^|]+) \|")


def _optional_protocols():
    """Dotted name and methods of each protocol of core that objects are asked for at run time.

    It is told by the package that exports it, where one does.
    """
    source = ROOT / "core" / "src"
    for path in (source / "tilewright").rglob("*.py"):
        module = ".".join(path.relative_to(source).with_suffix("").parts)
        for made in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(made, ast.ClassDef) and any(
                isinstance(mark, ast.Name) and mark.id == "runtime_checkable"
                for mark in made.decorator_list
            ):
                methods = [each.name for each in made.body if isinstance(each, ast.FunctionDef)]
                package = module.rpartition(".")[0]
                exported = hasattr(import_module(package), made.name)
                yield f"{package if exported else module}.{made.name}", methods


def test_every_optional_protocol_stands_on_the_page_with_its_methods():
    _, table = PAGE.split("| protocol | implemented by | methods |")
    told = {name: re.findall(r"`(\w+)`", methods) for name, methods in ROW.findall(table)}
    found = dict(_optional_protocols())
    assert len(found) >= 5
    assert told == found


def test_every_method_of_a_record_store_stands_on_the_page():
    _, _, told = PAGE.partition("A record store is made with")
    named = set(re.findall(r"`(\w+)`", told.partition("\n\n")[0]))
    assert {name for name in vars(JsonlRecordStore) if not name.startswith("_")} <= named
