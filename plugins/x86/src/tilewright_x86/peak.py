"""What the processor can do at most.

Independent multiply-adds in registers, and a sum over main memory.

Both are kernels like any other, so that the pool and the code generator are those of the kernels
that are compared with the figures.
"""

from __future__ import annotations

import numpy as np

from tilewright.target import Target
from tilewright_tensor.affine import Var, index
from tilewright_tensor.expr import Const, Load, Op
from tilewright_tensor.loop_ir import Allocate, Block, Buffer, Loop, LoopProgram, Store
from tilewright_x86.backend import X86Backend
from tilewright_x86.cpu import cache_bytes
from tilewright_x86.isa import available
from tilewright_x86.kernel import load_kernel

_ROUNDS = 20_000


def measure_flops(threads: int) -> float:
    """Float32 operations a second, a multiply-add counting two.

    Best of several samples, about 50 ms.
    """
    isa = available()[0]
    chains, lanes = 24 if isa.vector_bits == 512 else 12, isa.lanes(4)
    program = _multiply_adds(threads, chains, lanes)
    kernel = load_kernel(X86Backend().build(program, Target("x86", {"threads": str(threads)})))
    kernel.bind([np.ones(b.shape, np.float32) for b in (*program.inputs, *program.outputs)], {})
    kernel.time(3)
    seconds = min(kernel.time(2) for _ in range(30)) / 2
    kernel.close()
    return 2.0 * threads * _ROUNDS * chains * lanes / seconds


def measure_bandwidth(threads: int) -> float:
    """Bytes a second read from memory four times the last-level cache, 64 to 256 MiB."""
    caches = cache_bytes()
    wanted = 4 * caches.get("l3_bytes", caches.get("l2_bytes", 16 << 20))
    elements = min(max(wanted, 64 << 20), 256 << 20) // 4
    pieces = 64
    program = _sum(pieces, elements // pieces)
    kernel = load_kernel(X86Backend().build(program, Target("x86", {"threads": str(threads)})))
    kernel.bind([np.ones(b.shape, np.float32) for b in (*program.inputs, *program.outputs)], {})
    seconds = min(kernel.time(1) for _ in range(5))
    kernel.close()
    return 4.0 * elements / seconds


def _multiply_adds(threads: int, chains: int, lanes: int) -> LoopProgram:
    factor = Buffer("factor", (lanes,))
    out = Buffer("out", (threads, chains, lanes))
    sums = Buffer("sums", (chains, lanes), scope="register")
    thread, step, chain, lane = (Var(name) for name in ("thread", "step", "chain", "lane"))
    at = (index(chain), index(lane))

    def every(statement: Store) -> Loop:
        return Loop(chain, chains, "unrolled", Loop(lane, lanes, "vectorized", statement))

    product = Op("mul", (Load(sums, at), Load(factor, (index(lane),))), "float32")
    added = Op("add", (product, Load(factor, (index(lane),))), "float32")
    body = Block(
        (
            every(Store(sums, at, Const(0.0))),
            Loop(step, _ROUNDS, "serial", every(Store(sums, at, added))),
            every(Store(out, (index(thread), *at), Load(sums, at))),
        )
    )
    return LoopProgram(
        "peak", (factor,), (out,), Loop(thread, threads, "parallel", Allocate(sums, body))
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
