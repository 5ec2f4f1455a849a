"""Proved in fresh interpreters: nothing heavy is imported before it is used."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HEAVY = ("numpy", "llvmlite", "xgboost", "onnx", "onnxruntime", "pulp", "pydantic", "yaml", "rich")


def heavy_after(code, *arguments):
    script = (
        "import sys, atexit\n"
        "saved = sys.stderr\n"
        f"heavy = {HEAVY!r}\n"
        "atexit.register(lambda: print('HEAVY', *[h for h in heavy if h in sys.modules], file=saved))\n"
        f"sys.argv = ['tilewright', *{list(arguments)!r}]\n{code}\n"
    )
    environment = {**os.environ, "TILEWRIGHT_BLOCK_PLUGINS": ""}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.strip().splitlines()[-1].split()[1:]


MAIN = "from tilewright_cli import main; main()"


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("import tilewright", ()),
        ("from tilewright.host.plugin_host import PluginHost; PluginHost.load()", ()),
        (MAIN, ("--version",)),
        (MAIN, ("--help",)),
        (MAIN, ("plugins",)),
    ],
    ids=["import", "host", "version", "help", "plugins"],
)
def test_nothing_heavy_is_imported(code, arguments):
    assert heavy_after(code, *arguments) == []


def test_making_a_component_without_options_needs_no_pydantic():
    """A worker makes its target before its first candidate; pydantic would take 50 ms of it."""
    code = (
        "from tilewright.host.plugin_host import PluginHost\nhost = PluginHost.load()\n"
        "host.make('record_reader', 'jsonl', {}, host)"
    )
    assert heavy_after(code) == []


def test_help_imports_no_plugin():
    script = (
        "import sys\nsys.argv = ['tilewright', '--help']\nfrom tilewright_cli.terminal.group import run\n"
        "run(['--help'])\nown = ('tilewright_cli', 'tilewright_pipeline')\n"
        "print([m for m in sys.modules if m.startswith('tilewright_') and not m.startswith(own)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().endswith("[]")
