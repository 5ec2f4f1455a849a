"""Direct convolution in NCHW[x]c: pixels times vectors of filters stay in registers over the sum.

The micro-kernel is that of the register-tiled direct convolutions of Georganas et al. (SC 2018) and
of TVM's conv2d_NCHWc (Liu et al., USENIX ATC 2019): for every input channel and tap, one vector of
filters is multiplied with each of the tile's pixels. Accumulators, filters and one broadcast have
to fit the register file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.ir.tensor_instruction import TensorInstruction
from tilewright_tensor.logs.autotvm_templates import template_of
from tilewright_tensor.logs.nearest import nearest
from tilewright_tensor.lowering.program_pass import ProgramPass
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    computes_in_float32,
    constants,
    epilogue_layouts,
)
from tilewright_x86.machine.isa import isa_of
from tilewright_x86.passes.next_reads import fetch_next_filters, fetch_next_pixels
from tilewright_x86.passes.skipped_terms import skip_neutral_terms
from tilewright_x86.strategies.tiles.flat_images import flattened, is_pointwise, unflatten
from tilewright_x86.strategies.tiles.register_tile import RegisterTile, accumulate_in_registers
from tilewright_x86.strategies.tiles.stored_formats import widened_filters
from tilewright_x86.strategies.tiles.vector_blocks import (
    CHAINS,
    blocked,
    channel_blocks,
    lanes,
    largest_divisor,
    panel_counts,
    registers,
)

_ROWS, _VECTORS = 4, 6
"""Most rows and vectors of filters of a register tile."""
_VECTORS_NARROW = 4
"""Most vectors without AVX-512 whose tile has sums enough to hide their latency."""
_LONG_ROW = 96
"""Pixels in a row that is worth no lengthening."""
_TILE = 6, 4
"""Pixels and vectors of filters of the tile that reads least, on AVX-512; 6 by 2 without."""
_UNROLLED = 1, 2, 4
"""Input channels that may be unrolled, where a block has as many."""
_NARROW = 8
"""With fewer input channels than this the image stays in plain NCHW."""
_LANES_OF_256_BITS = 8


class Conv2dDirect(ScheduledImplementation):
    """Convolutions whose groups hold several filters; knobs choose layouts, tile and loop order.

    terms          input channels that one instruction multiplies and adds
    axes           letters of the image's spatial axes; tiles are cut of the last two
    taps_outside   whether a tile adds up all channels of a tap before those of the next
    """

    name = "conv2d_direct.x86"
    terms = 1
    axes = "HW"
    taps_outside = False

    def applies(self, task: Task) -> bool:
        """Floats of at most 32 bits, constant filters, of which groups have at least four."""
        workload = task.workload
        filters, _, _ = group_of(task)
        grouped = workload.attributes["groups"] > 1
        return (
            computes_in_float32(task)
            and workload.inputs[1].role == "constant"
            and (not grouped or largest_divisor(filters, lanes(task)) >= 4)
        )

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Blocks of the layouts, the register tile, the order of the loops around it."""
        _, channels, taps = group_of(task)
        height, width = self._image(task)
        knobs = Knobs(self.name)
        block_ics = self.input_blocks(channels, lanes(task))
        block_ic = knobs.define_knob("block_ic", block_ics)
        knobs.define_knob("block_oc", output_blocks(task))
        vectors = knobs.define_knob("vectors", self._vectors(task))
        widths = [(-1, columns) for columns in self._columns(task)]
        tile_ow = knobs.define_split(
            "tile_ow", width, num_outputs=2, policy="candidate", candidate=widths
        )
        heights = [(-1, rows) for rows in _heights(height)]
        tile_oh = knobs.define_split(
            "tile_oh", height, num_outputs=2, policy="candidate", candidate=heights
        )
        outer = knobs.define_knob("outer", ["filters", "rows"])
        unrolls = taps > 1 and not self.taps_outside
        unroll_kw = knobs.define_knob("unroll_kw", [False, True] if unrolls else [False])
        unroll_ic = knobs.define_knob("unroll_ic", self._unrolled(max(block_ics)))
        prefetches = self._prefetches(task)
        prefetch = knobs.define_knob("prefetch", prefetches)
        shared = outer == "filters"
        if "pixels" in prefetches:
            # with rows outermost it is the tiles of a row that share filters, of a long one many
            shared |= tile_oh[-1] == 1
        knobs.constrain((prefetch == "filters") <= shared)
        if "pixels" in prefetches:
            knobs.constrain((prefetch == "pixels") <= (block_ic > unroll_ic * self.terms))
            knobs.constrain((prefetch == "pixels") <= (tile_oh[-1] == 1))
        pixels = tile_ow[-1] * tile_oh[-1]
        # taps side by side share their pixels, which LLVM then keeps in registers: spills otherwise
        kept = unroll_kw * unroll_ic * pixels
        knobs.constrain(pixels * vectors + vectors + 1 + kept <= registers(task) - 1)
        knobs.constrain(pixels * vectors >= _fewest_sums(self._tiles(task)))
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity | None:
        """The tile with most sums, of one row and two vectors of filters, some channels at a time.

        One vector where there is no other. A long row of single pixels stays in the second-level
        cache while all filters pass by; that reads less than all pixels for some filters at a time.
        None where filters of a group fill no vectors of 256 bits, and pixels would fill whole ones:
        on AVX2 such kernels take two to four times as long as those of pixels. AVX-512 computes
        with 256 bits at half the rate or, on Zen 4, as fast as with 512.
        """
        filters, channels, _ = group_of(task)
        block, whole = output_blocks(task)[0], min(lanes(task), _LANES_OF_256_BITS)
        if is_pointwise(task.workload) and block % whole and block < filters:
            return None
        height, width = self._image(task)
        tiles = self._tiles(task)
        fewest = _fewest_sums(tiles)
        rows, columns, vectors = max(
            (tile for tile in tiles if prod(tile) >= fewest),
            key=lambda tile: (tile[2] > 1, prod(tile), tile[2] == 2, -tile[0], tile),
        )
        block_ic = self.input_blocks(channels, lanes(task))[0]
        outer, unroll, prefetch = self._usual_order(task, block_ic, rows)
        return ConfigEntity(
            self.name,
            {
                "block_ic": block_ic,
                "block_oc": output_blocks(task)[0],
                "vectors": vectors,
                "tile_ow": (-(-width // columns), columns),
                "tile_oh": (-(-height // rows), rows),
                "outer": outer,
                "unroll_kw": False,
                "unroll_ic": unroll,
                "prefetch": prefetch,
            },
        )

    def adopt_config(self, task: Task, foreign: ConfigEntity) -> ConfigEntity | None:
        """AutoTVM's direct template: its blocks, and the pixels of its tile in as many vectors.

        It has no tile of several rows but that of single pixels.
        """
        fallback = self.fallback(task)
        if template_of(foreign) != "conv2d_NCHWc.x86" or fallback is None:
            return None
        filters, columns = foreign["tile_oc"][-1], foreign["tile_ow"][-1]
        rows = foreign.values.get("tile_oh", 1)
        if self.viewed(task) is not task:
            rows, columns = 1, rows * columns
        wanted = {
            "block_ic": foreign["tile_ic"][-1],
            "block_oc": filters,
            "vectors": filters // lanes(task),
            "tile_ow": columns,
            "tile_oh": rows,
            "unroll_kw": foreign.values.get("unroll_kw", False),
        }
        (alternative,) = self.alternatives(task)
        return nearest(alternative, {**fallback.values, **wanted})

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Blocked images; filters in the order in which the micro-kernel reads them."""
        image, output = (blocked(config[block], self.axes) for block in ("block_ic", "block_oc"))
        inner = config["vectors"] * min(lanes(task), config["block_oc"])
        filters = widened_filters(task, self._filters_layout(config["block_ic"], inner))
        epilogue = epilogue_layouts(task, 2, output)
        return Layouts((image, filters, *epilogue), (output,), constants(task))

    def viewed(self, task: Task) -> Task:
        """Several rows as one, where neighbours do not matter."""
        return _folded(task)

    def passes(self, task: Task, config: ConfigEntity) -> Sequence[ProgramPass]:
        """What the margin of the image would add is neither read nor added; prefetches."""
        rows, columns = config["tile_oh"][-1], config["tile_ow"][-1]
        found = [skip_neutral_terms]
        if config["prefetch"] == "filters":
            last = 2 + len(self.axes)
            first = last - 1 if config["outer"] == "rows" else 2
            found.append(fetch_next_filters(rows, columns, slice(first, last)))
        elif config["prefetch"] == "pixels":
            found.append(fetch_next_pixels(columns))
        if self.viewed(task) is not task:
            found.append(unflatten(self.layouts(task, config), task.workload))
        return found

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """The register tile, and the sum over blocks of channels and taps around it."""
        s = schedule.inline("pad") if "pad" in schedule.stages else schedule
        s, total, final = accumulate_in_registers(s, task.workload.operator)
        tile = RegisterTile(
            config["tile_oh"][-1],
            config["tile_ow"][-1],
            config["vectors"],
            min(lanes(task), config["block_oc"]),
        )
        s = tile.stored(s, total, final, rows_outermost=config["outer"] == "rows")
        ic, *outer_taps, kw = s.loops(total)[2 + len(self.axes) :]
        s = s.overhang(total, ic) if self.terms > 1 else s
        s = s.split(total, ic, [config["block_ic"]])
        factors = [config["unroll_ic"]] if self.terms == 1 else [config["unroll_ic"], self.terms]
        s = s.split(total, f"{ic}.1", factors)
        block, step, unrolled = f"{ic}.0", f"{ic}.1.0", f"{ic}.1.1"
        inner = [step, kw] if config["unroll_kw"] else [kw, step]
        order = (
            [*outer_taps, kw, block, step] if self.taps_outside else [block, *outer_taps, *inner]
        )
        return tile.accumulated(
            s,
            total,
            [*order, unrolled],
            [unrolled, kw] if config["unroll_kw"] else [unrolled],
            self._dot(f"{ic}.1.2", tile.width),
        )

    def reads_single_pixels(self, task: Task) -> bool:
        """Whether tiles read pixels of the image itself, each but once for their filters."""
        return is_pointwise(task.workload)

    def _prefetches(self, task: Task) -> list[str]:
        """What may be fetched ahead."""
        return ["none", "filters", *(["pixels"] if self.reads_single_pixels(task) else [])]

    def input_blocks(self, channels: int, lane_count: int) -> list[int]:
        """Blocks of the image's layout, 1 for none."""
        return [1] if channels < _NARROW else channel_blocks(channels, lane_count)

    def _filters_layout(self, block_ic: int, inner: int) -> str:
        """A block of input channels of a tap, each with the filters of a tile."""
        channels = f"{block_ic}i" if block_ic > 1 else ""
        filters = f"{inner}o" if inner > 1 else ""
        order = f"{self.axes}I" if self.taps_outside else f"I{self.axes}"
        return f"O{order}{channels}{filters}"

    def _dot(self, loop: str, width: int) -> tuple[str, TensorInstruction] | None:
        """The instruction that adds the terms of a loop to a vector of filters; None for one."""
        del loop, width
        return None

    def _unrolled(self, block_ic: int) -> list[int]:
        """Steps over input channels that may be unrolled."""
        return [n for n in _UNROLLED if n * self.terms <= block_ic]

    def _usual_order(self, task: Task, block_ic: int, rows: int) -> tuple[str, int, str]:
        """(outer, unroll_ic, prefetch) of the fallback, whose tiles have so many rows.

        Without AVX-512 a tile's pixels of one block of channels are few lines, far from those of
        the next, where no prefetcher of the processor follows: they are fetched ahead, and filters
        where pixels are few. Of 12 orders of 185 layers of single pixels on Zen 3 this has 0.95 of
        the best one's speed in the mean. Filters of few channels are near: to fetch them costs 5 %.
        """
        single = self.reads_single_pixels(task)
        by_rows = single and self._image(task)[1] >= _LONG_ROW and rows == 1
        outer = "rows" if by_rows else "filters"
        narrow = isa_of(task.target).vector_bits < 512
        counts = [n for n in self._unrolled(block_ic) if block_ic % (n * self.terms) == 0]
        unroll = max((n for n in counts if narrow or n <= 2), default=1)
        if narrow and by_rows and block_ic > unroll * self.terms:
            return outer, unroll, "pixels"
        if narrow and group_of(task)[2] == 1 < max(task.workload.attributes["strides"]):
            return "rows", unroll, "none"  # of each line a part is read
        return outer, unroll, "none" if narrow and block_ic == 1 else "filters"

    def _image(self, task: Task) -> tuple[int, int]:
        """Rows and columns of the output that are cut into tiles."""
        *_, height, width = self.operators.output(self.viewed(task).workload).shape
        return height, width

    def _columns(self, task: Task) -> list[int]:
        """Widths of register tiles: divisors, and two for each number of vectors of filters.

        These are the one with which the fewest tiles make a row and the widest whose last tile,
        which is narrower and peeled, has sums enough to hide their latency: 49 pixels are slower
        as eight tiles of six and one pixel than as nine of five and four. One vector is left out,
        which reads most for a multiply-add: four vectors and six pixels read less than two and
        fourteen.
        """
        limit, counts = registers(task) - 1, self._vectors(task)
        _, width = self._image(task)
        found = {n for n in range(1, min(width, limit - 2) + 1) if width % n == 0}
        for vectors in [vectors for vectors in counts if vectors > 1] or counts:
            most = min((limit - 1 - vectors) // vectors, width)
            found.add(-(-width // -(-width // most)))
            found.add(next(n for n in range(most, 0, -1) if not 0 < width % n * vectors < CHAINS))
        return sorted(found)

    def _vectors(self, task: Task) -> list[int]:
        """Numbers of vectors of filters of register tiles.

        Only AVX-512 multiplies with an element of memory: without it, one vector takes a broadcast
        for every multiply-add, and is left out where others hide the latency of their sums.
        """
        filters, _, _ = group_of(task)
        vectors = -(-filters // min(lanes(task), output_blocks(task)[0]))
        padded = task.workload.attributes["groups"] == 1
        counts = panel_counts(vectors, _VECTORS, padded=padded)
        if isa_of(task.target).vector_bits == 512:
            return counts
        return panel_counts(vectors, _VECTORS_NARROW, padded=padded)[1:] or counts

    def _tiles(self, task: Task) -> list[tuple[int, int, int]]:
        """(rows, columns, vectors) of the register tiles that fit the registers."""
        height, _ = self._image(task)
        return [
            (rows, columns, vectors)
            for rows in _heights(height)
            for columns in self._columns(task)
            for vectors in self._vectors(task)
            if rows * columns * vectors + vectors + 1 <= registers(task) - 1
        ]


def _fewest_sums(tiles: Sequence[tuple[int, int, int]]) -> int:
    """Sums that a tile has at least: enough to hide their latency, half of what there can be."""
    most = max(map(prod, tiles))
    return max(min(CHAINS, most), most // 2)


def group_of(task: Task) -> tuple[int, int, int]:
    """(filters, input channels, taps in a row) of one group."""
    filters, channels, *_, taps = task.workload.inputs[1].shape
    return filters // task.workload.attributes["groups"], channels, taps


def _folded(task: Task) -> Task:
    """The task with several rows as one where neighbours do not matter, else itself.

    A longer row has fewer tiles that are narrower than the others. As long as one row of tiles
    occupies the threads, the last tile is to be half a tile at least: fewer pixels read vectors of
    filters faster than the second-level cache gives them.
    """
    workload = task.workload
    if not is_pointwise(workload):
        return task
    height, width = workload.inputs[0].shape[2:]
    pixels, vectors = _TILE
    parts = -(-workload.inputs[1].shape[0] // (vectors * lanes(task)))
    together = [n for n in range(1, height + 1) if height % n == 0 and n * width >= _LONG_ROW]
    even = [
        n
        for n in together
        if not 0 < n * width % pixels < pixels // 2 and height // n * parts >= task.target.threads
    ]
    flat = flattened(workload, height, width, height // min(even or together, default=height))
    return task if flat is None else replace(task, workload=flat)


def _heights(height: int) -> list[int]:
    """Rows of register tiles: divisors, and near-equal cuts where one row would be the only one.

    More rows at a time read the filters less often: from main memory, where they come from in a
    network, one row at a time wants them faster than it gives them.
    """
    most = min(height, _ROWS)
    divisors = [n for n in range(1, most + 1) if height % n == 0]
    if len(divisors) > 1:
        return divisors
    cuts = {-(-height // count) for count in range(1, height)}
    return sorted({*divisors, *(n for n in cuts if n <= most)})


def output_blocks(task: Task) -> list[int]:
    """Blocks of filters; of a group, those of which no vector holds filters of two groups."""
    filters, _, _ = group_of(task)
    blocks = channel_blocks(filters, lanes(task))
    grouped = task.workload.attributes["groups"] > 1
    return [largest_divisor(filters, lanes(task))] if grouped and blocks == [filters] else blocks


make = Conv2dDirect
