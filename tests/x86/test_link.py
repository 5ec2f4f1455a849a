"""Networks linked as one function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright.target import Target
from tilewright_tensor.affine import Var, index
from tilewright_tensor.expr import Load, Op
from tilewright_tensor.loop_ir import Buffer, Loop, LoopProgram, Store
from tilewright_tensor.network_program import KernelCall, NetworkBuffer, NetworkProgram
from tilewright_x86.backend import X86Backend


def _binary(name: str, count: int, workspace: bool = False) -> LoopProgram:
    a, b, y, i = *(Buffer(n, (count,)) for n in "aby"), Var("i")
    value = Op(name, (Load(a, (index(i),)), Load(b, (index(i),))), "float32")
    if not workspace:
        body = Loop(i, count, "vectorized", Store(y, (index(i),), value))
        return LoopProgram(name, (a, b), (y,), body)
    scratch, j = Buffer("scratch", (count,)), Var("j")
    from tilewright_tensor.loop_ir import Block

    body = Block(
        (
            Loop(i, count, "parallel", Store(scratch, (index(i),), value)),
            Loop(j, count, "vectorized", Store(y, (index(j),), Load(scratch, (index(j),)))),
        )
    )
    return LoopProgram(name, (a, b), (y,), body, workspace=(scratch,))


def _network(count: int) -> NetworkProgram:
    """y = (x + c0) * c1 - (x + c0)"""
    size = -(-4 * count // 64) * 64
    buffers = (
        NetworkBuffer("x", (count,), "float32", "input"),
        NetworkBuffer("c0", (count,), "float32", "constant", 0),
        NetworkBuffer("c1", (count,), "float32", "constant", size),
        NetworkBuffer("t0", (count,), "float32", "intermediate", 0),
        NetworkBuffer("t1", (count,), "float32", "intermediate", size),
        NetworkBuffer("y", (count,), "float32", "output"),
        NetworkBuffer("z", (count,), "float32", "output"),
    )
    calls = (
        KernelCall("first", _binary("add", count), ("x", "c0", "t0")),
        KernelCall("second", _binary("mul", count, workspace=True), ("t0", "c1", "t1")),
        KernelCall("third", _binary("sub", count), ("t1", "t0", "y")),
        KernelCall("fourth", _binary("add", count), ("t1", "t0", "z")),
    )
    return NetworkProgram("net", buffers, calls, 2 * size, 2 * size)


def _arrays(count: int) -> tuple[list[Any], Any, Any]:
    rng = np.random.default_rng(0)
    x, c0, c1 = (rng.random(count, dtype=np.float32) for _ in range(3))
    size = -(-4 * count // 64) * 64
    constants = np.zeros(2 * size, np.uint8)
    constants[: 4 * count] = c0.view(np.uint8)
    constants[size : size + 4 * count] = c1.view(np.uint8)
    t0 = x + c0
    t1 = t0 * c1
    return [x, constants, np.zeros_like(x), np.zeros_like(x)], t1 - t0, t1 + t0


@pytest.mark.parametrize("threads", [1, 2])
def test_a_network_runs_its_kernels_in_order(threads: int) -> None:
    backend = X86Backend()
    artifact = backend.link(_network(37), Target("x86", {"threads": str(threads)}))
    kernel = backend.load(artifact, backend.probe()[0])
    arrays, y, z = _arrays(37)
    kernel.bind(arrays, {})
    kernel.launch()
    np.testing.assert_array_equal(kernel.read(2), y)
    np.testing.assert_array_equal(kernel.read(3), z)
    assert kernel.time(3) > 0
    kernel.close()


def test_equal_kernels_are_compiled_once() -> None:
    artifact = X86Backend().link(_network(37), Target("x86"))
    assert len(artifact.metadata["object_bytes"]) == 3 + 1


def test_a_call_that_does_not_fit_its_kernel_is_refused() -> None:
    network = _network(37)
    wrong = KernelCall("odd", _binary("add", 36), ("x", "c0", "t0"))
    program = NetworkProgram(
        "net", network.buffers, (wrong,), network.arena_bytes, network.constant_bytes
    )
    with pytest.raises(ValueError, match="odd"):
        X86Backend().link(program, Target("x86"))
