"""Whatever distribution is taken away: what works without it works, all else says in a line what brings it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PLUGINS = sorted(path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml"))
TASK = ("dense(8x8, 8x8)", "--target", "x86:threads=1")
MODEL = ("tiny.onnx", "--target", "x86:threads=1")
VERBS = {
    "help": ("--help",),
    "plugins": ("plugins", "--json"),
    "targets": ("targets",),
    "schema": ("schema",),
    "doctor": ("doctor", "--json"),
    "space": ("space", *TASK),
    "explain": ("explain", *TASK),
    "tasks": ("tasks", *MODEL),
    "compile": ("compile", *MODEL),
    "graph-tune": ("graph-tune", *MODEL),
    "tune": ("tune", *TASK, "--budget", "2"),
    "run": ("run", *MODEL, "--set", "tune.budget=2"),
    "bench models": ("bench", "models", "none.jsonl"),
    "bench trial": ("bench", "trial", *MODEL),
    "bench network": ("bench", "network", *MODEL),
    "records": ("records", "ls", "records.jsonl"),
    "new": ("new", "plugin", "mine", "--kind", "target"),
}
# Those that measure no peak of this machine.
STARTS_WITHOUT = [name for name in PLUGINS if name not in ("cli", "pipeline")]
QUICK = ("help", "plugins", "schema", "space", "tasks", "records", "new")
# What works with everything but this: the exit code is 0, or 1 where a check fails.
LISTS = {"help", "plugins", "targets", "schema", "doctor", "records"}
WORKS_WITHOUT = {
    "cuda": set(VERBS) - {"bench models", "bench trial"},
    "dask": set(VERBS) - {"bench models", "bench trial"},
    "graph": {"space", "explain", "tune", "new"},
    "measure": {"space", "explain", "tasks", "compile", "bench network", "new"},
    "models": set(VERBS) - {"bench models", "bench trial"},
    "onnx": {"space", "explain", "tune", "new"},
    "openvino": set(VERBS) - {"bench models", "bench trial"},
    "report": set(VERBS) - {"bench models", "bench trial"},
    "records": {"space", "new"},
    "testing": set(VERBS) - {"bench models", "bench trial"},
    "recordings": set(VERBS) - {"bench models", "bench trial"},
    "search": {"space", "explain", "tasks", "compile", "graph-tune", "bench network", "new"},
    "tensor": set(),
    "x86": {"new"},
}
RUN_ALL = """
import contextlib, io, json, sys, traceback
from tilewright_cli.terminal.group import run
told = {}
for name, arguments in json.load(open("verbs.json")).items():
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = run(arguments)
        except BaseException:
            traceback.print_exc()
            code = 99
    told[name] = code, out.getvalue(), err.getvalue()
json.dump(told, open("told.json", "w"))
"""


@pytest.fixture
def folder_with_a_model(tmp_path, monkeypatch, cache):
    """A folder with a model of one layer, and records that hold nothing yet."""
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper

    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.delenv("TILEWRIGHT_STRICT_PLUGINS", raising=False)  # plugins without what they need
    folder = tmp_path / "work"
    folder.mkdir()
    weight = numpy_helper.from_array(np.ones((8, 8), "float32"), "w")
    x, y = (helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [8, 8]) for n in "xy")
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    model = helper.make_model(
        helper.make_graph([node], "g", [x], [y], [weight]),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    onnx.save(model, folder / "tiny.onnx")
    (folder / "records.jsonl").touch()
    (folder / "all.py").write_text(RUN_ALL)
    return folder


@pytest.mark.parametrize(
    ("verbs", "missing"),
    [
        *(pytest.param(QUICK, name, id=name) for name in STARTS_WITHOUT),
        *(pytest.param(VERBS, n, id=f"{n}-all", marks=pytest.mark.full) for n in STARTS_WITHOUT),
    ],
)
def test_without_a_distribution_every_verb_works_or_says_what_brings_it(
    verbs, missing, environment, folder_with_a_model
):
    asked = {verb: VERBS[verb] for verb in verbs}
    (folder_with_a_model / "verbs.json").write_text(json.dumps(asked))
    kept = [ROOT / "plugins" / name for name in PLUGINS if name != missing]
    done = environment([ROOT / "core", *kept]).python("all.py", cwd=folder_with_a_model)
    assert done.returncode == 0, done.stderr
    told = json.loads((folder_with_a_model / "told.json").read_text())
    for verb, (code, out, err) in told.items():
        assert "Traceback" not in out + err, (verb, err)
        if verb in (LISTS - {missing}) | WORKS_WITHOUT[missing]:
            assert code in (0, 1 if verb == "doctor" else 3 if verb == "run" else 0), (verb, err)
        elif verb not in ("bench models", "bench trial"):
            assert code == 2, (verb, code, out, err)
            errors = err[err.index("error: ") :]
            assert re.search(
                rf"install ('tilewright\[{missing}\]'|tilewright-{missing}) brings", errors
            ), (verb, err)


def test_without_the_command_line_it_is_named(environment, tmp_path):
    done = environment([ROOT / "core"]).python("-m", "tilewright", "plugins", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "tilewright: no command line here; install tilewright-cli\n"


def test_without_pipelines_the_command_line_says_what_brings_them(environment, tmp_path):
    kept = [ROOT / "core", ROOT / "plugins" / "cli"]
    done = environment(kept).python("-m", "tilewright", "plugins", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: tilewright-pipeline is not installed")
    assert line.endswith("install tilewright-pipeline brings it")


def test_without_a_record_store_a_run_says_what_brings_one(environment, folder_with_a_model):
    kept = [ROOT / "plugins" / name for name in PLUGINS if name != "records"]
    task = ("tune", *TASK, "--budget", "2", "--records", "history.jsonl", "--json")
    done = environment([ROOT / "core", *kept]).tilewright(*task, cwd=folder_with_a_model)
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: no record store is installed\n  " in done.stderr
    assert "install tilewright-records brings it" in done.stderr
