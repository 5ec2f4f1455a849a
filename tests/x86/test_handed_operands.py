"""Operands that the pool's threads write before each timed launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright.roles import HandsOver
from tilewright.vocabulary.target import Target
from tilewright_tensor.expressions.affine import Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Load, Op
from tilewright_tensor.ir.loop_ir import Loop, LoopProgram, Store
from tilewright_x86.backend import X86Backend
from tilewright_x86.kernel import kernel as kernels

COUNT = 1009
A, B = (np.arange(COUNT, dtype=np.float32) + n for n in (0, 7))


def adding(threads: int) -> Any:
    a, b, y, i = *(Buffer(name, (COUNT,)) for name in "aby"), Var("i")
    value = Op("add", (Load(a, (index(i),)), Load(b, (index(i),))), "float32")
    body = Loop(i, COUNT, "parallel", Store(y, (index(i),), value))
    backend = X86Backend()
    target = Target("x86", {"threads": str(threads)})
    artifact = backend.build(LoopProgram("add", (a, b), (y,), body), target)
    kernel = backend.load(artifact, backend.probe()[0])
    assert isinstance(kernel, HandsOver)
    kernel.bind([A, B, np.zeros(COUNT, np.float32)], {1: 3})
    return kernel


@pytest.fixture
def rewritten(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Addresses that are written before launches."""
    clock, found = kernels._clock(), []
    write = clock.rewrite

    def noted(address: int, size: int, threads: int) -> None:
        found.append(address)
        write(address, size, threads)

    monkeypatch.setattr(clock, "rewrite", noted)
    return found


def test_each_launch_meets_what_the_threads_have_just_written(rewritten: list[int]):
    kernel = adding(threads=2)
    kernel.hand_over([0])
    assert kernel.time(5) > 0
    assert rewritten == [kernel.operand(0).ctypes.data] * 5
    assert np.array_equal(kernel.read(0), A)
    assert np.array_equal(kernel.read(2), A + B)
    kernel.close()


def test_on_one_thread_they_are_where_they_were(rewritten: list[int]):
    kernel = adding(threads=1)
    kernel.hand_over([0])
    assert kernel.time(5) > 0
    assert not rewritten
    assert np.array_equal(kernel.read(2), A + B)
    kernel.close()
