"""`tilewright doctor` and `tilewright targets` say what of this target works here, and why not."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection
from types import ModuleType

import pytest

from tilewright.vocabulary.device import Device
from tilewright_cli.terminal.group import run
from tilewright_cuda.compile import nvcc, nvrtc
from tilewright_cuda.compile.compile_error import CompileError
from tilewright_cuda.compile.compiler import find_compiler
from tilewright_cuda.device import devices
from tilewright_cuda.driver import libcuda
from tilewright_cuda.emulation import compile as emulation_compile
from tilewright_cuda.program.arch import ARCHS


def doctor_lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    run(["doctor"])
    lines = capsys.readouterr().out.splitlines()
    states = ("ok   cuda: ", "note cuda: ")
    return [line.removeprefix(s) for line in lines for s in states if line.startswith(s)]


def doctor_report(capsys: pytest.CaptureFixture[str]) -> list[str]:
    run(["doctor", "--json"])
    checks = json.loads(capsys.readouterr().out)["checks"]
    return [check["what"] for check in checks if check["what"].startswith("cuda: ")]


@pytest.fixture
def has(monkeypatch):
    """has(*compilers): what is found in place of those of this machine; no device is."""

    def install(*found: _Found) -> None:
        for module, name in ((nvrtc, "nvrtc"), (nvcc, "nvcc")):
            those = [one for one in found if one.version.startswith(name)]
            monkeypatch.setattr(module, f"{name}s", lambda those=those: iter(those))
        monkeypatch.setattr(devices, "probe", lambda: ())  # whose peaks would be compiled for

    find_compiler.cache_clear()
    yield install
    find_compiler.cache_clear()


def test_doctor_names_the_compilers_that_it_found_and_where(capsys, has):
    has(_Found("nvrtc 13.0", "/opt/libnvrtc.so.13"), _Found("nvcc 12.8.1", "/opt/bin/nvcc"))
    lines = doctor_lines(capsys)
    assert "nvrtc 13.0 (/opt/libnvrtc.so.13)" in lines
    assert "nvcc 12.8.1 (/opt/bin/nvcc)" in lines


def test_doctor_says_how_to_get_what_is_not_there_and_that_the_rest_works(capsys, monkeypatch, has):
    monkeypatch.setattr(devices, "_gpu_count", _no_driver)
    monkeypatch.setattr(emulation_compile, "compiler_version", lambda: None)
    has()
    lines = doctor_lines(capsys)
    assert lines[0] == "no device on this machine"
    told = "\n".join(lines)
    assert "gpu is not there: libcuda.so.1: cannot open" in told
    assert "emulated is not there" in told
    assert "install g++" in told
    assert "compiler is not there: no machine code can be made: pip install" in told


@pytest.mark.parametrize(
    ("driver", "chosen"),
    [
        (None, "nvrtc 13.5"),
        ((13, 0), "nvrtc 13.5"),
        ((12, 4), "nvrtc 12.9"),
        ((11, 8), "nvcc 11.8.1"),
        ((10, 2), None),
    ],
)
def test_no_compiler_is_taken_whose_code_the_driver_would_not_load(
    monkeypatch, has, driver, chosen
):
    monkeypatch.setattr(libcuda, "driver_version", lambda: driver)
    has(_Found("nvrtc 13.5"), _Found("nvrtc 12.9"), _Found("nvcc 11.8.1"))
    assert getattr(find_compiler(), "version", None) == chosen


@pytest.mark.parametrize(
    ("arch", "chosen"), [("sm_70", "nvrtc 12.9"), ("sm_90", "nvrtc 13.5"), ("sm_120", None)]
)
def test_no_compiler_is_taken_that_compiles_nothing_for_the_architecture(
    monkeypatch, capsys, has, arch, chosen
):
    monkeypatch.setattr(libcuda, "driver_version", lambda: None)
    has(_Found("nvrtc 13.5", lacks=("sm_70", "sm_120")), _Found("nvrtc 12.9", lacks=("sm_120",)))
    assert getattr(find_compiler(arch), "version", None) == chosen
    (lack,) = (line for line in doctor_report(capsys) if "compiler" in line)
    assert lack.startswith("cuda: compiler for sm_120 is not there")


def test_an_nvcc_without_a_host_compiler_is_no_compiler(monkeypatch, capsys, has):
    monkeypatch.setattr(libcuda, "driver_version", lambda: None)
    has(_Found("nvcc 13.0.88", "/opt/nvcc", lacks=[arch.name for arch in ARCHS]))
    told = doctor_report(capsys)
    assert "cuda: passed over nvcc 13.0.88 (/opt/nvcc): there is no gcc" in told
    assert any(line.startswith("cuda: compiler is not there") for line in told)


@pytest.mark.parametrize("driver", [(12, 4), (10, 2), (13, 0)])
def test_doctor_names_compilers_that_are_too_new_for_the_driver(capsys, monkeypatch, has, driver):
    monkeypatch.setattr(libcuda, "driver_version", lambda: driver)
    has(
        _Found("nvrtc 13.5", "/opt/13.5"),
        _Found("nvrtc 12.9", "/opt/12.9"),
        _Found("nvcc 13.0.88", "/opt/nvcc"),
    )
    told = doctor_report(capsys)
    (*over,) = (line for line in told if line.startswith("cuda: passed over "))
    assert len(over) == (driver < (13, 0))
    if over:
        assert "nvrtc 13.5 (/opt/13.5)" in over[0]
        assert "nvcc 13.0.88 (/opt/nvcc)" in over[0]
        assert ("nvrtc 12.9" in over[0]) == (driver < (12, 0))
        assert f"the driver knows CUDA {driver[0]}.{driver[1]}" in over[0]
    taken = any(line.startswith("cuda: nvrtc ") for line in told)
    assert taken == (driver >= (12, 0))


@pytest.mark.parametrize(
    ("installed", "loads", "side"),
    [(True, True, "pycuda"), (True, False, "ctypes"), (False, False, "ctypes")],
)
def test_a_driver_is_told_with_what_calls_it(monkeypatch, installed, loads, side):
    module = ModuleType("pycuda_driver") if loads else None
    monkeypatch.setitem(sys.modules, "tilewright_cuda.driver.pycuda_driver", module)
    monkeypatch.setattr(devices, "find_spec", lambda _: installed or None)
    monkeypatch.setattr(devices, "gpus", lambda: (Device("gpu0", {"cuda_driver": "13.0"}),))
    monkeypatch.setattr(devices, "_gpu_count", lambda: 1)
    assert devices.found()["driver"] == f"CUDA 13.0, called through {side}"
    why = devices.missing().get("pycuda", "")
    assert ("it does not load" in why) == (installed and not loads)
    assert ("it is not installed" in why) == (not installed)


def test_targets_lists_the_emulated_device_where_it_can_be_had(capsys):
    if emulation_compile.compiler_version() is None:
        pytest.skip("emulation needs g++")
    assert run(["targets", "--json"]) == 0
    targets = {one["kind"]: one for one in json.loads(capsys.readouterr().out)["targets"]}
    (emulated,) = (one for one in targets["cuda"]["devices"] if one["name"] == "emulated")
    assert emulated["attributes"]["emulated"] is True
    assert "sm_70 to sm_120" in targets["cuda"]["summary"]


class _Found:
    def __init__(self, version: str, path: str = "", lacks: Collection[str] = ()) -> None:
        self.version, self.path, self._lacks = version, path, lacks
        self.major = int(version.split()[1].partition(".")[0])

    def compile(self, text: str, arch: str) -> tuple[bytes, str]:
        if arch in self._lacks:
            raise CompileError("there is\nno gcc", self.version)
        return b"", ""


def _no_driver() -> int:
    raise OSError("libcuda.so.1: cannot open shared object file")
