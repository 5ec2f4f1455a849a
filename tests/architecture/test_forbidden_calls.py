"""Data is never executed: no pickle, eval, exec, shell or unsafe YAML; and no path of anybody's machine."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib"}
CALLS = {"eval", "exec", "__import__", "compile"}
HOMES = re.compile(r"(?<![\w.])/(?:home|Users|root|work)/[\w.]+|[A-Z]:\\\\Users")


def test_no_module_that_executes_data_is_imported(sources: Sequence[Any]) -> None:
    offenders = [s.place for s in sources for n in s.imports() if n.partition(".")[0] in MODULES]
    assert offenders == []


def test_nothing_is_evaluated(sources: Sequence[Any]) -> None:
    offenders = [
        f"{source.place}:{node.lineno}"
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS
    ]
    assert offenders == []


def test_no_shell_is_started(sources: Sequence[Any]) -> None:
    offenders = [
        f"{source.place}:{node.lineno}"
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call)
        and (
            any(k.arg == "shell" for k in node.keywords)
            or ast.unparse(node.func) in ("os.system", "os.popen")
        )
    ]
    assert offenders == []


def test_yaml_and_arrays_are_loaded_safely(sources: Sequence[Any]) -> None:
    offenders = []
    for source in sources:
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.Call):
                continue
            name, keywords = ast.unparse(node.func), {k.arg: k.value for k in node.keywords}
            loose_yaml = (
                name in ("yaml.load", "yaml.load_all")
                and len(node.args) < 2
                and "Loader" not in keywords
            )
            unsafe_yaml = name.startswith(("yaml.unsafe", "yaml.full"))
            pickled = (
                "allow_pickle" in keywords and ast.unparse(keywords["allow_pickle"]) != "False"
            )
            if loose_yaml or unsafe_yaml or pickled:
                offenders.append(f"{source.place}:{node.lineno}")
    assert offenders == []


def test_no_file_names_a_place_on_somebodys_machine(root: Path) -> None:
    folders = ("core", "plugins", "tests", "examples", "benchmarks")
    suffixes = {".py", ".toml", ".yaml", ".yml", ".md", ".json"}
    files = [p for folder in folders for p in (root / folder).rglob("*") if p.suffix in suffixes]
    files += [path for path in root.iterdir() if path.suffix in suffixes]
    own = Path(__file__)
    offenders = [
        f"{path.relative_to(root)}: {found.group()}"
        for path in files
        if path != own and "data" not in path.parts and ".venv" not in path.parts
        if (found := HOMES.search(path.read_text(encoding="utf-8", errors="replace")))
    ]
    assert offenders == []
