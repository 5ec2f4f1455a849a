"""What the processor can do at most.

Independent multiply-adds in registers, and a sum over main memory.

Both are kernels like any other, so that the pool and the code generator are those of the kernels
that are compared with the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tilewright.vocabulary.target import Target
from tilewright_tensor.expressions.affine import Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.dtype import numpy_type
from tilewright_tensor.expressions.expr import Const, Load, Op, cast
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Block,
    Loop,
    LoopProgram,
    Statement,
    Store,
    Tensorized,
)
from tilewright_x86.device.cpu import cache_bytes
from tilewright_x86.instructions.dot_products import VDPBF16PS
from tilewright_x86.kernel.build import build
from tilewright_x86.kernel.kernel import X86Kernel, load_kernel
from tilewright_x86.machine.isa import isa_of

_ROUNDS = 20_000


def measure_flops(target: Target) -> float:
    """Float32 operations a second of the target's ISA and threads, a multiply-add counting two.

    Best of several samples, about 50 ms.
    """
    peak = PeakKernel(target)
    best = max(peak.flops() for _ in range(30))
    peak.kernel.close()
    return best


class PeakKernel:
    """The kernel of `measure_flops`, to be timed in turns with others.

    precision   bfloat16: the dot products of `vdpbf16ps` instead, which the target has to have
    """

    kernel: X86Kernel

    def __init__(self, target: Target, precision: str = "float32") -> None:
        isa = isa_of(target)
        chains = 24 if isa.vector_bits == 512 else 12
        terms = 1 if precision == "float32" else 2
        write = _multiply_adds if precision == "float32" else _dot_products
        program = write(target.threads, chains, isa.lanes(4))
        self.kernel = _loaded(program, target)
        self.operations = 2.0 * _ROUNDS * terms * program.outputs[0].size
        self.kernel.time(3)

    def flops(self) -> float:
        """Operations a second over a millisecond or two."""
        return 2 * self.operations / self.kernel.time(2)


def measure_bandwidth(target: Target) -> float:
    """Bytes a second read from memory four times the last-level cache, 64 to 256 MiB."""
    caches = cache_bytes()
    wanted = 4 * caches.get("l3_bytes", caches.get("l2_bytes", 16 << 20))
    elements = min(max(wanted, 64 << 20), 256 << 20) // 4
    pieces = 64
    kernel = _loaded(_sum(pieces, elements // pieces), target)
    seconds = min(kernel.time(1) for _ in range(5))
    kernel.close()
    return 4.0 * elements / seconds


def _loaded(program: LoopProgram, target: Target) -> X86Kernel:
    """The kernel on ones."""
    kernel = load_kernel(build(program, target))
    buffers = (*program.inputs, *program.outputs)
    kernel.bind([np.ones(b.shape, numpy_type(b.dtype)) for b in buffers], {})
    return kernel


def _multiply_adds(threads: int, chains: int, lanes: int) -> LoopProgram:
    factor = Buffer("factor", (lanes,))

    def step(sums: Buffer, chain: Var, lane: Var) -> Statement:
        at = (index(chain), index(lane))
        product = Op("mul", (Load(sums, at), Load(factor, (index(lane),))), "float32")
        added = Op("add", (product, Load(factor, (index(lane),))), "float32")
        return Loop(lane, lanes, "vectorized", Store(sums, at, added))

    return _chains(threads, chains, lanes, [factor], step)


def _dot_products(threads: int, chains: int, lanes: int) -> LoopProgram:
    pair = Buffer("pair", (2,), "bfloat16")
    pairs = Buffer("pairs", (lanes, 2), "bfloat16")

    def step(sums: Buffer, chain: Var, lane: Var) -> Statement:
        term, at = Var("term"), (index(chain), index(lane))
        factors = Load(pair, (index(term),)), Load(pairs, (index(lane), index(term)))
        wide = tuple(cast(factor, "float32") for factor in factors)
        added = Op("add", (Load(sums, at), Op("mul", wide, "float32")), "float32")
        inner = Loop(term, 2, "unrolled", Store(sums, at, added))
        return Tensorized(VDPBF16PS[lanes], Loop(lane, lanes, "vectorized", inner))

    return _chains(threads, chains, lanes, [pair, pairs], step)


def _chains(
    threads: int,
    chains: int,
    lanes: int,
    factors: Sequence[Buffer],
    work: Callable[[Buffer, Var, Var], Statement],
) -> LoopProgram:
    """Independent sums in registers, to each of which every step of the loop adds."""
    out = Buffer("out", (threads, chains, lanes))
    sums = Buffer("sums", (chains, lanes), scope="register")
    thread, step, chain, lane = (Var(name) for name in ("thread", "step", "chain", "lane"))
    at = (index(chain), index(lane))

    def every(statement: Statement) -> Loop:
        return Loop(chain, chains, "unrolled", statement)

    def lanewise(store: Store) -> Loop:
        return every(Loop(lane, lanes, "vectorized", store))

    body = Block(
        (
            lanewise(Store(sums, at, Const(0.0))),
            Loop(step, _ROUNDS, "serial", every(work(sums, chain, lane))),
            lanewise(Store(out, (index(thread), *at), Load(sums, at))),
        )
    )
    return LoopProgram(
        "peak", tuple(factors), (out,), Loop(thread, threads, "parallel", Allocate(sums, body))
    )


def _sum(pieces: int, length: int) -> LoopProgram:
    chains, lanes = 16, 16
    values = Buffer("values", (pieces, length // (chains * lanes), chains, lanes))
    out = Buffer("out", (pieces, chains, lanes))
    sums = Buffer("sums", (chains, lanes), scope="register")
    piece, step, chain, lane = (Var(name) for name in ("piece", "step", "chain", "lane"))
    at = (index(chain), index(lane))

    def every(statement: Store) -> Loop:
        return Loop(chain, chains, "unrolled", Loop(lane, lanes, "vectorized", statement))

    total = Op("add", (Load(sums, at), Load(values, (index(piece), index(step), *at))), "float32")
    body = Block(
        (
            every(Store(sums, at, Const(0.0))),
            Loop(step, values.shape[1], "serial", every(Store(sums, at, total))),
            every(Store(out, (index(piece), *at), Load(sums, at))),
        )
    )
    return LoopProgram(
        "bandwidth", (values,), (out,), Loop(piece, pieces, "parallel", Allocate(sums, body))
    )
