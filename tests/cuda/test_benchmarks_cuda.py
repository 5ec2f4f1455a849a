"""benchmarks/cuda, as far as a machine without a GPU can go: its tasks, its parts rehearsed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.target import Target
from tilewright_cuda.device.devices import gpus
from tilewright_cuda.emulation.compile import compiler_version
from tilewright_pipeline.api.task_text import find_task

FOLDER = Path(__file__).parents[2] / "benchmarks" / "cuda"
TARGET = Target.parse("cuda:arch=sm_90")
needs_emulation = pytest.mark.skipif(compiler_version() is None, reason="emulation needs g++")


HANGING_TORCH = """\
import sys
import time

print("torch hangs", file=sys.stderr, flush=True)
time.sleep(200)
"""
FAILING_PART = """\
import part
import sys
import types


def step():
    yield {"tuning": {"trials": 4}}
    raise ValueError("no chain")


def measure(session):
    session.attempt("first", step())
    session.attempt("second", iter([{"seconds": {"tilewright": 1e-3}}]))


sys.modules["layers"] = types.SimpleNamespace(measure=measure)
sys.exit(part.main())
"""
PYTHON = """\
#!/usr/bin/env bash
# Stands for a Python: notes what is installed, and fails in the midst of it where `broken` exists.
if [[ $1 == *install.py ]]; then
  echo installed >> LOG
  mkdir -p "$3"
  [[ ! -e $2/broken ]]
elif [[ $2 == tilewright_cuda.install_pycuda ]]; then
  echo "built $5" >> LOG
  echo pycuda > "$6/pycuda-1.whl"
