"""The script that builds PyCUDA says what is missing before it starts; the build itself is `full`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tilewright_cuda import install_pycuda


@pytest.fixture
def toolkit(tmp_path, monkeypatch):
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "cuda.h").touch()
    monkeypatch.setenv("CUDA_ROOT", str(tmp_path))
    return tmp_path


def test_the_toolkit_named_by_the_environment_is_found(toolkit):
    assert install_pycuda.find_root() == toolkit


@pytest.mark.parametrize(
    ("lacking", "says"),
    [
        ("cuda.h", "has no include/cuda.h"),
        ("g++", "g++ is missing"),
        ("Python.h", "Python.h is missing"),
    ],
)
def test_what_is_missing_is_said_and_nothing_is_installed(
    toolkit, monkeypatch, capsys, lacking, says
):
    monkeypatch.setattr(
        install_pycuda, "_pip", lambda *_, **__: pytest.fail("something was installed")
    )
    which = install_pycuda.shutil.which
    if lacking == "cuda.h":
        (toolkit / "include" / "cuda.h").unlink()
    elif lacking == "Python.h":
        monkeypatch.setattr(install_pycuda.sysconfig, "get_path", lambda _: str(toolkit))
    else:
        monkeypatch.setattr(
            install_pycuda.shutil, "which", lambda name: None if name == lacking else which(name)
        )
    assert install_pycuda.main(["--cuda-root", str(toolkit)]) == 2
    assert says in capsys.readouterr().err


def test_a_wheel_alone_is_built_beside_a_python_that_takes_no_packages(
    toolkit, monkeypatch, tmp_path
):
    def pip(verb, *arguments, **environment):
        assert verb == "wheel" or "--target" in arguments
        if verb == "wheel":
            assert "beside" in environment["PYTHONPATH"]
            Path(arguments[arguments.index("-w") + 1], "pycuda-1.whl").touch()

    monkeypatch.setattr(install_pycuda, "_pip", pip)
    monkeypatch.setattr(install_pycuda, "find_spec", lambda _: None)
    assert install_pycuda.main(["--into", str(tmp_path / "wheels")]) == 0
    assert (tmp_path / "wheels" / "pycuda-1.whl").exists()


def test_what_pip_refuses_is_told_in_one_line(toolkit, monkeypatch, capsys):
    monkeypatch.setattr(install_pycuda.sys, "executable", "/bin/false")
    assert install_pycuda.main([]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("pycuda is not installed: Command")


@pytest.mark.full
def test_pycuda_is_built_and_imports_where_there_is_a_driver(tmp_path, emulated_libcuda):
    try:
        install_pycuda.check_tools(install_pycuda.find_root())
    except LookupError as error:
        pytest.skip(str(error))
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    script = install_pycuda.__file__
    subprocess.run([python, script], check=True, timeout=6000)
    asked = [python, "-c", "import pycuda.driver as d; d.init(); print(d.Device.count())"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert "1" in told.stdout or "undefined symbol" in told.stderr or "libcuda.so.1" in told.stderr
