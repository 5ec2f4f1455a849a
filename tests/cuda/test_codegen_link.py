"""Networks as launch lists: operands, arena, one workspace, equal kernels once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_network import COUNT, STEP, arrays, network

from tilewright.errors import UsageError
from tilewright.vocabulary.target import Target
from tilewright_cuda.backend import CudaBackend
from tilewright_cuda.compile.link import launch_list
from tilewright_cuda.program.arch import arch_named
from tilewright_cuda.program.artifact import contents_of
from tilewright_cuda.program.cuda_program import Pointer
from tilewright_tensor.ir.network_program import NetworkProgram

SM_90 = arch_named("sm_90", "test")
TARGET = Target.parse("cuda:arch=sm_90")


def _network() -> NetworkProgram:
    return network("threadIdx.x", "blockIdx.x")


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
    linked = _network()
    wrong = replace(linked.calls[2], operands=("t1", "t0"))
    with pytest.raises(ValueError, match="node 'third'"):
        launch_list(replace(linked, calls=(*linked.calls[:2], wrong)), SM_90)


def test_a_linked_network_computes_what_its_calls_do(emulated_device):
    backend = CudaBackend()
    artifact = backend.link(_network(), TARGET)
    assert contents_of(artifact).program == launch_list(_network(), SM_90)
    operands, y, z = arrays()
    kernel = backend.load(artifact, emulated_device)
    try:
        kernel.bind(operands, {})
        kernel.launch()
        np.testing.assert_allclose(kernel.read(2), y, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(kernel.read(3), z, rtol=1e-6)
    finally:
        kernel.close()


@pytest.mark.parametrize(
    "forged",
    [
        {"launches": [{}]},
        {"launches": 5},
        {"operands": [[1]]},
        {"modules": 99},
        {"arch": None, "modules": "x"},
    ],
    ids=str,
)
def test_an_artefact_whose_description_makes_no_sense_is_damaged(forged):
    artifact = CudaBackend().link(_network(), TARGET)
    with pytest.raises(UsageError, match="is damaged or of another format"):
        contents_of(replace(artifact, metadata={**artifact.metadata, **forged}))
