"""Networks linked as one function."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_network import arrays, binary, network

from tilewright.target import Target
from tilewright_tensor.network_program import KernelCall, NetworkProgram
from tilewright_x86.backend import X86Backend


def _network() -> NetworkProgram:
    return network("vectorized", "parallel")


@pytest.mark.parametrize("threads", [1, 2])
def test_a_network_runs_its_kernels_in_order(threads: int) -> None:
    backend = X86Backend()
    artifact = backend.link(_network(), Target("x86", {"threads": str(threads)}))
    kernel = backend.load(artifact, backend.probe()[0])
    operands, y, z = arrays()
    kernel.bind(operands, {})
    kernel.launch()
    np.testing.assert_array_equal(kernel.read(2), y)
    np.testing.assert_array_equal(kernel.read(3), z)
    assert kernel.time(3) > 0
    kernel.close()


def test_equal_kernels_are_compiled_once() -> None:
    artifact = X86Backend().link(_network(), Target("x86"))
    assert len(artifact.metadata["object_bytes"]) == 3 + 1


def test_a_call_that_does_not_fit_its_kernel_is_refused() -> None:
    wrong = KernelCall("odd", binary("add", "vectorized", count=36), ("x", "c0", "t0"))
    program = replace(_network(), calls=(wrong,))
    with pytest.raises(ValueError, match="odd"):
        X86Backend().link(program, Target("x86"))
