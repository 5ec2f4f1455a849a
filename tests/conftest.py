"""What the tests of several folders share: records, the toy world, the target whose kernels do harm."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
import zipfile
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import left_behind
import pytest
from fault_bench import FAULTS, Bench
from hypothesis import settings

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import (
    Conditions,
    Failure,
    FailureKind,
    MeasureInput,
    MeasureResult,
    Trial,
)
from tilewright.vocabulary.record import Record
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import EpilogueOp, TensorSpec, Workload

# Jobs that a shell starts in the background ignore Ctrl-C, and so would all that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says how busy the machine is.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

PLAIN = {"cli", "core", "faults", "models", "pipeline", "records"}
"""Folders whose tests run in the plain environment."""


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_left(tmp_path_factory, pytestconfig):
    """Everything that the tests of this process start ends, and leaves no file; said at the last of them."""
    temporary, root = tmp_path_factory.mktemp("temporary"), pytestconfig.rootpath
    before = left_behind.beside_the_sources(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(left_behind.MARK, str(os.getpid()))
        patch.setenv("TMPDIR", str(temporary))
        patch.setattr(tempfile, "tempdir", str(temporary))
        yield
    left = left_behind.processes(os.getpid()) + left_behind.files(temporary)
    left += sorted(left_behind.beside_the_sources(root) - before)
    assert not left, "left behind: " + "\n".join(left)


@pytest.fixture
def soon():
    """`with soon(seconds):` what a machine to itself does in this time.

    One that is busy may take thirty times as long; what the tests look for takes minutes or hours.
    """

    @contextmanager
    def within(seconds):
        start = time.monotonic()
        yield
        took = time.monotonic() - start
        assert took < 30 * seconds, f"{took:.1f} s for what takes {seconds} s at most"

    return within


# --- records


class Samples:
    """Two devices, a task, the same with an epilogue, and records of them."""

    here = Device("cpu", {"model": "one", "cores": 2})
    elsewhere = Device("cpu", {"model": "another", "cores": 64})
    operands = (TensorSpec((1, 7)), TensorSpec((5, 7), role="constant"))
    task = Task(Workload("dense", operands), Target.parse("toy:threads=1"))
    fused = Task(Workload("dense", operands, epilogue=(EpilogueOp("relu"),)), task.target)

    @staticmethod
    def config(number, strategy="plain/a"):
        return ConfigEntity(strategy, {"tile": [2, number], "unroll": True})

    @classmethod
    def record(
        cls,
        number,
        costs=(2e-3, 1e-3, 3e-3),
        *,
        task=task,
        device=here,
        revision=1,
        strategy="plain/a",
        failure=None,
        constants="cold",
        repeat=3,
        turns=1,
    ):
        if failure is None:
            result = MeasureResult(tuple(costs), timings={"compile": 0.01})
        else:
            result = MeasureResult(failure=Failure(FailureKind(failure), "why", "SIGSEGV"))
        conditions = Conditions(constants=constants, repeat=repeat, turns=turns)
        asked = MeasureInput(task, cls.config(number, strategy), conditions)
        return Record.of(Trial(asked, result), device, revision)


@pytest.fixture(scope="session")
def samples():
    return Samples


# --- the third party


@pytest.fixture(scope="module")
def acme(tmp_path_factory):
    """What `pip install tests/third_party_plugin` does, for this process and those that it starts."""
    from hatchling.builders.wheel import WheelBuilder

    source = Path(__file__).with_name("third_party_plugin")
    built = tmp_path_factory.mktemp("wheel")
    wheel = next(WheelBuilder(str(source)).build(directory=str(built), versions=["standard"]))
    site = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as files:
        files.extractall(site)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        patch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)
        yield site
    for name in [one for one in sys.modules if one.partition(".")[0] == "tilewright_acme"]:
        del sys.modules[name]  # the next one to ask has it from a folder of its own


# --- the toy world: toy_plugin.py is a whole set of plugins in one file

TOY = Path(__file__).with_name("toy") / "toy_plugin.py"


@pytest.fixture(scope="session", autouse=True)
def _own_data(tmp_path_factory):
    """Records that a test keeps nowhere are not the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture
def plain_environment(tmp_path, monkeypatch):
    """A cache of the test's own, and no variable set that steers plugins."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("BLOCK", "STRICT", "TRACE"):
        monkeypatch.delenv(f"TILEWRIGHT_{name}_PLUGINS", raising=False)


@pytest.fixture
def toy():
    return TOY


@pytest.fixture
def host():
    return PluginHost.load([TOY])


@pytest.fixture
def pipeline_file(tmp_path, monkeypatch):
    """A function that writes a pipeline and gives its path; runs happen in a fresh folder."""
    monkeypatch.chdir(tmp_path)

    def write(tune="tuner: toy, budget: 20", runner="", builder="", sizes="[8, 16]", check="{}"):
        path = tmp_path / "toy.yaml"
        path.write_text(
            f"version: 1\nname: toyrun\ntarget: {{kind: toy, threads: 1}}\nplugins: ['{TOY}']\n"
            f"measure: {{runner: {{toy: {{{runner}}}}}, builder: {{toy: {{{builder}}}}}}}\n"
            f"stages:\n  - source: {{sizes: {sizes}}}\n"
            f"  - tune: {{scheduler: toy, {tune}}}\n  - check: {check}\n"
        )
        return path

    return write


# --- workers


@pytest.fixture(scope="session")
def fault_host():
    return PluginHost.load([FAULTS])


@pytest.fixture
def make_bench(fault_host):
    made = []

    def make(**arguments):
        made.append(Bench(fault_host, **arguments))
        return made[-1]

    yield make
    for bench in made:
        bench.close()


@pytest.fixture(scope="session")
def bench(fault_host):
    shared = Bench(fault_host)
    yield shared
    shared.close()


@pytest.fixture
def workers_folder(tmp_path, monkeypatch):
    """Where workers that start from now on leave their files; `living_in` finds them by it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def living_in():
    """living_in(folder): numbers of the processes whose temporary folder lies in it."""

    def find(folder):
        found = set()
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has just ended
                if f"TMPDIR={folder}/".encode() in (process / "environ").read_bytes():
                    found.add(int(process.name))
        return found

    return find


@pytest.fixture
def call(capsys, toy, tmp_path, monkeypatch):
    """A function that runs a verb in a fresh folder: (exit code, stdout, stderr)."""
    from tilewright_cli.terminal.group import run

    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, plugin=True):
        code = run([*arguments, *(["--plugin", str(toy)] if plugin else [])])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return invoke


@pytest.fixture(autouse=True)
def _without_the_trained_model(request, monkeypatch):
    """Which configs it advises depends on the machine; its own tests ask it."""
    own = request.path.relative_to(Path(__file__).parent).parts[0] == "models"
    if not own and find_spec("tilewright_models"):
        monkeypatch.setattr("tilewright_models.installed.advice_of_models", lambda *_: None)


@pytest.fixture(autouse=True)
def _where_it_is_plain(request):
    """In these folders every test does."""
    if request.path.relative_to(Path(__file__).parent).parts[0] in PLAIN:
        request.getfixturevalue("plain_environment")
