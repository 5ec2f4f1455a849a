"""Attention without its scores in memory: those of a block of queries stay in a core's caches.

A thread makes all scores of the block, raises them and multiplies them with the values: the tiling
of FlashAttention (Dao et al., NeurIPS 2022), for as many keys as caches hold, so that nothing is
rescaled. Queries lie along vectors, so that every lane has maxima and sums of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.expressions.dtype import ITEM_BYTES
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    computes_in_float32,
)
from tilewright_x86.strategies.attention.heads import SCRATCH_BYTES, Heads
from tilewright_x86.strategies.tiles.vector_blocks import lanes, registers

_PARTIALS = 4
"""Maxima and sums of a query that go on at once: each step of one takes four cycles."""


class Attention(ScheduledImplementation):
    """Attention; knobs choose the block of queries and the register tiles of both products."""

    name = "attention.x86"

    def applies(self, task: Task) -> bool:
        """Floats of at most 32 bits, with no epilogue, as many keys as scratch memory holds."""
        fits = self._scratch(task, 1) <= SCRATCH_BYTES
        return computes_in_float32(task) and not task.workload.epilogue and fits

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Vectors of queries, keys and rows and columns of the tiles, unrolling, order of heads."""
        heads, width, free = Heads.of(task), lanes(task), registers(task) - 1
        knobs = Knobs(self.name)
        blocks = [n for n in (1, 2, 3, 4) if self._scratch(task, n) <= SCRATCH_BYTES]
        vectors = knobs.define_knob("vectors", blocks)
        keys = knobs.define_knob("tile_keys", [2, 4, 6, 8, 12, 14])
        rows = knobs.define_knob("tile_rows", [1, 2, 4, 6, 8, 12])
        widest = _most_columns(heads, width)
        columns = knobs.define_knob("tile_columns", [n for n in (1, 2, 3, 4) if n <= widest])
        knobs.define_knob("unroll", [1, 2, 4])
        heads.define_order(knobs)
        knobs.constrain(keys * vectors + vectors + 1 <= free)
        knobs.constrain(rows * columns + columns + 1 <= free)
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """Two vectors of queries, and tiles that fill most of the registers and divide queries."""
        heads, wide = Heads.of(task), registers(task) == 32
        vectors = 2 if self._scratch(task, 2) <= SCRATCH_BYTES else 1
        columns = min(4 if wide else 2, _most_columns(heads, lanes(task)))
        eight = 8 * columns + columns + 1 < registers(task) and vectors * lanes(task) >= 8
        tiles = {
            "vectors": vectors,
            "tile_keys": 12 if wide else 6,
            "tile_rows": 8 if eight else 4,
            "tile_columns": columns,
            "unroll": 4,
        }
        return ConfigEntity(self.name, {**tiles, **heads.usual_order()})

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Rows in or outside of heads; a mask that differs between queries lies along them."""
        found = Heads.of(task).layouts(task, config)
        mask = task.workload.inputs[3].shape
        if mask[-2] == 1:
            return found
        turned = _turned(Layout.logical(len(mask)).text)
        return replace(found, inputs=(*found.inputs[:3], turned))

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Blocks of queries in parallel; inside, each step for all of their keys."""
        s, final, width = schedule, "attention", lanes(task)
        *batch, i, e = s.loops(final)
        s = s.split(final, i, [config["vectors"] * width])
        s = s.split(final, f"{i}.1", [config["tile_rows"]])
        s = s.split(final, e, [config["tile_columns"], width])
        around = [*batch, f"{i}.0"]
        tile = [f"{i}.1.1", f"{e}.1"]
        s = s.reorder(final, [*around, f"{i}.1.0", f"{e}.0", *tile, f"{e}.2"])
        s = s.unroll(final, *tile).vectorize(final, f"{e}.2")
        s, block = fused(s, final, around)
        s = s.parallel(final, block).compute_at("mixed", final, f"{e}.0", "register")
        *_, i, e, j = s.loops("mixed")
        s = _tile(s, "mixed", (i, e, j), config["unroll"], width)
        # softmax: a vector of queries has its maxima and sums lane by lane
        s = s.compute_at("share", final, block, "local")
        s = _in_vectors(s, "share", s.loops("share")[-1], width)
        for stage in ("total", "largest"):
            s = _reduced(s, stage, width, final, block)
        turned = _turned(Layout.logical(len(batch) + 2).text)
        s = s.transform_layout("raised", turned).compute_at("raised", final, block, "local")
        *_, i, j = s.loops("raised")
        s = _in_vectors(s.reorder("raised", [j, i]), "raised", i, width)
        # scores
        s = s.transform_layout("masked", turned).compute_at("masked", final, block, "local")
        *_, i, j = s.loops("masked")
        s = s.split("masked", j, [config["tile_keys"]])
        s = s.reorder("masked", [f"{j}.0", f"{j}.1", i]).unroll("masked", f"{j}.1")
        s = _in_vectors(s, "masked", i, width)
        s = s.compute_at("scores", "masked", f"{j}.0", "register")
        *_, i, j, k = s.loops("scores")
        s = _tile(s, "scores", (j, i, k), config["unroll"], width)
        return _turned_queries(s, turned, width, final, block)

    def _scratch(self, task: Task, vectors: int) -> int:
        """Bytes that a block of so many vectors of queries takes: scores, and what is raised."""
        return 2 * Heads.of(task).keys * vectors * lanes(task) * ITEM_BYTES["float32"]


