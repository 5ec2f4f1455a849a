"""`python -m tilewright_cuda.install_pycuda`: PyCUDA built from its source distribution.

PyCUDA ships no wheels, and its own build fails on many machines: it looks for the toolkit beside
the first nvcc of PATH, wants curand, and links with a libcuda that only a driver brings. This one
needs Python.h, a C++ compiler and a folder with `include/cuda.h` (a toolkit, or the wheels
nvidia-cuda-runtime and nvidia-cuda-crt); no driver, no curand, no network where `--wheels` names a
folder with the source distribution and the wheels of what it needs. It takes one to three minutes.
With `--into` nothing is installed: a Python that its system manages takes no packages.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path

# What the build imports, and what PyCUDA imports but does not ask for.
_BUILD = ("setuptools", "wheel", "numpy")
_RUN = ("pytools", "platformdirs", "mako", "numpy")


def main(arguments: list[str] | None = None) -> int:
    """Build and install; 0, 1 where pip or gcc fails, 2 where something is missing.

    Either failure has a line on stderr.
    """
    parser = argparse.ArgumentParser(prog="tilewright_cuda.install_pycuda", description=__doc__)
    parser.add_argument("--cuda-root", type=Path, help="folder with include/cuda.h; found if there")
    parser.add_argument("--wheels", type=Path, help="install from this folder, without a network")
    parser.add_argument("--into", type=Path, help="leave the wheel in this folder, install nothing")
    parser.add_argument("--version", default="", help="as in 2026.1; default: the newest")
    chosen = parser.parse_args(arguments)
    try:
        root = chosen.cuda_root or find_root()
        check_tools(root)
    except LookupError as error:
        sys.stderr.write(f"pycuda cannot be built: {error}\n")
        return 2
    source = ["--no-index", "--find-links", str(chosen.wheels)] if chosen.wheels else []
    wanted = f"pycuda=={chosen.version}" if chosen.version else "pycuda"
    try:
        if not chosen.into:  # what may be refused comes before what takes minutes
            _pip("install", *source, *_RUN)
        with tempfile.TemporaryDirectory(prefix="tilewright-pycuda-") as scratch:
            wheel = _build(Path(scratch), root, source, wanted)
            if chosen.into:
                chosen.into.mkdir(parents=True, exist_ok=True)
                shutil.copy(wheel, chosen.into)
            else:
                _pip("install", *source, "--no-deps", "--force-reinstall", str(wheel))
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"pycuda is not installed: {error}\n")
        return 1
    return 0


def find_root() -> Path:
    """The first folder with `include/cuda.h` among the usual ones. Raises LookupError."""
    nvcc = shutil.which("nvcc")
    named = [os.environ.get(name) for name in ("CUDA_ROOT", "CUDA_HOME", "CUDA_PATH")]
    wheels = Path(sysconfig.get_path("purelib"), "nvidia")
    for root in (
        *(Path(folder) for folder in named if folder),
        *([Path(nvcc).resolve().parent.parent] if nvcc else []),
        Path("/usr/local/cuda"),
        *sorted(wheels.glob("cu*")),
        *sorted(wheels.glob("cuda_runtime")),
    ):
        if (root / "include" / "cuda.h").is_file():
            return root
    raise LookupError("no folder with include/cuda.h was found; name one with --cuda-root")


def check_tools(root: Path) -> None:
    """Raise LookupError for anything whose absence would fail the build a minute later."""
    if not (root / "include" / "cuda.h").is_file():
        raise LookupError(f"{root} has no include/cuda.h")
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        raise LookupError("Python.h is missing; install the development files of Python")
    for tool in ("gcc", "g++"):
        if shutil.which(tool) is None:
            raise LookupError(f"{tool} is missing")


def _build(scratch: Path, root: Path, source: list[str], wanted: str) -> Path:
    """The wheel of PyCUDA, in the scratch folder."""
    # Symbols are looked up when the module is loaded; one that is used keeps the linker from
    # dropping the library.
    stub = scratch / "stub.c"
    stub.write_text("int cuInit(unsigned flags) { return 0; }\n")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", scratch / "libcuda.so", stub],
        check=True,
    )
    # Its build is configured by a file in the home folder, which for once is this one. Optimized
    # less, its largest file compiles in half the time.
    (scratch / ".aksetup-defaults.py").write_text(
        f"CUDA_ROOT = {str(root)!r}\nCUDA_ENABLE_CURAND = False\nCXXFLAGS = ['-O1', '-g0']\n"
    )
    home = {"HOME": str(scratch), "LIBRARY_PATH": str(scratch)}
    for name, folder in (("XDG_CONFIG_HOME", ".config"), ("XDG_CACHE_HOME", ".cache")):
        home[name] = os.environ.get(name) or str(Path.home() / folder)
    if lacking := [name for name in _BUILD if find_spec(name) is None]:
        beside = str(scratch / "beside")
        _pip("install", *source, "--target", beside, *lacking)
        known = os.environ.get("PYTHONPATH")
        home["PYTHONPATH"] = os.pathsep.join(filter(None, (beside, known)))
    # Not a wheel that pip kept from before: it may have been built for another driver.
    _pip("wheel", *source, "--no-deps", "--no-build-isolation", "--no-binary=pycuda",
         "--no-cache-dir", "-w", str(scratch), wanted, **home)  # fmt: skip
    (wheel,) = scratch.glob("pycuda-*.whl")
    return wheel


def _pip(*arguments: str, **environment: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, env={**os.environ, **environment})


if __name__ == "__main__":
    sys.exit(main())
