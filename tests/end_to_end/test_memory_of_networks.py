"""What a compiled network's constants take of memory: they are there once."""

from __future__ import annotations

import copy
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright
from tilewright.host.plugin_host import PluginHost
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.network.builder import NetworkBuilder

WEIGHTS = 1024 * 4096
BYTES = 4 * WEIGHTS


def allocated(act: Callable[[], Any]) -> tuple[Any, int, int]:
    """(what comes of it, bytes that stay allocated, the most at a time)."""
    tracemalloc.start()
    try:
        made = act()
        stays, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return made, stays, most


def test_constants_are_in_memory_once(tmp_path: Path) -> None:
    b = NetworkBuilder.of("net", PluginHost.load())
    weight = np.random.default_rng(0).standard_normal((4096, 1024), np.float32)
    built = b.network([b.dense(b.input("x", (1, 1024)), weight)])
    compiled = tilewright.compile(built, target="x86", records=str(tmp_path / "none.jsonl"))
    compiled.save(tmp_path / "saved")
    x = np.ones((1, 1024), np.float32)
    (expected,) = compiled.run(x).values()

    loaded, stays, most = allocated(lambda: CompiledNetwork.load(tmp_path / "saved"))
    assert BYTES <= stays < 1.3 * BYTES
    assert most < 1.5 * BYTES
    other, stays, most = allocated(lambda: copy.copy(loaded))
    assert most < 0.3 * BYTES
    loaded.close()
    (got,) = other.run(x).values()
    assert np.array_equal(got, expected)


_SERVING = """
import sys
import numpy as np
from tilewright_graph.compiled.compiled_network import CompiledNetwork
network = CompiledNetwork.load(sys.argv[1])
network.run(np.ones((1, 64), np.float32))
heavy = {"llvmlite", "pydantic", "dask", "xgboost", "onnx", "onnxruntime", "openvino", "scipy"}
print(*sorted(heavy & sys.modules.keys()))
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_a_process_that_serves_a_network_imports_nothing_heavy(
    threads: int, tmp_path: Path
) -> None:
    """LLVM alone would take 60 MB."""
    b = NetworkBuilder.of("net", PluginHost.load())
    weight = np.random.default_rng(0).standard_normal((64, 64), np.float32)
    built = b.network([b.dense(b.input("x", (1, 64)), weight)])
    records = str(tmp_path / "none.jsonl")
    tilewright.compile(built, target=f"x86:threads={threads}", records=records).save(
        tmp_path / "saved"
    )
    command = [sys.executable, "-c", _SERVING, str(tmp_path / "saved")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout.split() == []
