"""What lies beyond the end of a tensor in blocks that are partly filled: zeros."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright_tensor.expressions.affine import Affine, Var
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.ir.dag import SUM
from tilewright_tensor.ir.loop_ir import Loop, LoopKind, Statement, Store
from tilewright_tensor.layouts.layout import Layout


def zero_padding(
    buffer: Buffer, layout: Layout, shape: Sequence[int], around: LoopKind
) -> list[Statement]:
    """Nests that write zeros to the last block of every axis of a shape that does not fill it.

    The outermost loop of each is of the kind `around`. Whoever writes the tensor comes after.
    """
    partly = [axis for axis, n in enumerate(shape) if n % layout.blocks[axis]]
    return [_nest(buffer, layout, axis, around) for axis in partly]


def _nest(buffer: Buffer, layout: Layout, axis: int, around: LoopKind) -> Statement:
    last = next(n for n, dim in enumerate(layout.dims) if (dim.axis, dim.extent) == (axis, 0))
    loops = [
        (n, Var(f"{buffer.name}.padding{axis}.{n}"), extent)
        for n, extent in enumerate(buffer.shape)
        if n != last and extent > 1
    ]
    at = [Affine() for _ in buffer.shape]
    at[last] = Affine((), buffer.shape[last] - 1)
    for n, var, _ in loops:
        at[n] = var.affine()
    nest: Statement = Store(buffer, tuple(at), SUM.identity(buffer.dtype))
    for number, (_, var, extent) in reversed([*enumerate(loops)]):
        nest = Loop(var, extent, around if number == 0 else "serial", nest)
    return nest
