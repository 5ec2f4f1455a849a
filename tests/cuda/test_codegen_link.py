"""Networks as launch lists: operands, arena, one workspace, equal kernels once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tilewright.target import Target
from tilewright_cuda.arch import arch_named
from tilewright_cuda.artifact import contents_of
from tilewright_cuda.backend import CudaBackend
from tilewright_cuda.link import launch_list
from tilewright_cuda.program import Pointer
from tilewright_tensor.affine import Var, index
from tilewright_tensor.expr import Load, Op
from tilewright_tensor.loop_ir import Block, Buffer, Loop, LoopProgram, Store
from tilewright_tensor.network_program import KernelCall, NetworkBuffer, NetworkProgram

SM_90 = arch_named("sm_90", "test")
TARGET = Target.parse("cuda:arch=sm_90")
COUNT = 37
STEP = 192


def _binary(name: str, *, workspace: bool = False) -> LoopProgram:
    a, b, y, i, j = *(Buffer(n, (COUNT,)) for n in "aby"), Var("i"), Var("j")
    value = Op(name, (Load(a, (index(i),)), Load(b, (index(i),))), "float32")
    if not workspace:
        body = Loop(i, COUNT, "threadIdx.x", Store(y, (index(i),), value))
        return LoopProgram(name, (a, b), (y,), body)
    scratch = Buffer("scratch", (COUNT,))
    body = Block((
        Loop(i, COUNT, "blockIdx.x", Store(scratch, (index(i),), value)),
        Loop(j, COUNT, "threadIdx.x", Store(y, (index(j),), Load(scratch, (index(j),)))),
    ))  # fmt: skip
    return LoopProgram(name, (a, b), (y,), body, workspace=(scratch,))


def _network() -> NetworkProgram:
    """y = (x + c0) * c1 - (x + c0), z = (x + c0) * c1 + (x + c0)."""
    buffers = (
        NetworkBuffer("x", (COUNT,), "float32", "input"),
        NetworkBuffer("c0", (COUNT,), "float32", "constant", 0),
        NetworkBuffer("c1", (COUNT,), "float32", "constant", STEP),
        NetworkBuffer("t0", (COUNT,), "float32", "intermediate", 0),
        NetworkBuffer("t1", (COUNT,), "float32", "intermediate", STEP),
        NetworkBuffer("y", (COUNT,), "float32", "output"),
        NetworkBuffer("z", (COUNT,), "float32", "output"),
    )
    calls = (
        KernelCall("first", _binary("add"), ("x", "c0", "t0")),
        KernelCall("second", _binary("mul", workspace=True), ("t0", "c1", "t1")),
        KernelCall("third", _binary("sub"), ("t1", "t0", "y")),
        KernelCall("fourth", _binary("add"), ("t1", "t0", "z")),
    )
    return NetworkProgram("net", buffers, calls, 2 * STEP, 2 * STEP)


def test_equal_kernels_stand_in_one_module_and_calls_become_launches_in_order():
    program = launch_list(_network(), SM_90)
    assert [launch.kernel for launch in program.launches] == ["add", "mul_0", "mul_1", "sub", "add"]
    assert [launch.module for launch in program.launches] == [0, 1, 1, 2, 0]
    assert len(program.modules) == 3


def test_operands_are_inputs_constants_and_outputs_and_behind_them_arena_and_workspace():
    program = launch_list(_network(), SM_90)
    assert program.operands == (
        ((COUNT,), "float32"),
        ((2 * STEP,), "uint8"),
        ((COUNT,), "float32"),
        ((COUNT,), "float32"),
    )
    assert program.workspace_bytes == (2 * STEP, 256)
    first, multiply, copy, *_ = program.launches
    assert first.arguments == (Pointer(0), Pointer(1, 0), Pointer(4, 0))
    assert multiply.arguments == (Pointer(4, 0), Pointer(1, STEP), Pointer(5, 0))
    assert copy.arguments == (Pointer(4, STEP), Pointer(5, 0))


def test_a_call_with_other_operands_than_its_kernel_s_names_the_node():
    network = _network()
    wrong = replace(network.calls[2], operands=("t1", "t0"))
    with pytest.raises(ValueError, match="node 'third'"):
        launch_list(replace(network, calls=(*network.calls[:2], wrong)), SM_90)


def test_a_linked_network_computes_what_its_calls_do():
    backend = CudaBackend()
    device = next((one for one in backend.probe() if one.name == "emulated"), None)
    if device is None:
        pytest.skip("emulation needs g++")
    artifact = backend.link(_network(), TARGET)
    assert contents_of(artifact).program == launch_list(_network(), SM_90)
    rng = np.random.default_rng(0)
    x, c0, c1 = (rng.random(COUNT, dtype=np.float32) for _ in range(3))
    constants: Any = np.zeros(2 * STEP, np.uint8)
    constants[: 4 * COUNT] = c0.view(np.uint8)
    constants[STEP : STEP + 4 * COUNT] = c1.view(np.uint8)
    kernel = backend.load(artifact, device)
    try:
        kernel.bind([x, constants, np.full_like(x, np.nan), np.full_like(x, np.nan)], {})
        kernel.launch()
        y, z = kernel.read(2), kernel.read(3)
    finally:
        kernel.close()
    t0 = x + c0
    np.testing.assert_allclose(y, t0 * c1 - t0, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(z, t0 * c1 + t0, rtol=1e-6)
