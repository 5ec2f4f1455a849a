"""The tile of a matrix product: blocks in shared memory, a rectangle of sums in each thread.

The structure is that of MAGMA's and CUTLASS's SIMT kernels (Nath et al. 2010; Kerr et al. 2017): a
block of threads copies `bm x bk` and `bk x bn` elements to shared memory, then every thread adds up
`tm x tn` products from registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from math import ceil, prod
from typing import Any

from tilewright.space.knobs import Knobs
from tilewright_cuda.program.arch import Arch
from tilewright_cuda.strategies.tiles.thread_loops import over_threads
from tilewright_cuda.text.limits import MOST_BLOCKS
from tilewright_tensor.algorithms.matrix_product import MatrixProduct, Padded
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused

_VECTOR = 4
_, _MOST_COLUMN_BLOCKS, _MOST_BATCHES = MOST_BLOCKS
_SIZES = (16, 32, 64, 128)
_ROW_PADDING = 36
"""Elements at most between rows in shared memory."""


@dataclass(frozen=True, slots=True)
class Tile:
    """Extents of the tile of a block (`bm`, `bn`, `bk`) and of a thread (`tm`, `tn`).

    split_k   parts of the depth that different blocks add up
    vec       elements that one instruction loads from memory
    stages    tiles in shared memory: while one is multiplied, the others are on their way
    """

    bm: int
    bn: int
    bk: int
    tm: int
    tn: int
    split_k: int = 1
    vec: int = 1
    stages: int = 1

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Tile:
        """The tile of a config."""
        return cls(**{field.name: values[field.name] for field in fields(cls)})

    @property
    def values(self) -> dict[str, int]:
        """The tile as knob values."""
        return asdict(self)

    @property
    def threads(self) -> tuple[int, int]:
        """Threads of a block along rows and columns."""
        return self.bm // self.tm, self.bn // self.tn

    def padded(self, product: MatrixProduct) -> Padded:
        """The extents of a product in whole tiles."""
        return product.padded(self.bm, self.bn, self.bk, self.split_k)

    def scheduled(self, s: Schedule, product: MatrixProduct) -> Schedule:
        """The steps that compute the output with this tile; what follows the product is inlined."""
        final = s.dag.outputs[0].name
        axes = s.loops(final)
        groups = (product.batch_axes, product.row_axes, product.column_axes)
        names = [[axes[axis] for axis in group] for group in groups]
        s = s.reorder(final, [name for group in names for name in group])
        loops = []
        for group in names:
            if group:
                s, one = fused(s, final, group)
                loops.append(one)
        if self.split_k == 1:
            s, place = self._blocks(s, final, loops, product.column_runs)
            s = s.compute_at("product", final, place, "register")
            return self._accumulated(s, product, "product")
        s = self.stored(s, product, "partial")
        s, thread = over_threads(s, final, loops, 256)
        return s.compute_at("product", final, thread, "register")

    def stored(self, s: Schedule, product: MatrixProduct, stage: str) -> Schedule:
        """The padded product, or the parts of it, computed into memory by a launch of its own."""
        s = s.cache_write(stage, "register")
        s, place = self._blocks(s, stage, list(s.loops(stage)), _VECTOR)
        s = s.compute_at(f"{stage}.register", stage, place, "register")
        return self._accumulated(s, product, f"{stage}.register")

    def _blocks(self, s: Schedule, stage: str, loops: list[str], runs: int) -> tuple[Schedule, str]:
        """(schedule, the thread's loop): blocks and threads around a tile of the stage.

        More columns than a vector has are not neighbours: vectors of all threads lie side by side,
        so that a warp's loads from shared memory meet no bank twice.
        """
        *batch, m, n = loops
        s = s.split(stage, m, [self.threads[0], self.tm])
        if self.tn > _VECTOR:
            s = s.split(stage, n, [self.tn // _VECTOR, self.threads[1], _VECTOR])
            thread, inner = f"{n}.2", [f"{n}.1", f"{n}.3"]
        else:
            s = s.split(stage, n, [self.threads[1], self.tn])
            thread, inner = f"{n}.1", [f"{n}.2"]
        s = s.reorder(stage, [f"{m}.0", f"{n}.0", f"{m}.1", thread, f"{m}.2", *inner])
        if batch:
            s, one = fused(s, stage, batch)
            s = s.bind(stage, one, "blockIdx.z")
        s = s.bind(stage, f"{m}.0", "blockIdx.x").bind(stage, f"{n}.0", "blockIdx.y")
        s = s.bind(stage, f"{m}.1", "threadIdx.y").bind(stage, thread, "threadIdx.x")
        if runs % _VECTOR == 0 and self.tn % _VECTOR == 0:
            s = s.vectorize(stage, inner.pop())
        return s.unroll(stage, f"{m}.2", *inner), thread

    def _accumulated(self, s: Schedule, product: MatrixProduct, stage: str) -> Schedule:
        """The thread's sums: over tiles of the depth, then over what is in shared memory."""
        *batch, m, n, k = s.loops(stage)
        s = s.split(stage, k, [self.bk])
        columns = [n]
        if self.tn > _VECTOR:
            s, columns = s.split(stage, n, [_VECTOR]), [f"{n}.0", f"{n}.1"]
        s = s.reorder(stage, [*batch, f"{k}.0", f"{k}.1", m, *columns])
        s = s.unroll(stage, f"{k}.1", m, *columns)
        for name, extent in (("left", self.tm), ("right", self.tn)):
            s = s.cache_read(name, "register", [stage])
            copy = f"{name}.register"
            s = s.compute_at(copy, stage, f"{k}.1", "register")
            inner = s.loops(copy)[-1]
            if extent % _VECTOR == 0:
                s = s.split(copy, inner, [_VECTOR]).vectorize(copy, f"{inner}.1")
                inner = f"{inner}.0"
            s = s.unroll(copy, inner)
            s = s.compute_at(name, stage, f"{k}.0", "shared")
        if self.stages > 1:
            s = s.pipeline(stage, f"{k}.0", self.stages)
        s = self._copied(
            s, "left", self.bm, product.left_runs, along_depth=product.left_along_depth
        )
        return self._copied(
            s, "right", self.bn, product.right_runs, along_depth=product.right_along_depth
        )

    def _copied(
        self, s: Schedule, stage: str, width: int, runs: int, *, along_depth: bool
    ) -> Schedule:
        """A block's share of a factor, from memory to shared memory, by all its threads.

        Neighbouring threads read what lies side by side in memory.
        """
        b, k, x = s.loops(stage)
        lanes = self.vec if runs % self.vec == 0 else 1
        around, inner = ([b, x], k) if along_depth else ([b, k], x)
        s = s.reorder(stage, [*around, inner])
        order = [*around, inner]
        # rows by depth, whatever vectors run along: so a thread reads its sums' factors together
        s = s.transform_layout(stage, "ABC")
        if along_depth:
            s = s.storage_align(stage, 32, _VECTOR)  # what one thread scatters: different banks
        if lanes > 1:
            s = s.split(stage, inner, [lanes]).vectorize(stage, f"{inner}.1")
            order[-1] = f"{inner}.0"
        s, one = fused(s, stage, order)
        s = s.split(stage, one, list(self.threads)).unroll(stage, f"{one}.0")
        return s.bind(stage, f"{one}.1", "threadIdx.y").bind(stage, f"{one}.2", "threadIdx.x")


def fits_grid(product: MatrixProduct) -> bool:
    """Whether some tile makes a grid: columns lie along its second dimension, batches its third."""
    columns = max(_SIZES) * _MOST_COLUMN_BLOCKS
    return product.columns <= columns and product.batch <= _MOST_BATCHES


def define_tile(knobs: Knobs, product: MatrixProduct, arch: Arch, *, splits: bool = True) -> None:
    """The knobs of a tile and what makes a choice feasible: threads, shared memory, registers."""
    bm = knobs.define_knob("bm", [n for n in _SIZES if n <= _covering(product.rows, 16)])
    bn = knobs.define_knob("bn", [n for n in _SIZES if n <= _covering(product.columns, 16)])
    knobs.constrain(bn * _MOST_COLUMN_BLOCKS >= product.columns)
    bk = knobs.define_knob("bk", [8, 16, 32])
    tm = knobs.define_knob("tm", [2, 4, 8])
    tn = knobs.define_knob("tn", [2, 4, 8])
    split_k = knobs.define_knob("split_k", _splits(product) if splits else [1])
    vectors = any(n % _VECTOR == 0 for n in (product.left_runs, product.right_runs))
    vec = knobs.define_knob("vec", [1, _VECTOR] if vectors else [1])
    threads = (bm // tm) * (bn // tn)
    knobs.constrain((threads >= 64) & (threads <= 512) & (threads % 32 == 0))
    # every thread copies as much as every other
    knobs.constrain(((bm * bk) % (threads * vec) == 0) & ((bn * bk) % (threads * vec) == 0))
    stages = knobs.define_knob("stages", [1, 2, 3])
    knobs.constrain(4 * stages * bk * (bm + bn + 2 * _ROW_PADDING) <= arch.shared_per_block)
    knobs.constrain((stages == 1) | (stages * bk * split_k <= product.depth))
    fetched = (bm * bk + bn * bk) // threads
    registers = (100 * tm * tn + 237 * (tm + tn) + 243 * fetched + 600) // 100
    knobs.constrain(
        (registers <= arch.registers_per_thread) & (registers * threads <= arch.registers_per_block)
    )
    if splits and len(_splits(product)) > 1:
        tiles = product.batch * (
            ((bm - 1 + product.rows) // bm) * ((bn - 1 + product.columns) // bn)
        )
        knobs.constrain((split_k == 1) | (tiles < 2 * arch.multiprocessors))
        knobs.constrain((split_k == 1) | (split_k * 2 * bk <= product.depth))


def fallback_tile(product: MatrixProduct, arch: Arch, *, splits: bool = True) -> Tile:
    """A tile that keeps all multiprocessors at work, by its waves and what one costs."""
    best: tuple[float, Tile] | None = None
    for bm, bn, tm, tn in _SHAPES:
        if bm > _covering(product.rows, 16) or bn > _covering(product.columns, 16):
            continue
        if bn * _MOST_COLUMN_BLOCKS < product.columns:
            continue
        tiles = product.batch * ceil(product.rows / bm) * ceil(product.columns / bn)
        for split_k in _splits(product) if splits else (1,):
            if split_k > 1 and (
                tiles >= 2 * arch.multiprocessors or split_k * 2 * _FALLBACK_BK > product.depth
            ):
                continue
            waves = ceil(tiles * split_k / arch.multiprocessors)
            # a block is bound by its sums, or by what it loads from shared memory for them
            work = bm * bn * (1 + 2 / tm + 2 / tn) * product.depth / split_k
            cost = waves * work
            if split_k > 1:
                sums = product.batch * product.rows * product.columns * split_k
                cost += _SECOND_LAUNCH + _PARTIAL_SUM * sums
            if best is None or cost < best[0]:
                best = cost, Tile(bm, bn, _FALLBACK_BK, tm, tn, split_k)
    if best is None:
        raise AssertionError("the largest tile fits every product that a grid holds")
    tile = best[1]
    if product.depth >= _FALLBACK_STAGES * tile.bk * tile.split_k:
        tile = replace(tile, stages=_FALLBACK_STAGES)
    runs = (product.left_runs, product.right_runs)
    copied = (tile.bm * tile.bk, tile.bn * tile.bk)
    wide = any(n % _VECTOR == 0 for n in runs) and all(
        n % (prod(tile.threads) * _VECTOR) == 0 for n in copied
    )
    return replace(tile, vec=_VECTOR) if wide else tile


_FALLBACK_BK = 16
_SECOND_LAUNCH = 3e5
_PARTIAL_SUM = 0.25
"""What split depth costs more, in multiply-adds that a multiprocessor makes meanwhile."""
_FALLBACK_STAGES = 3
_SHAPES = (
    (128, 128, 8, 8), (128, 64, 8, 4), (64, 128, 4, 8), (64, 64, 4, 4), (64, 32, 4, 4),
    (32, 64, 4, 4), (32, 32, 2, 4), (16, 64, 2, 4), (64, 16, 4, 2), (16, 32, 2, 2), (32, 16, 2, 2),
    (16, 16, 2, 2),
)  # fmt: skip


def _covering(extent: int, least: int) -> int:
    """The power of two that covers an extent, at least the least."""
    return max(least, 1 << (extent - 1).bit_length())


def _splits(product: MatrixProduct) -> list[int]:
    return [n for n in (1, 2, 4, 8, 16) if n == 1 or product.depth >= n * 16]