def _most_columns(heads: Heads, width: int) -> int:
    """Of a tile: whole vectors of a row of values, as one that is wider than the row is kept in
    memory, not in registers.
    """
    return max(1, heads.columns // width)


def _turned(logical: str) -> str:
    """The layout in which the last but one axis lies along memory."""
    return f"{logical[:-2]}{logical[-1]}{logical[-2]}"


def _in_vectors(s: Schedule, stage: str, loop: str, width: int) -> Schedule:
    """A stage whose innermost loop is cut into vectors, which are unrolled."""
    s = s.split(stage, loop, [width])
    return s.unroll(stage, f"{loop}.0").vectorize(stage, f"{loop}.1")


def _tile(
    s: Schedule, stage: str, loops: tuple[str, str, str], unroll: int, width: int
) -> Schedule:
    """A product of rows, columns in vectors, and terms, which are added to a whole tile."""
    rows, columns, terms = loops
    s = s.split(stage, terms, [unroll])
    s = s.reorder(stage, [f"{terms}.0", f"{terms}.1", rows, columns])
    return _in_vectors(s.unroll(stage, f"{terms}.1", rows), stage, columns, width)


def _reduced(s: Schedule, stage: str, width: int, final: str, block: str) -> Schedule:
    """Maxima or sums of all keys, some of them at once (rfactor, Suriana et al., CGO 2017)."""
    *_, i, j = s.loops(stage)
    s, partial = s.split(stage, j, [_PARTIALS]).rfactor(stage, f"{j}.1"), f"{stage}.rf"
    *_, i, part = s.loops(stage)
    s = s.reorder(stage, [part, i]).unroll(stage, part)
    s = _in_vectors(s, stage, i, width).compute_at(stage, final, block, "register")
    *_, i, part, j = s.loops(partial)
    s = s.reorder(partial, [j, part, i]).unroll(partial, part)
    return _in_vectors(s, partial, i, width).compute_at(partial, final, block, "register")


def _turned_queries(s: Schedule, turned: str, width: int, final: str, block: str) -> Schedule:
    """A copy of the block's queries along vectors: squares of them are turned in registers."""
    s = s.cache_read("queries", "local", ["scores"])
    copy, held = "queries.local", "queries.register"
    s = s.cache_read("queries", "register", [copy])
    s = s.transform_layout(copy, turned).compute_at(copy, final, block, "local")
    *_, i, k = s.loops(copy)
    s = s.split(copy, i, [width]).split(copy, k, [width])
    s = s.reorder(copy, [f"{i}.0", f"{k}.0", f"{k}.1", f"{i}.1"])
    s = s.unroll(copy, f"{k}.1").vectorize(copy, f"{i}.1")
    s = s.compute_at(held, copy, f"{k}.0", "register")
    *_, i, k = s.loops(held)
    return s.unroll(held, i).vectorize(held, k)


make = Attention
