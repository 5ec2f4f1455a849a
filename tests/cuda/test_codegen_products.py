"""Matrix products in every shape of schedule: emulated kernels, interpreter and numpy agree."""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pytest

from tilewright.vocabulary.target import Target
from tilewright_cuda.backend import CudaBackend
from tilewright_cuda.program.arch import arch_named
from tilewright_cuda.program.artifact import artifact_of
from tilewright_cuda.program.cuda_program import CudaProgram, Launch, Pointer
from tilewright_cuda.text.generate import generate
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.ir.dag import Dag, compute, placeholder, reduce_axis, reduce_sum
from tilewright_tensor.ir.loop_ir import LoopProgram
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.lowering.verify import verify
from tilewright_tensor.schedule.schedule import Schedule

TARGET = Target.parse("cuda:arch=sm_90")


@dataclass(frozen=True)
class Shape:
    """A product and its schedule: threads, elements of each, virtual threads, tiles in flight."""

    m: int
    n: int
    k: int
    threads: tuple[int, int] = (4, 8)
    each: tuple[int, int] = (2, 2)
    virtual: tuple[int, int] = (1, 1)
    depth: int = 4
    tiles: int = 1
    lanes: int = 1

    def program(self, name: str) -> LoopProgram:
        a, b = placeholder("a", (self.m, self.k)), placeholder("b", (self.k, self.n))
        k = reduce_axis(self.k, "k")
        c = compute("c", (self.m, self.n), lambda m, n: reduce_sum(a[m, k] * b[k, n], k))
        s, total = Schedule.of(Dag([c], [a, b])).cache_write("c", "register"), "c.register"
        for axis, way in (("m", 0), ("n", 1)):
            s = s.split("c", axis, [self.virtual[way], self.threads[way], self.each[way]])
        s = s.reorder("c", [f"{axis}.{part}" for part in range(4) for axis in "mn"])
        s = s.bind("c", "m.0", "blockIdx.y").bind("c", "n.0", "blockIdx.x")
        s = s.bind("c", "m.1", "vthread").bind("c", "n.1", "vthread")
        s = s.bind("c", "m.2", "threadIdx.y").bind("c", "n.2", "threadIdx.x")
        s = s.unroll("c", "m.3").vectorize("c", "n.3").compute_at(total, "c", "n.2", "register")
        s = s.split(total, "k", [self.depth]).reorder(total, ["k.0", "k.1", "m", "n"])
        s = s.unroll(total, "m").unroll(total, "n")
        for factor in "ab":
            shared, own = f"{factor}.shared", f"{factor}.shared.register"
            s = s.cache_read(factor, "shared", [total]).cache_read(shared, "register", [total])
            s = s.compute_at(own, total, "k.1", "register")
            for loop in s.loops(own):
                s = s.unroll(own, loop)
            s = s.compute_at(shared, total, "k.0", "shared")
            rows, columns = s.loops(shared)
            fused = f"{rows}@{columns}"
            s = s.fuse(shared, [rows, columns]).split(shared, fused, [*self.threads, self.lanes])
            s = s.bind(shared, f"{fused}.1", "threadIdx.y").bind(
                shared, f"{fused}.2", "threadIdx.x"
            )
            s = s.vectorize(shared, f"{fused}.3")
        if self.tiles > 1:
            s = s.pipeline(total, "k.0", self.tiles)
        return lower(s, name)

    def operands(self) -> list[Any]:
        rng = np.random.default_rng(self.m)
        return [
            rng.standard_normal((self.m, self.k), dtype=np.float32),
            rng.standard_normal((self.k, self.n), dtype=np.float32),
        ]


SHAPES = [
    Shape(16, 32, 8),
    Shape(17, 19, 7),
    Shape(33, 20, 17, each=(3, 2), depth=5),
    Shape(32, 64, 24, virtual=(2, 2), lanes=4),
    Shape(31, 37, 13, virtual=(2, 1)),
    Shape(16, 32, 24, tiles=2),
    Shape(32, 32, 40, tiles=3, each=(2, 4), lanes=4),
    Shape(32, 64, 16, tiles=4, virtual=(1, 2), lanes=4),
    Shape(16, 16, 4, tiles=3),
    Shape(1, 5, 3),
    Shape(16, 32, 12, lanes=2, tiles=2),
]


