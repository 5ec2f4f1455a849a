"""`tilewright doctor` and `tilewright targets` say what of this target works here, and why not."""

from __future__ import annotations

import json

import pytest

from tilewright.cli.group import run
from tilewright.device import Device
from tilewright_cuda import devices, libcuda, nvcc, nvrtc
from tilewright_cuda.compiler import find_compiler
from tilewright_cuda.emulation import compile as emulation_compile


def doctor_lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    run(["doctor"])
    lines = capsys.readouterr().out.splitlines()
    return [line.removeprefix("ok   cuda: ") for line in lines if line.startswith("ok   cuda: ")]


def test_doctor_names_the_compilers_that_it_found_and_where(capsys, monkeypatch):
    monkeypatch.setattr(devices, "probe", lambda: ())  # whose peaks would be compiled for
    monkeypatch.setattr(nvrtc, "find_nvrtc", lambda: _Found("nvrtc 13.0", "/opt/libnvrtc.so.13"))
    monkeypatch.setattr(nvcc, "find_nvcc", lambda: _Found("nvcc 12.8.1", "/opt/bin/nvcc"))
    lines = doctor_lines(capsys)
    assert "nvrtc 13.0 (/opt/libnvrtc.so.13)" in lines
    assert "nvcc 12.8.1 (/opt/bin/nvcc)" in lines


def test_doctor_says_how_to_get_what_is_not_there_and_that_the_rest_works(capsys, monkeypatch):
    monkeypatch.setattr(devices, "_gpu_count", _no_driver)
    monkeypatch.setattr(emulation_compile, "compiler_version", lambda: None)
    for module, name in ((nvrtc, "find_nvrtc"), (nvcc, "find_nvcc")):
        monkeypatch.setattr(module, name, lambda: None)
    _forget_compiler()
    try:
        lines = doctor_lines(capsys)
    finally:
        _forget_compiler()
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
    monkeypatch, tmp_path, driver, chosen
):
    monkeypatch.setattr(libcuda, "driver_version", lambda: driver)
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(("nvrtc 13.5", "nvrtc 12.9")))
    monkeypatch.setattr(nvrtc, "Nvrtc", lambda path: _Found(path, path))
    monkeypatch.setattr(nvcc, "Nvcc", lambda path: _Found("nvcc 11.8.1", path))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nvcc").touch()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    _forget_compiler()
    try:
        assert getattr(find_compiler(), "version", None) == chosen
    finally:
        _forget_compiler()


@pytest.mark.parametrize("driver", [(12, 4), (10, 2), (13, 0)])
def test_doctor_names_compilers_that_are_too_new_for_the_driver(capsys, monkeypatch, driver):
    monkeypatch.setattr(devices, "probe", lambda: ())
    monkeypatch.setattr(libcuda, "driver_version", lambda: driver)
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(("nvrtc 13.5", "nvrtc 12.9")))
    monkeypatch.setattr(nvrtc, "Nvrtc", lambda path: _Found(path, f"/opt/{path}"))
    monkeypatch.setattr(nvcc, "nvccs", lambda: iter((_Found("nvcc 13.0.88", "/opt/nvcc"),)))
    _forget_compiler()
    try:
        run(["doctor", "--json"])
        told = [check["what"] for check in json.loads(capsys.readouterr().out)["checks"]]
    finally:
        _forget_compiler()
    (*over,) = (line for line in told if line.startswith("cuda: passed over "))
    assert len(over) == (driver < (13, 0))
    if over:
        assert "nvrtc 13.5 (/opt/nvrtc 13.5)" in over[0]
        assert "nvcc 13.0.88 (/opt/nvcc)" in over[0]
        assert ("nvrtc 12.9" in over[0]) == (driver < (12, 0))
        assert f"the driver knows CUDA {driver[0]}.{driver[1]}" in over[0]
    taken = any(line.startswith("cuda: nvrtc ") for line in told)
    assert taken == (driver >= (12, 0))


@pytest.mark.parametrize(("installed", "side"), [(object(), "pycuda"), (None, "ctypes")])
def test_a_driver_is_told_with_what_calls_it(monkeypatch, installed, side):
    monkeypatch.setattr(devices, "gpus", lambda: (Device("gpu0", {"cuda_driver": "13.0"}),))
    monkeypatch.setattr(devices, "find_spec", lambda _: installed)
    assert devices.found()["driver"] == f"CUDA 13.0, called through {side}"


def test_targets_lists_the_emulated_device_where_it_can_be_had(capsys):
    if emulation_compile.compiler_version() is None:
        pytest.skip("emulation needs g++")
    assert run(["targets", "--json"]) == 0
    targets = {one["kind"]: one for one in json.loads(capsys.readouterr().out)["targets"]}
    (emulated,) = (one for one in targets["cuda"]["devices"] if one["name"] == "emulated")
    assert emulated["attributes"]["emulated"] is True
    assert "sm_70 to sm_120" in targets["cuda"]["summary"]


class _Found:
    def __init__(self, version: str, path: str) -> None:
        self.version, self.path = version, path
        self.major = int(version.split()[1].partition(".")[0])


def _no_driver() -> int:
    raise OSError("libcuda.so.1: cannot open shared object file")


def _forget_compiler() -> None:
    from tilewright_cuda import compiler

    compiler.find_compiler.cache_clear()
    for find in (nvrtc.find_nvrtc, nvcc.find_nvcc):
        if hasattr(find, "cache_clear"):  # no stand-in
            find.cache_clear()
