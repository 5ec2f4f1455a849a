"""CUDA C written by hand, the emulated device, and an emulated driver."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright_cuda.emulation import compile as compile_module
from tilewright_cuda.emulation.kernel import EmulatedKernel
from tilewright_cuda.emulation.runtime import EmulatedRuntime
from tilewright_cuda.program.artifact import Contents
from tilewright_cuda.program.cuda_program import CudaProgram, Launch, Pointer

_KERNELS = Path(__file__).with_name("kernels")


@dataclass(frozen=True)
class Example:
    """A kernel, how it is launched, and float64 answers by numpy."""

    name: str
    grid: tuple[int, int, int]
    threads: int
    shared_bytes: int
    shapes: tuple[tuple[int, ...], ...]
    answer: Callable[..., Any]
    text: str = ""

    def program(self) -> CudaProgram:
        inputs = self.inputs()
        operands = (*((a.shape, "float32") for a in inputs), (self.expected().shape, "float32"))
        pointers = tuple(Pointer(slot) for slot in range(len(operands)))
        launch = Launch(0, self.name, self.grid, (self.threads, 1, 1), self.shared_bytes, pointers)
        return CudaProgram((self.text,), (launch,), operands)

    def inputs(self) -> list[np.ndarray]:
        made = np.random.default_rng(3)
        return [made.standard_normal(shape, dtype=np.float32) for shape in self.shapes]

    def expected(self) -> np.ndarray:
        return np.asarray(self.answer(*(a.astype(np.float64) for a in self.inputs())))

    def arrays(self) -> list[np.ndarray]:
        return [*self.inputs(), np.full(self.expected().shape, np.nan, np.float32)]

    def error(self, got: np.ndarray) -> float:
        wanted = self.expected()
        return float(np.abs(got - wanted).max() / np.abs(wanted).max())


def _softmax(x: np.ndarray) -> np.ndarray:
    power = np.exp(x - x.max(1, keepdims=True))
    return power / power.sum(1, keepdims=True)


def _conv(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    return np.einsum("cyxij,fcij->fyx", windows, w)


EXAMPLES: Sequence[Example] = (
    Example("gemm", (2, 3, 1), 256, (16 * 36 + 16 * 36) * 4, ((96, 48), (48, 64)), np.matmul),
    Example(
        "pipeline",
        (2, 3, 1),
        64,
        (3 * 8 * 36 + 3 * 32 * 12) * 4,
        ((96, 48), (48, 64)),
        np.matmul,
    ),
    Example("softmax", (5, 1, 1), 96, 0, ((5, 83),), _softmax),
    Example("conv", (3, 1, 1), 64, 63 * 4, ((3, 5, 7), (12, 3, 3, 3)), _conv),
)


@pytest.fixture(scope="session")
def examples() -> dict[str, Example]:
    """Good kernels by name, with their texts."""
    read = ((e, (_KERNELS / f"{e.name}.cu").read_text("utf-8")) for e in EXAMPLES)
    return {example.name: replace(example, text=text) for example, text in read}


@pytest.fixture(params=[example.name for example in EXAMPLES])
def example(request: pytest.FixtureRequest, examples: dict[str, Example]) -> Example:
    """Each good kernel in turn."""
    return examples[request.param]


@pytest.fixture(autouse=True)
def _compiler() -> None:
    if compile_module.compiler_version() is None:
        pytest.skip("no C++ compiler on this machine: nothing can be emulated")


@pytest.fixture
def emulated_kernel() -> Iterator[Callable[[Example], EmulatedKernel]]:
    """emulated_kernel(example): its kernel, bound, on a device of its own."""
    made: list[EmulatedKernel] = []

    def make(example: Example) -> EmulatedKernel:
        contents = Contents(example.program(), "sm_90", (None,))
        made.append(EmulatedKernel(EmulatedRuntime(), contents, 4096))
        made[-1].bind(example.arrays(), {})
        return made[-1]

    yield make
    for kernel in made:
        kernel.close()


@pytest.fixture(scope="session")
def emulated_libcuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a `libcuda.so.1` whose one GPU is the emulation, and a management library.

    Calls that PyCUDA links with and nobody makes here are there and fail.
    """
    if shutil.which("gcc") is None:
        pytest.skip("no C compiler on this machine")
    folder = tmp_path_factory.mktemp("libcuda")
    source = Path(__file__).with_name("libcuda_emulated.c")
    known = set(re.findall(r"^int (cu\w+)\(", source.read_text("utf-8"), re.MULTILINE))
    rest = folder / "rest.c"
    rest.write_text("".join(f"int {name}() {{ return 801; }}\n" for name in _linked() - known))
    # Not what this process has loaded: the cache that it is from may have been a test's own.
    fibres_path = shutil.copy(compile_module.fibres.__wrapped__()._name, folder / "fibres.so")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O1", "-w", f'-DFIBRES="{fibres_path}"', "-o",
         folder / "libcuda.so.1", source, rest, "-ldl"],
        check=True,
    )  # fmt: skip
    library, source = folder / "libnvidia-ml.so.1", source.with_name("libnvml_emulated.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-o", library, source], check=True)
    return folder


def _linked() -> set[str]:
    """Calls of the driver that PyCUDA's extension module wants to find; none without PyCUDA."""
    found = importlib.util.find_spec("pycuda")
    if found is None or shutil.which("nm") is None:
        return set()
    (module,) = Path(found.submodule_search_locations[0]).glob("_driver*.so")
    asked = ["nm", "-D", "--undefined-only", str(module)]
    listed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\b(cu[A-Z]\w+)", listed))
