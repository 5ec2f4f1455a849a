"""What a compiled network's constants take of memory: they are there once."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

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
    pickled = pickle.dumps(other)
    again, stays, _ = allocated(lambda: pickle.loads(pickled))
    assert BYTES <= stays < 1.3 * BYTES
    for network in (other, again):
        (got,) = network.run(x).values()
        assert np.array_equal(got, expected)


def test_constants_of_a_range_are_in_memory_once(tmp_path: Path) -> None:
    weight = np.random.default_rng(0).standard_normal((1024, 4096), np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "wide",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 1024])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weight, "w")],
    )
    opsets = [helper.make_opsetid("", 17)]
    importing = {
        "model": helper.make_model(graph, opset_imports=opsets, ir_version=8),
        "dims": {"batch": "5..7"},
    }
    records = str(tmp_path / "none.jsonl")
    ranged = tilewright.compile(importing, target="x86:threads=1", records=records)
    size = ranged.constant_bytes
    pickled = pickle.dumps(ranged)
    assert size <= len(pickled) < 1.3 * size
    again, stays, _ = allocated(lambda: pickle.loads(pickled))
    assert size <= stays < 1.3 * size
    assert len(again.networks) == 2
    for how in (copy.copy, copy.deepcopy):
        other, _, most = allocated(partial(how, again))
        assert most < 0.3 * size
        for rows in (5, 7):
            x = np.ones((rows, 1024), np.float32)
            assert np.array_equal(other.run(x)["y"], ranged.run(x)["y"])


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
