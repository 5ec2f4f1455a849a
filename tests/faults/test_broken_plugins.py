"""D-31: whatever a plugin does wrong, in whatever role, every listing survives and names it."""

from __future__ import annotations

import json

import pytest

from tilewright_cli.terminal.group import run

pytestmark = pytest.mark.needs("tensor", "search", "x86", "graph", "measure", "onnx")

LISTINGS = {
    "plugins": ("plugins", "--json"),
    "check": ("plugins", "--check", "--json"),
    "targets": ("targets", "--json"),
    "doctor": ("doctor", "--json"),
    "schema": ("schema",),
    "tasks": ("tasks", "tiny.onnx", "--target", "x86:threads=1", "--json"),
    "space": ("space", "dense(8x8, 8x8)", "--target", "x86:threads=1", "--json"),
    "hooks": ("plugins", "--hooks", "--json"),
    "help": ("--help",),
}
HOOKS = {
    "tuner": "tuners",
    "scheduler": "task_schedulers",
    "cost_model": "cost_models",
    "runner": "runners",
    "builder": "builders",
    "stage": "stages",
    "record_store": "record_stores",
    "record_reader": "record_readers",
    "oracle": "oracles",
    "frontend": "frontends",
    "graph_tuner": "graph_tuners",
    "target": "targets",
    "strategy": "strategies",
    "reference": "references",
    "operator": "operators",
    "graph_pass": "graph_passes",
}
HOOK = "@hookimpl\ndef tilewright_{hook}():\n    {body}\n"
# What follows `return`, or stands before it; `made(...)` is a component with something odd.
IN_THE_HOOK = {
    "raises": "raise ValueError('on purpose')",
    "exits": "sys.exit(3)",
    "no list": "return 7",
    "no component": "return [7, None]",
    "prints": "print('hello'); return [7]",
}
IN_A_COMPONENT = {
    "options raise": "options=fail",
    "options exit": "options=leave",
    "options are no model": "options=lambda: 7",
    "options print": "options=lambda: print('hello')",
    "load raises": "load=fail",
    "load exits": "load=leave",
    "load is a module that is missing": "load=missing",
    "lacks raises": "lacks=fail",
    "lacks is no text": "lacks=lambda: 7",
    "summary is no text": "summary=7",
    "name is no text": "name=7",
    "name is empty": "name=''",
    "name is odd": "name='Bad Name!'",
    "name steers the terminal": "name='\\x1b[2J'",
    "load cannot be called": "load=7",
    "capabilities are no texts": "capabilities=frozenset({7})",
    "probe raises": "load=lambda: Backend",
    "the backend is none": "load=lambda: dict",
}
HEAD = """
import sys
from tilewright import Component, hookimpl

def fail():
    raise ValueError("on purpose")

def leave():
    sys.exit(3)

def missing():
    import no_such_module

def made(**odd):
    return Component(**{"name": "broken", "summary": "a broken one", "load": lambda: dict, **odd})

class Backend:
    def __init__(self, *_):
        pass

    def probe(self):
        print("hello")
        raise OSError("on purpose")

    def missing_parts(self):
        raise SystemExit(3)

    found = missing
"""


@pytest.fixture
def listed(capsys, folder_with_a_model):
    """A function that runs a listing with a plugin: (exit code, stdout, stderr)."""

    def call(name, body):
        path = folder_with_a_model / "culprit.py"
        path.write_text(HEAD + body)
        files = () if name == "help" else ("--plugin", str(path))
        code = run([*LISTINGS[name], *files])
        told = capsys.readouterr()
        if name != "help":
            json.loads(told.out)
        assert "Traceback" not in told.err
        return code, told.out, told.err

    return call


@pytest.fixture
def folder_with_a_model(tmp_path, monkeypatch):
    """The current folder, with a model of one layer; no device is measured."""
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "cuda")
    weight = numpy_helper.from_array(np.ones((8, 8), "float32"), "w")
    x, y = (helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [8, 8]) for n in "xy")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [weight]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), "tiny.onnx")
    return tmp_path


@pytest.fixture(autouse=True)
def _no_peaks(monkeypatch):
    """Those of x86 would take a second each time."""
    monkeypatch.setattr("tilewright_x86.backend.X86Backend.measure_peak", lambda *_: (1e9, 1e9))


@pytest.mark.parametrize("wrong", IN_THE_HOOK)
def test_hooks_that_misbehave_leave_every_listing_and_are_named(wrong, listed):
    hooks = [HOOK.format(hook=hook, body=IN_THE_HOOK[wrong]) for hook in HOOKS.values()]
    for name in LISTINGS:
        code, out, err = listed(name, "".join(hooks))
        assert code == (1 if name in ("check", "doctor") else 0), (name, err)
        if name == "check":
            assert "culprit.py" in out
            assert all(f"tilewright_{hook}" in out for hook in HOOKS.values())


@pytest.mark.parametrize("odd", IN_A_COMPONENT)
def test_a_component_that_misbehaves_leaves_every_listing_and_is_named(odd, listed):
    roles = list(HOOKS)[:12]
    body = "".join(
        HOOK.format(hook=HOOKS[role], body=f"return [made({IN_A_COMPONENT[odd]})]")
        for role in roles
    )
    for name in LISTINGS:
        code, _, err = listed(name, body)
        assert code in {"check": (1,), "doctor": (0, 1)}.get(name, (0,)), (name, err)
    told = listed("check", body)
    assert "culprit.py" in told[1]
    assert "\x1b" not in told[1] + told[2]
