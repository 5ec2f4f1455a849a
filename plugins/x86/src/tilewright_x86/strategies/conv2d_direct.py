"""Direct convolution in NCHW[x]c: pixels times vectors of filters stay in registers over the sum.

The micro-kernel is that of the register-tiled direct convolutions of Georganas et al. (SC 2018) and
of TVM's conv2d_NCHWc (Liu et al., USENIX ATC 2019): for every input channel and tap, one vector of
filters is multiplied with each of the tile's pixels. Accumulators, filters and one broadcast have
to fit the register file.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.config import ConfigEntity
from tilewright.layouts import Layouts
from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.task import Task
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.schedule import Schedule
from tilewright_tensor.tensor_schedule import TensorSchedule, constants, is_float32
from tilewright_x86.strategies.register_tile import RegisterTile, accumulate_in_registers
from tilewright_x86.strategies.tensor_schedule import (
    blocked,
    channel_blocks,
    epilogue_layouts,
    lanes,
    padded,
    registers,
    vector_counts,
)

_CHAINS = 8
"""Sums a core works on at once: two multiply-adds a cycle, each of which takes four cycles."""
_ROWS, _VECTORS = 4, 6
"""Most rows and vectors of filters of a register tile."""
_NARROW = 8
"""With fewer input channels than this the image stays in plain NCHW."""


class Conv2dDirect(TensorSchedule):
    """Convolutions whose groups hold several filters; knobs choose layouts, tile and loop order."""

    name = "conv2d_direct"

    def applies(self, task: Task) -> bool:
        """float32 with constant filters, at least four in a group where there are groups."""
        workload = task.workload
        filters, _, _ = _group(task)
        grouped = workload.attributes["groups"] > 1
        return (
            is_float32(task)
            and workload.inputs[1].role == "constant"
            and (not grouped or channel_blocks(filters, lanes(task))[0] >= 4)
        )

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Blocks of the layouts, the register tile, the order of the loops around it."""
        filters, channels, taps = _group(task)
        _, _, height, width = self.operators.output(task.workload).shape
        knobs = Knobs(self.name)
        knobs.define_knob("block_ic", _input_blocks(channels, lanes(task)))
        knobs.define_knob("block_oc", channel_blocks(filters, lanes(task)))
        vectors = knobs.define_knob("vectors", vector_counts(filters, lanes(task), _VECTORS))
        widths = [(-1, columns) for columns in _columns(width, registers(task))]
        tile_ow = knobs.define_split(
            "tile_ow", width, num_outputs=2, policy="candidate", candidate=widths
        )
        heights = [(-1, rows) for rows in _heights(height)]
        tile_oh = knobs.define_split(
            "tile_oh", height, num_outputs=2, policy="candidate", candidate=heights
        )
        knobs.define_knob("outer", ["filters", "rows"])
        unroll_kw = knobs.define_knob("unroll_kw", [False, True] if taps > 1 else [False])
        unroll_ic = knobs.define_knob("unroll_ic", [1, 2, 4])
        knobs.define_knob("prefetch_bytes", [0, 4096, 8192])
        pixels = tile_ow[-1] * tile_oh[-1]
        # taps side by side share their pixels, which LLVM then keeps in registers: spills otherwise
        shared = unroll_kw * unroll_ic * pixels
        knobs.constrain(pixels * vectors + vectors + 1 + shared <= registers(task) - 1)
        knobs.constrain(pixels * vectors >= min(_CHAINS, max(map(prod, self._tiles(task)))))
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """The tile with most sums, of one row and two vectors of filters: best on most layers."""
        filters, channels, _ = _group(task)
        _, _, height, width = self.operators.output(task.workload).shape
        rows, columns, vectors = max(
            self._tiles(task), key=lambda tile: (prod(tile), tile[2] == 2, -tile[0], tile)
        )
        return ConfigEntity(
            self.name,
            {
                "block_ic": _input_blocks(channels, lanes(task))[0],
                "block_oc": channel_blocks(filters, lanes(task))[0],
                "vectors": vectors,
                "tile_ow": (-(-width // columns), columns),
                "tile_oh": (-(-height // rows), rows),
                "outer": "filters",
                "unroll_kw": False,
                "unroll_ic": 1,
                "prefetch_bytes": 0,
            },
        )

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Blocked images; filters in the order in which the micro-kernel reads them."""
        output = blocked(config["block_oc"])
        inner = config["vectors"] * min(lanes(task), config["block_oc"])
        filters = _filters_layout(config["block_ic"], inner)
        epilogue = epilogue_layouts(task, 2, output)
        return Layouts(
            (blocked(config["block_ic"]), filters, *epilogue), (output,), constants(task)
        )

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """The register tile, and the sum over blocks of channels and taps around it."""
        s, total, final = accumulate_in_registers(schedule, "conv2d")
        s = padded(s, config["block_ic"])
        tile = RegisterTile(
            config["tile_oh"][-1],
            config["tile_ow"][-1],
            config["vectors"],
            min(lanes(task), config["block_oc"]),
        )
        s = tile.stored(s, total, final, rows_outermost=config["outer"] == "rows")
        ic, kh, kw = s.loops(total)[4:]
        s = s.split(total, ic, [config["block_ic"]])
        s = s.split(total, f"{ic}.1", [config["unroll_ic"]])
        block, step, unrolled = f"{ic}.0", f"{ic}.1.0", f"{ic}.1.1"
        taps = [step, kw] if config["unroll_kw"] else [kw, step]
        s = tile.accumulated(
            s,
            total,
            [block, kh, *taps, unrolled],
            [unrolled, kw] if config["unroll_kw"] else [unrolled],
        )
        if config["prefetch_bytes"]:
            for line in range(tile.vectors):
                s = s.prefetch(total, unrolled, "weight", config["prefetch_bytes"] + 64 * line)
        return s

    def _tiles(self, task: Task) -> list[tuple[int, int, int]]:
        """(rows, columns, vectors) of the register tiles that fit the registers."""
        filters, _, _ = _group(task)
        _, _, height, width = self.operators.output(task.workload).shape
        return [
            (rows, columns, vectors)
            for rows in _heights(height)
            for columns in _columns(width, registers(task))
            for vectors in vector_counts(filters, lanes(task), _VECTORS)
            if rows * columns * vectors + vectors + 1 <= registers(task) - 1
        ]


def _group(task: Task) -> tuple[int, int, int]:
    """(filters, input channels, taps in a row) of one group."""
    filters, channels, _, taps = task.workload.inputs[1].shape
    return filters // task.workload.attributes["groups"], channels, taps


def _columns(width: int, register_count: int) -> list[int]:
    """Widths of register tiles: divisors, and near-equal cuts where no divisor is good.

    Good is what fills the registers at least by half together with two vectors of filters. A last
    tile that is narrower is peeled.
    """
    most = register_count - 4
    divisors = [n for n in range(1, min(width, most) + 1) if width % n == 0]
    fits = (most - 1) // 2
    if width <= fits or any(fits <= 2 * n <= 2 * fits for n in divisors):
        return divisors
    cuts = {-(-width // count) for count in range(1, width)}
    return sorted({*divisors, *(n for n in cuts if fits <= 2 * n and n <= most)})


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


def _input_blocks(channels: int, lane_count: int) -> list[int]:
    return [1] if channels < _NARROW else channel_blocks(channels, lane_count)


def _filters_layout(block_ic: int, inner: int) -> str:
    channels = f"{block_ic}i" if block_ic > 1 else ""
    return f"OIHW{channels}{inner}o" if inner > 1 else f"OIHW{channels}"


def make(operators: Operators) -> Conv2dDirect:
    """The strategy's working half."""
    return Conv2dDirect(operators)
