"""Attention by AMX: both products of a block of queries in tiles, its scores in a core's caches.

A thread packs the keys and values of a head as the instruction reads them, and goes from block of
queries to block of queries: scores, softmax in float32, product with the values. That is the tiling
of FlashAttention (Dao et al., NeurIPS 2022), for as many keys as caches hold, so that nothing is
rescaled. Operands are copied into whole tiles, padded: so rows may lie anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.expressions.expr import Value, logical_and, lt, select
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.ir.dag import Dag, compute
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.operators.definition.attribute import Attributes
from tilewright_tensor.operators.definition.places import axis_names
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.strategies.scheduled_implementation import ScheduledImplementation
from tilewright_x86.instructions.tiles import PRODUCTS, ROWS
from tilewright_x86.machine.isa import isa_of
from tilewright_x86.strategies.attention.heads import SCRATCH_BYTES, Heads
from tilewright_x86.strategies.tiles.pairs_of_terms import PairsOfTerms
from tilewright_x86.strategies.tiles.stored_formats import stored_in_bfloat16
from tilewright_x86.strategies.tiles.vector_blocks import lanes

_PRODUCT = PRODUCTS["bfloat16", "bfloat16"]
_TERMS = 2 * ROWS
"""Of a tile; and columns of sums that are made together."""
_ROWS_AT_ONCE = 4
"""Whose maxima and sums go on at once: each step of one takes four cycles."""


class AttentionInTiles(ScheduledImplementation):
    """Attention of float32, both products rounded to bfloat16."""

    name = "attention_in_tiles_bf16.x86"

    def applies(self, task: Task) -> bool:
        """float32 and bfloat16 where there is AMX, with heads for all threads, no epilogue."""
        known = {spec.dtype for spec in task.workload.inputs} <= {"float32", "bfloat16"}
        fits = self._scratch(task, 1) <= SCRATCH_BYTES
        has_tiles = _PRODUCT.feature in isa_of(task.target).features
        enough = prod(Heads.of(task).batches) >= task.target.threads
        return known and has_tiles and fits and enough and not task.workload.epilogue

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Tiles of queries in a block, order of heads."""
        knobs = Knobs(self.name)
        blocks = [n for n in (1, 2, 3) if self._scratch(task, n) <= SCRATCH_BYTES]
        knobs.define_knob("tiles", blocks)
        Heads.of(task).define_order(knobs)
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """Two tiles of queries, where scratch memory holds their scores; else one."""
        tiles = 2 if self._scratch(task, 2) <= SCRATCH_BYTES else 1
        return ConfigEntity(self.name, {"tiles": tiles, **Heads.of(task).usual_order()})

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Rows in or outside of heads, stored as bfloat16; the mask as it is."""
        found = Heads.of(task).layouts(task, config)
        output = self.operators.output(task.workload).dtype
        return stored_in_bfloat16(task, found, {0, 1, 2}, output)

    def variant(self, task: Task, config: ConfigEntity) -> int:
        """Queries of a block."""
        return ROWS * int(config["tiles"])

    def dag(self, task: Task, variant: int) -> Dag:
        """The definition, of operands in whole tiles; the mask leaves out keys beyond the last."""
        definition = self.operators.find("attention")

        def computed(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
            queries, keys, values, mask = tensors
            *batch, m, k = queries.shape
            n, e = values.shape[-2:]
            rows, terms, depth, columns = (
                -(-extent // whole) * whole
                for extent, whole in ((m, variant), (k, _TERMS), (n, _TERMS), (e, _TERMS))
            )
            one_row, one_key = mask.shape[-2] == 1, mask.shape[-1] == 1 and depth == n
            wide = (*mask.shape[:-2], 1 if one_row else rows, 1 if one_key else depth)
            result = definition.compute(
                [
                    _padded("left", queries, (*batch, rows, terms), (m, k), 0.0),
                    _padded("middle", keys, (*batch, depth, terms), (n, k), 0.0),
                    _padded("right", values, (*batch, depth, columns), (n, e), 0.0),
                    _padded("margin", mask, wide, (m, n), float("-inf")),
                ],
                attributes,
            )
            names = axis_names(len(result.shape))
            return compute("result", (*batch, m, e), lambda *place: result[place], axes=names)

        return self.operators.compute_dag(task.workload, computed)

    def start(self, task: Task, variant: int) -> Schedule:
        """The mask is added where scores are read, both times."""
        s = super().start(task, variant)
        return s.inline("margin").inline("masked").inline("attention")

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Heads in parallel; inside, blocks of queries with each step for all of their keys."""
        s, final, width = schedule, "result", lanes(task)
        sums, scores = "mixed.local", "scores.local"
        s = s.cache_read("mixed", "local", [final])
        s = s.cache_read("scores", "local", ["largest", "raised"])
        *batch, i, e = s.loops(final)
        s = s.split(final, i, [ROWS * config["tiles"]]).split(final, e, [2, ROWS])
        block, columns = f"{i}.0", f"{e}.0"
        s = s.reorder(final, [*batch, block, columns, f"{i}.1", f"{e}.1", f"{e}.2"])
        s = s.unroll(final, f"{e}.1").vectorize(final, f"{e}.2")
        s, head = fused(s, final, batch)
        s = s.parallel(final, head).compute_at(sums, final, columns, "local")
        s = _multiplied(_stored(s, sums), "mixed").compute_at("mixed", final, columns, "fragment")
        # softmax
        *_, i = s.loops("share")
        s = s.split("share", i, [width]).vectorize("share", f"{i}.1")
        s = s.compute_at("share", final, block, "local")
        for stage in ("total", "largest"):
            s = _reduced(s, stage, width).compute_at(stage, final, block, "local")
        *_, i, j = s.loops("raised")
        s = s.split("raised", j, [width]).vectorize("raised", f"{j}.1")
        s = s.compute_at("raised", final, block, "local")
        # scores
        *outer, i, j = s.loops(scores)
        s = s.compute_at(scores, final, block, "local").split(scores, j, [_TERMS])
        s = s.reorder(scores, [*outer, f"{j}.0", i, f"{j}.1"])
        s = _multiplied(_stored(s, scores), "scores")
        s = s.compute_at("scores", scores, f"{j}.0", "fragment")
        return _packed(s, final, head, block, width)

    def _scratch(self, task: Task, tiles: int) -> int:
        """Bytes for a head's keys and values, and a block's scores before and after."""
        heads = Heads.of(task)
        terms = task.workload.inputs[0].shape[-1]
        return heads.keys * (2 * (terms + heads.columns) + 6 * ROWS * tiles)


