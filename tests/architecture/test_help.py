"""Help names every verb with what it does, and imports none of them."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points

HELP = """
import contextlib, io, json, sys
from tilewright_cli.terminal.group import run
out = io.StringIO()
with contextlib.redirect_stdout(out):
    run([*sys.argv[1:], "--help"])
print(json.dumps([out.getvalue(), sorted(sys.modules)]))
"""


def help_of(*group: str) -> tuple[str, set[str]]:
    """What help prints, and the modules that were loaded for it."""
    done = subprocess.run(
        [sys.executable, "-c", HELP, *group], capture_output=True, text=True, check=True
    )
    text, modules = json.loads(done.stdout)
    return text, set(modules)


def test_help_imports_no_verb_and_no_plugin() -> None:
    verbs = {point.module for point in entry_points(group="tilewright.commands")}
    plugins = {point.module.partition(".")[0] for point in entry_points(group="tilewright")} - {
        "tilewright"
    }
    _, modules = help_of()
    assert modules & verbs == set()
    assert {name.partition(".")[0] for name in modules} & plugins <= {"tilewright_pipeline"}


def test_every_verb_has_a_line_in_help() -> None:
    for point in entry_points(group="tilewright.commands"):
        *group, verb = point.name.split(".")
        text, _ = help_of(*group)
        (line,) = (line for line in text.splitlines() if line.startswith(f"  {verb} "))
        assert len(line.split()) > 3, line


def test_the_line_of_a_verb_is_its_functions_docstring() -> None:
    from tilewright_cli.verbs.tune import tune

    text, _ = help_of()
    assert tune.help is not None
    (line,) = (line for line in text.splitlines() if line.startswith("  tune "))
    assert line.split() == ["tune", *tune.help.partition(".")[0].split()]
