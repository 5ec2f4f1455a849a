"""Operands that kernels read where the caller has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright.roles import ReadsInPlace
from tilewright.vocabulary.target import Target
from tilewright_tensor.expressions.affine import Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Load, Op
from tilewright_tensor.ir.loop_ir import Loop, LoopProgram, Store
from tilewright_tensor.kernels.guarded_memory import GuardedMemory
from tilewright_x86.backend import X86Backend

COUNT = 16


def adding() -> Any:
    a, b, y, i = *(Buffer(name, (COUNT,)) for name in "aby"), Var("i")
    value = Op("add", (Load(a, (index(i),)), Load(b, (index(i),))), "float32")
    body = Loop(i, COUNT, "vectorized", Store(y, (index(i),), value))
    backend = X86Backend()
    artifact = backend.build(LoopProgram("add", (a, b), (y,), body), Target.parse("x86"))
    return backend.load(artifact, backend.probe()[0])


def bound(constant: Any) -> Any:
    kernel = adding()
    assert isinstance(kernel, ReadsInPlace)
    kernel.bind_shared([np.ones(COUNT, np.float32), constant, np.zeros(COUNT, np.float32)], {1})
    return kernel


def answer(kernel: Any) -> float:
    kernel.launch()
    return float(kernel.read(2)[0])


def on_a_line(offset: int = 0) -> Any:
    memory = GuardedMemory(4 * COUNT + offset).bytes[offset:].view(np.float32)
    memory.fill(2)
    return memory


def test_kernels_that_share_an_operand_see_one_memory() -> None:
    constant = on_a_line()
    kernels = [bound(constant), bound(constant)]
    assert [answer(kernel) for kernel in kernels] == [3, 3]
    constant.fill(5)
    assert [answer(kernel) for kernel in kernels] == [6, 6]


def test_one_that_begins_within_a_line_is_copied() -> None:
    constant = on_a_line(4)
    kernel = bound(constant)
    constant.fill(5)
    assert answer(kernel) == 3


def test_a_shared_operand_is_not_written() -> None:
    constant = on_a_line()
    kernel = bound(constant)
    with pytest.raises(ValueError, match="shared"):
        kernel.write(1, np.zeros(COUNT, np.float32))
    kernel.write(0, np.zeros(COUNT, np.float32))
    assert answer(kernel) == 2
    assert kernel.find_overrun() == ""
