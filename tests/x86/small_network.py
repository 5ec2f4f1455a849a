"""A network of four kernels, two of them equal, one with a workspace: what backends link."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright_tensor.expressions.affine import Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Load, Op
from tilewright_tensor.ir.loop_ir import Block, Loop, LoopKind, LoopProgram, Store
from tilewright_tensor.ir.network_program import KernelCall, NetworkBuffer, NetworkProgram

COUNT = 37
STEP = 192  # bytes from one tensor to the next: whole lines


def binary(
    name: str, inner: LoopKind, outer: LoopKind | None = None, count: int = COUNT
) -> LoopProgram:
    """An operation of two tensors in a loop of kind `inner`; by way of a workspace with `outer`."""
    a, b, y, i, j = *(Buffer(n, (count,)) for n in "aby"), Var("i"), Var("j")
    value = Op(name, (Load(a, (index(i),)), Load(b, (index(i),))), "float32")
    if outer is None:
        body = Loop(i, count, inner, Store(y, (index(i),), value))
        return LoopProgram(name, (a, b), (y,), body)
    scratch = Buffer("scratch", (count,))
    first = Loop(i, count, outer, Store(scratch, (index(i),), value))
    then = Loop(j, count, inner, Store(y, (index(j),), Load(scratch, (index(j),))))
    return LoopProgram(name, (a, b), (y,), Block((first, then)), workspace=(scratch,))


def network(inner: LoopKind, outer: LoopKind) -> NetworkProgram:
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
        KernelCall("first", binary("add", inner), ("x", "c0", "t0")),
        KernelCall("second", binary("mul", inner, outer), ("t0", "c1", "t1")),
        KernelCall("third", binary("sub", inner), ("t1", "t0", "y")),
        KernelCall("fourth", binary("add", inner), ("t1", "t0", "z")),
    )
    return NetworkProgram("net", buffers, calls, 2 * STEP, 2 * STEP)


def arrays() -> tuple[list[Any], Any, Any]:
    """(x, constants and two outputs of NaN; what y and z should be)."""
    rng = np.random.default_rng(0)
    x, c0, c1 = (rng.random(COUNT, dtype=np.float32) for _ in range(3))
    constants: Any = np.zeros(2 * STEP, np.uint8)
    constants[: 4 * COUNT] = c0.view(np.uint8)
    constants[STEP : STEP + 4 * COUNT] = c1.view(np.uint8)
    t0 = x + c0
    poison = np.full_like(x, np.nan)
    return [x, constants, poison, poison], t0 * c1 - t0, t0 * c1 + t0