fi
"""


@pytest.fixture
def module(monkeypatch):
    """`module(name)` of the folder."""
    monkeypatch.syspath_prepend(str(FOLDER))
    yield import_module
    for name, one in list(sys.modules.items()):
        if str(FOLDER) in (getattr(one, "__file__", None) or ""):
            del sys.modules[name]


@pytest.fixture
def workloads(module):
    return module("workloads")


def test_every_workload_is_a_task_with_strategies(workloads):
    host = PluginHost.load()
    texts = {
        *workloads.CONVOLUTIONS,
        *workloads.TRANSPOSED,
        *workloads.OTHERS,
        *workloads.ODD,
        *workloads.PRODUCTS,
        *workloads.BYTES,
    }
    tasks = [find_task(text, TARGET, host, None) for text in texts]
    assert len({task.key for task in tasks}) == len(texts)
    assert all(host.strategies(task) for task in tasks)


def test_the_peer_is_asked_for_the_same_convolution(workloads):
    host = PluginHost.load()
    for text in (*workloads.CONVOLUTIONS, *workloads.TRANSPOSED):
        asked = workloads.peer_question(text)
        workload = find_task(text, TARGET, host, None).workload
        attributes = workload.attributes
        assert [list(spec.shape) for spec in workload.inputs] == asked[workload.operator]
        assert attributes["strides"] == (asked["strides"],) * 2
        assert attributes["padding"] == (asked["padding"],) * 4
        room = attributes.get("output_padding", (0, 0))
        assert room == (asked.get("output_padding", 0),) * 2


@pytest.mark.parametrize("script", ["bundle.sh", "run_all.sh"])
def test_scripts_refuse_options_that_they_do_not_know(script):
    done = subprocess.run(
        ["bash", str(FOLDER / script), "layers", "--nonsense"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "unknown option" in done.stderr


def test_without_a_device_a_part_says_so(tmp_path):
    if gpus():
        pytest.skip("this machine has a GPU")
    done = _part("correctness", tmp_path)
    report = json.loads((tmp_path / "correctness.json").read_text())
    assert done.returncode == 1
    assert "this machine has no GPU" in done.stderr
    assert "this machine has no GPU" in report["environment"]["no_device"]
    assert report["environment"]["missing"]["gpu"] in done.stderr
    assert report["finished"] is False


def test_a_peer_that_ends_costs_only_its_own_figures(module):
    PeerError = module("peer").PeerError

    class Peer:
        """`slow` takes so long to prepare that the process is ended, and `ready` with it."""

        def prepare(self, name, asked, seconds):
            return "no answer" if name == "slow" else None

        def times(self, name, runs):
            if name != "alive":
                raise PeerError("cuDNN failed")
            return {"device": [1.0, 3.0, 2.0]}

    asked = {"ready": {}, "slow": {}, "alive": {}}
    times, absent = module("layers").in_turns(lambda: 4.0, asked, Peer(), 2)
    assert times == {"tilewright": 4.0, "alive": 2.0}
    assert absent == {"slow": "no answer", "ready": "cuDNN failed"}


@needs_emulation
def test_a_step_that_fails_keeps_what_it_found_and_fails_the_part(tmp_path):
    options = ["layers", "--out", str(tmp_path), "--device", "emulated"]
    done = _python(["-c", FAILING_PART, *options], FOLDER)
    report = json.loads((tmp_path / "layers.json").read_text())
    assert done.returncode == 1
    assert "ValueError: no chain" in done.stderr
    assert report["first"]["tuning"] == {"trials": 4}
    assert "ValueError: no chain" in report["first"]["error"]
    assert report["second"] == {"seconds": {"tilewright": 1e-3}}
    assert report["finished"]


@pytest.mark.needs("graph", "measure", "search")
@needs_emulation
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_part_that_is_ended_takes_its_peer_along(tmp_path, number):
    (tmp_path / "torch.py").write_text(HANGING_TORCH)
    command = [sys.executable, str(FOLDER / "part.py"), "resnet18", "--out", str(tmp_path)]
    part = subprocess.Popen(
        [*command, "--device", "emulated"],
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(tmp_path),
    )
    assert part.stderr.readline() == "torch hangs\n"
    part.send_signal(number)
    _, told = part.communicate(timeout=120)  # as soon as nobody is left who could write
    report = json.loads((tmp_path / "resnet18.json").read_text())
    assert not report["finished"]
    assert ("ended from outside" in report.get("error", "")) == (number == signal.SIGTERM)
    assert ("ended from outside" in told) == (number == signal.SIGTERM)


def test_wheels_are_installed_once_and_anew_where_that_was_cut_short_or_they_are_others(tmp_path):
    python, log, wheels = (tmp_path / name for name in ("python", "log", "wheels"))
    python.write_text(PYTHON.replace("LOG", str(log)))
    python.chmod(0o755)
    wheels.mkdir()
    (wheels / "tilewright.whl").write_text("first")
    assert _run_all(tmp_path, python).returncode == 0
    assert _run_all(tmp_path, python).returncode == 0
    assert log.read_text().count("installed") == 1
    (wheels / "tilewright.whl").write_text("second")
    (wheels / "broken").touch()
    assert _run_all(tmp_path, python).returncode == 1
    (wheels / "broken").unlink()
    assert _run_all(tmp_path, python).returncode == 0
    assert log.read_text().count("installed") == 3
    assert _run_all(tmp_path, python, "--pycuda").returncode == 0
    assert _run_all(tmp_path, python, "--pycuda").returncode == 0
    assert log.read_text().split("\n")[3:-1] == ["built --into", "installed"]


def test_without_wheels_and_without_tilewright_no_part_is_begun(tmp_path):
    (tmp_path / "wheels").mkdir()
    done = _run_all(tmp_path, "false")
    assert done.returncode == 1
    assert "false has no tilewright" in done.stderr
    assert "bundle.sh" in done.stderr


@pytest.mark.full
@needs_emulation
def test_a_rehearsed_part_leaves_a_whole_report_and_names_an_absent_peer(tmp_path):
    assert _part("layers", tmp_path, "--device", "emulated").returncode == 0
    report = json.loads((tmp_path / "layers.json").read_text())
    assert report["finished"]
    assert report["rehearsal"]
    assert report["peer"]["about"] or "torch" in report["peer"]["absent"]
    rows = [row for name, row in report.items() if name.startswith(("matmul", "conv2d"))]
    assert [row["seconds"]["tilewright"] > 0 for row in rows] == [True, True, True]


def _part(name, out, *options):
    return _python([str(FOLDER / "part.py"), name, "--out", str(out), *options])


def _python(arguments, *path):
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=_environment(*path)
    )


def _environment(*path):
    """What this process imports, and before it what lies in these folders."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*path, *sys.path]))}


def _run_all(folder, python, *more):
    options = ["--wheels", str(folder / "wheels"), "--out", str(folder / "out"), *more]
    return subprocess.run(
        ["bash", str(FOLDER / "run_all.sh"), "layers", *options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHON": str(python)},
    )