def _drawn(seed: int) -> Shape:
    draw = random.Random(seed)
    depth, tiles = draw.choice((1, 3, 4)), draw.choice((1, 1, 2, 3))
    # a pipelined loop has no tail
    k = depth * draw.randint(1, 6) if tiles > 1 else draw.randint(1, 20)
    return Shape(
        draw.randint(1, 40),
        draw.randint(1, 40),
        k,
        threads=draw.choice(((4, 8), (2, 16), (8, 4), (1, 32))),
        each=(draw.randint(1, 4), draw.choice((1, 2, 4))),
        virtual=draw.choice(((1, 1), (2, 1), (1, 2), (2, 2))),
        depth=depth,
        tiles=tiles,
        lanes=draw.choice((1, 2, 4)),
    )


def _together(programs: list[LoopProgram]) -> CudaProgram:
    """All programs as one, in one text: it is compiled once."""
    arch = arch_named("sm_90", "test")
    made = [generate(program, arch).program for program in programs]
    operands, launches, texts = [], [], []
    for one in made:
        slots = [Pointer(len(operands) + slot) for slot in range(len(one.operands))]
        operands += one.operands
        launches += [
            Launch(
                len(texts), launch.kernel, launch.grid, launch.block, launch.shared_bytes,
                tuple(slots[argument.slot] for argument in launch.arguments),
            )
            for launch in one.launches
        ]  # fmt: skip
        texts.append(one.modules[0])
    return CudaProgram(tuple(texts), tuple(launches), tuple(operands))


@pytest.fixture
def backend() -> CudaBackend:
    from tilewright_cuda.emulation.compile import compiler_version

    if compiler_version() is None:
        pytest.skip("emulation needs g++")
    return CudaBackend()


def _emulated(backend: CudaBackend, program: CudaProgram, arrays: list[Any]) -> list[Any]:
    device = next(one for one in backend.probe() if one.name == "emulated")
    artifact = artifact_of(TARGET, program, [None] * len(program.modules), {})
    kernel = backend.load(artifact, device)
    try:
        kernel.bind(arrays, {})
        kernel.launch()
        return [kernel.read(number) for number in range(len(arrays))]
    finally:
        kernel.close()


def test_products_are_right_with_tails_virtual_threads_vectors_and_pipelines(
    backend: CudaBackend,
) -> None:
    shapes = [*SHAPES, *(_drawn(seed) for seed in range(12))]
    programs = [shape.program(f"product{n}") for n, shape in enumerate(shapes)]
    assert [verify(program) for program in programs] == [[]] * len(programs)
    arrays: list[Any] = []
    for shape in shapes:
        arrays += [*shape.operands(), np.full((shape.m, shape.n), np.nan, np.float32)]
    results = _emulated(backend, _together(programs), arrays)
    for number, shape in enumerate(shapes):
        a, b = shape.operands()
        np.testing.assert_allclose(
            results[3 * number + 2], a @ b, rtol=1e-4, atol=1e-4, err_msg=str(shape)
        )


INTERPRETED = [
    Shape(5, 7, 7, threads=(2, 2)),
    Shape(8, 16, 12, threads=(2, 2), virtual=(2, 2), lanes=4),
    Shape(8, 8, 20, threads=(2, 2), tiles=3, each=(2, 4), lanes=4),
    Shape(4, 16, 16, threads=(2, 2), tiles=4, virtual=(1, 2), lanes=4),
]


@pytest.mark.parametrize("shape", INTERPRETED, ids=["tails", "virtual", "3 tiles", "4 tiles"])
def test_the_interpreter_runs_bound_programs_thread_by_thread(shape: Shape) -> None:
    (result,) = interpret(shape.program("product"), shape.operands())
    a, b = shape.operands()
    np.testing.assert_allclose(result, a @ b, rtol=1e-4, atol=1e-4)


def test_products_are_launched_as_their_loops_are_bound() -> None:
    shape = Shape(33, 20, 17, threads=(4, 8), each=(2, 2), virtual=(2, 1))
    (launch,) = generate(shape.program("product"), arch_named("sm_90", "test")).program.launches
    assert launch.block == (8, 4, 1)
    assert launch.grid == (-(-20 // 16), -(-33 // 16), 1)
    assert launch.shared_bytes == 4 * (4 * 16 + 16 * 4)
    assert prod(launch.block) == 32
