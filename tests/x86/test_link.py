"""Networks linked as one function."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_network import COUNT, arrays, binary, network

from tilewright.errors import UsageError
from tilewright.vocabulary.target import Target
from tilewright_tensor.ir.network_program import KernelCall, NetworkProgram
from tilewright_x86.backend import X86Backend
from tilewright_x86.kernel.object_file import section


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


@pytest.mark.parametrize("calls", [4, 300])
def test_a_call_launches_the_program_that_it_was_told_last(calls: int) -> None:
    """300: the network is a function of several parts."""
    program = _network()
    first, *middle, last = program.calls
    others = (binary("sub", "vectorized"), binary("mul", "vectorized", "parallel"))
    last = replace(last, others=others)
    many = (first,) * (calls - 3) + (*middle, last)
    backend = X86Backend()
    artifact = backend.link(replace(program, calls=many), Target("x86", {"threads": "2"}))
    kernel = backend.load(artifact, backend.probe()[0])
    operands, y, z = arrays()
    t0, t1 = (z - y) / 2, (z + y) / 2
    kernel.bind(operands, {})
    for number, wanted in ((1, t1 - t0), (2, t1 * t0), (0, t1 + t0)):
        backend.swap_kernel(kernel, calls - 1, number)
        kernel.launch()
        np.testing.assert_allclose(kernel.read(3), wanted, rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(kernel.read(2), y)
    kernel.close()


def test_a_program_of_other_operands_cannot_be_another_of_a_call() -> None:
    program = _network()
    wrong = replace(program.calls[0], others=(binary("add", "vectorized", count=36),))
    with pytest.raises(ValueError, match="first"):
        X86Backend().link(replace(program, calls=(wrong,)), Target("x86"))


def test_calls_without_others_are_direct() -> None:
    """A network that nobody exchanges kernels of pays for no table."""
    artifact = X86Backend().link(_network(), Target("x86"))
    assert b"tilewright_calls" not in artifact.data
    assert "programs" not in artifact.metadata


@pytest.fixture(scope="module")
def linked():
    return X86Backend().link(_network(), Target("x86"))


def _operands(linked, place, shape, dtype="float32"):
    told = [list(each) for each in linked.metadata["operands"]]
    told[place] = [shape, dtype]
    return {"operands": told}


FORGED = {
    "a small input": lambda a: _operands(a, 0, [1]),
    "a small output": lambda a: _operands(a, 2, [0]),
    "small constants": lambda a: _operands(a, 1, [8], "uint8"),
    "a vast input": lambda a: _operands(a, 0, [2**62, 2**62]),
    "a negative input": lambda a: _operands(a, 0, [-37, -1]),
    "a type that is none": lambda a: _operands(a, 0, [37], "float33"),
    "fewer operands": lambda a: {"operands": a.metadata["operands"][:-1]},
    "no workspace": lambda a: {"workspace_bytes": 0},
    "another workspace": lambda a: {"workspace_bytes": -1},
    "more threads": lambda a: {"threads": 2},
    "a function that is not there": lambda a: {"symbol": "nothing"},
    "one of its kernels": lambda a: {"symbol": "kernel0"},
    "a function without a name": lambda a: {"symbol": ""},
    "a number for a function": lambda a: {"symbol": 5},
    "one object": lambda a: {"object_bytes": [len(a.data)]},
    "fewer objects": lambda a: {"object_bytes": a.metadata["object_bytes"][:-1]},
    "no objects": lambda a: {"object_bytes": []},
    "objects cut elsewhere": lambda a: {"object_bytes": [1, len(a.data) - 1]},
    "objects of no length": lambda a: {"object_bytes": [-1, "x"]},
    "a pool that is none": lambda a: {"pool": "0"},
    "no instruction set": lambda a: {"isa": None},
    "rows that it does not count": lambda a: {"rows": [3]},
    "rows in place of an output": lambda a: {
        "operands": a.metadata["operands"][:-1],
        "rows": [4 * COUNT],
    },
}


@pytest.mark.parametrize("forged", FORGED)
def test_what_is_told_of_a_networks_code_must_be_true_of_it(linked, forged: str) -> None:
    """Hashes may be made anew; the code itself says how large its operands are."""
    backend = X86Backend()
    untrue = replace(linked, metadata={**linked.metadata, **FORGED[forged](linked)})
    with pytest.raises(UsageError):
        backend.load(untrue, backend.probe()[0])


def test_code_of_before_which_tells_no_sizes_is_loaded(linked) -> None:
    backend = X86Backend()
    old = linked.data.replace(b".tilewright\0", b".before-then\0"[:12])
    metadata = {**linked.metadata, "sha256": sha256(old).hexdigest()}
    kernel = backend.load(replace(linked, data=old, metadata=metadata), backend.probe()[0])
    operands, y, _ = arrays()
    kernel.bind(operands, {})
    kernel.launch()
    np.testing.assert_array_equal(kernel.read(2), y)
    kernel.close()


@given(st.data())
def test_a_damaged_object_file_is_read_or_refused(linked, data) -> None:
    """LLVM would end the process."""
    whole = bytearray(linked.data[-linked.metadata["object_bytes"][-1] :])
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.sampled_from([len(whole), len(whole) - 1, 70, 10, 0]))])
    try:
        found = section(cut, ".tilewright")
    except ValueError:
        return
    assert found is None or len(found) <= len(cut)