def _padded(
    name: str,
    data: Tensor,
    shape: tuple[int, ...],
    within: tuple[int, int],
    value: float,
) -> Tensor:
    """The data, broadcast to a shape; a value beyond some rows and columns."""

    def element(*place: Axis) -> Value:
        read = data[tuple(0 if n == 1 else at for at, n in zip(place, data.shape, strict=True))]
        ends = zip(place[-2:], within, strict=True)
        inside = [lt(axis, end) for axis, end in ends if axis.extent > end]
        return select(logical_and(*inside), read, value) if inside else read

    return compute(name, shape, element, axes=axis_names(len(shape)))


def _whole(s: Schedule, stage: str) -> Schedule:
    """A stage whose last tiles are whole, also where not all of them is read."""
    for axis in s.stages[stage].axes[-2:]:
        s = s.overhang(stage, axis.name)
    return s


def _stored(s: Schedule, stage: str) -> Schedule:
    """Tiles of sums put into memory."""
    assert _PRODUCT.stores is not None
    *outer, i, j = s.loops(stage)
    s = _whole(s, stage).split(stage, i, [ROWS]).split(stage, j, [ROWS])
    s = s.reorder(stage, [*outer, f"{i}.0", f"{j}.0", f"{i}.1", f"{j}.1"])
    s = s.unroll(stage, f"{i}.0", f"{j}.0")
    return s.tensorize(stage, f"{i}.1", _PRODUCT.stores)


def _multiplied(s: Schedule, stage: str) -> Schedule:
    """Tiles of terms around the instruction."""
    *outer, i, j, k = s.loops(stage)
    s = _whole(s, stage).split(stage, i, [ROWS]).split(stage, j, [ROWS])
    s = s.split(stage, k, [ROWS, 2])
    inside = [f"{i}.1", f"{j}.1", f"{k}.1", f"{k}.2"]
    s = s.reorder(stage, [*outer, f"{k}.0", f"{i}.0", f"{j}.0", *inside])
    return s.unroll(stage, f"{i}.0", f"{j}.0").tensorize(stage, f"{i}.1", _PRODUCT)


def _reduced(s: Schedule, stage: str, width: int) -> Schedule:
    """Maxima or sums of some rows, each in a vector (rfactor, Suriana et al., CGO 2017)."""
    *_, j = s.loops(stage)
    s, partial = s.split(stage, j, [width]).rfactor(stage, f"{j}.1"), f"{stage}.rf"
    *_, i, lane = s.loops(stage)
    s = s.split(stage, i, [_ROWS_AT_ONCE]).unroll(stage, f"{i}.1", lane)
    s = s.compute_at(partial, stage, f"{i}.0", "register")
    *_, i, lane, j = s.loops(partial)
    s = s.reorder(partial, [j, i, lane])
    return s.unroll(partial, i).vectorize(partial, lane)


def _packed(s: Schedule, final: str, head: str, block: str, width: int) -> Schedule:
    """Operands as the instruction reads them, in bfloat16: second ones in pairs of terms."""
    *_, column = s.loops("left")
    letters = Layout.logical(len(s.loops("left"))).letters
    for stage in ("left", "raised"):
        s = s.transform_layout(stage, f"{letters}2{column}:bfloat16")
    s = s.split("left", column, [_TERMS]).vectorize("left", f"{column}.1")
    s = s.compute_at("left", final, block, "local")
    last = len(letters) - 1
    keys, values = (
        PairsOfTerms(last, last - 1, True, width),
        PairsOfTerms(last - 1, last, False, width),
    )
    for stage, pairs in (("middle", keys), ("right", values)):
        term, across = letters[pairs.term], letters[pairs.column]
        tiles = f"{ROWS}{term}{ROWS}{across}2{term}".lower()
        s = s.transform_layout(stage, f"{letters[:-2]}{across}{term}{tiles}:bfloat16")
        s = s.cache_write(stage, "register")
        s, around = pairs.stored(s, stage, _TERMS)
        s = pairs.held(s, stage, f"{stage}.register", around[-1])
        s = s.compute_at(stage, final, head, "local")
    return s


make = attention_in_tiles = AttentionInTiles
