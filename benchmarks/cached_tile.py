"""Multiply-adds of a register tile whose factors come from the first-level cache.

What any kernel that reads its operands can reach: on a core of one's own as much as multiply-adds
in registers, which the FMA peak counts, but less where another hyperthread, as on virtual machines,
issues loads and instructions meanwhile. The fewer loads a multiply-add takes, the less is lost.
"""

from __future__ import annotations

import numpy as np

from tilewright.vocabulary.target import Target
from tilewright_tensor.expressions.affine import Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Const, Load, Op
from tilewright_tensor.ir.loop_ir import Allocate, Block, Loop, LoopProgram, Store
from tilewright_x86.backend import X86Backend
from tilewright_x86.kernel.kernel import load_kernel
from tilewright_x86.machine.isa import isa_of

_ROUNDS, _STEPS, _UNROLLED = 300, 64, 4
_TILES = {512: (6, 4), 256: (6, 2), 128: (4, 2)}
"""Pixels and vectors of filters by bits of a vector, as the convolutions have them."""


class CachedTile:
    """One thread's tile, to be timed in turns with others."""

    def __init__(self, target: Target) -> None:
        isa = isa_of(target)
        program = _tile(*_TILES[isa.vector_bits], isa.lanes(4))
        self.kernel = load_kernel(X86Backend().build(program, target))
        operands = (*program.inputs, *program.outputs)
        self.kernel.bind([np.ones(b.shape, np.float32) for b in operands], {})
        self.operations = 2.0 * _ROUNDS * _STEPS * program.outputs[0].size
        self.kernel.time(3)

    def flops(self) -> float:
        """Operations a second over a millisecond or two."""
        return 2 * self.operations / self.kernel.time(2)


def _tile(pixels: int, vectors: int, lanes: int) -> LoopProgram:
    image, filters = Buffer("image", (_STEPS, pixels)), Buffer("filters", (_STEPS, vectors, lanes))
    out = Buffer("out", (pixels, vectors, lanes))
    sums = Buffer("sums", (pixels, vectors, lanes), scope="register")
    names = ("round", "step", "unrolled", "pixel", "vector", "lane")
    round_, step, unrolled, pixel, vector, lane = (Var(name) for name in names)
    now, at = step * _UNROLLED + unrolled, (index(pixel), index(vector), index(lane))

    def every(statement: Store) -> Loop:
        inner = Loop(lane, lanes, "vectorized", statement)
        return Loop(pixel, pixels, "unrolled", Loop(vector, vectors, "unrolled", inner))

    factors = (
        Load(image, (now, index(pixel))),
        Load(filters, (now, index(vector), index(lane))),
    )
    added = Op("add", (Load(sums, at), Op("mul", factors, "float32")), "float32")
    steps = Loop(unrolled, _UNROLLED, "unrolled", every(Store(sums, at, added)))
    body = Block(
        (
            every(Store(sums, at, Const(0.0))),
            Loop(round_, _ROUNDS, "serial", Loop(step, _STEPS // _UNROLLED, "serial", steps)),
            every(Store(out, at, Load(sums, at))),
        )
    )
    return LoopProgram("tile", (image, filters), (out,), Allocate(sums, body))
