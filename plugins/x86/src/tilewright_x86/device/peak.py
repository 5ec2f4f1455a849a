"""What the processor can do at most.

Independent multiply-adds in registers, and a sum over main memory.

Both are kernels like any other, so that the pool and the code generator are those of the kernels
that are compared with the figures.
"""

from __future__ import annotations

from math import prod

import numpy as np

from tilewright.vocabulary.target import Target
from tilewright_tensor.expressions.affine import Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.dtype import numpy_type
from tilewright_tensor.expressions.expr import Const, Load, Op
from tilewright_tensor.ir.loop_ir import Allocate, Block, Loop, LoopProgram, Store
from tilewright_x86.device.cpu import cache_bytes
from tilewright_x86.device.instruction_program import instruction_program, instructions_of
from tilewright_x86.kernel.build import build
from tilewright_x86.kernel.kernel import X86Kernel, load_kernel
from tilewright_x86.machine.isa import isa_of

ROUNDS = 20_000


def measure_flops(target: Target, arithmetic: str = "float32") -> float:
    """Operations a second of the target's ISA and threads, a multiply-add counting two.

    Best of several samples, about 50 ms. See `PeakKernel` for the arithmetic.
    """
    peak = PeakKernel(target, arithmetic)
    best = max(peak.flops() for _ in range(30))
    peak.kernel.close()
    return best


class PeakKernel:
    """Independent products added up in registers, to be timed in turns with other kernels.

    arithmetic   a precision, for its fastest instruction of the target, or `PRECISION/INSTRUCTION`
    """

    kernel: X86Kernel

    def __init__(self, target: Target, arithmetic: str = "float32") -> None:
        threads, terms = target.threads, 1
        if arithmetic == "float32":
            program = _multiply_adds(threads, isa_of(target).lanes(4))
        else:
            known = instructions_of(isa_of(target))
            (*_, instruction) = (
                one for name, one in known.items() if arithmetic in (name, name.partition("/")[0])
            )
            program = instruction_program(instruction, threads, ROUNDS)
            terms = prod(axis.extent for axis in instruction.meaning.reduce_axes)
        self.kernel = _loaded(program, target)
        self.operations = 2.0 * ROUNDS * terms * program.outputs[0].size
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


def _multiply_adds(threads: int, lanes: int) -> LoopProgram:
    """Independent sums in registers, to each of which every step of the loop adds a product."""
    chains = 24 if lanes == 16 else 12
    factor, out = Buffer("factor", (lanes,)), Buffer("out", (threads, chains, lanes))
    sums = Buffer("sums", (chains, lanes), scope="register")
    thread, step, chain, lane = (Var(name) for name in ("thread", "step", "chain", "lane"))
    at = (index(chain), index(lane))

    def lanewise(store: Store) -> Loop:
        return Loop(chain, chains, "unrolled", Loop(lane, lanes, "vectorized", store))

    known = Load(factor, (index(lane),))
    added = Op("add", (Op("mul", (Load(sums, at), known), "float32"), known), "float32")
    body = Block(
        (
            lanewise(Store(sums, at, Const(0.0))),
            Loop(step, ROUNDS, "serial", lanewise(Store(sums, at, added))),
            lanewise(Store(out, (index(thread), *at), Load(sums, at))),
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
