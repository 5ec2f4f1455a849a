"""Convolutions of single pixels in plain NCHW with products of bfloat16.

The image is packed first, in vectors of pixels with pairs of channels. Filters are broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import Dag
from tilewright_tensor.operators.builtin.padding import copy_stage
from tilewright_tensor.operators.definition.attribute import Attributes
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.strategies.scheduled_implementation import is_float32
from tilewright_x86.instructions.dot_products import VDPBF16PS
from tilewright_x86.strategies.conv2d_pixels import Conv2dPixels
from tilewright_x86.strategies.tiles.stored_formats import rounds_natively, stored_in_bfloat16
from tilewright_x86.strategies.tiles.vector_blocks import CHAINS, lanes

_IMAGE = "image"
_TERMS = 2
_VECTORS = 7
"""Most vectors of pixels of a register tile: filters are loaded less often than in float32, where
the sum's instruction does that, too."""
_MOST_WASTE = 1.1
"""Of what tiles compute over what there is."""


class Conv2dPixelsBfloat16(Conv2dPixels):
    """As `conv2d_pixels`, where a group's channels are pairs."""

    name = "conv2d_pixels_bf16.x86"

    def applies(self, task: Task) -> bool:
        """As in float32, of pairs of channels, where there is vdpbf16ps."""
        return (
            is_float32(task)
            and rounds_natively(task)
            and super().applies(task)
            and task.workload.inputs[1].shape[1] % _TERMS == 0
        )

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """As in float32, but for the filters: pairs of channels innermost, stored as bfloat16."""
        found = super().layouts(task, config)
        image, _, *epilogue = found.inputs
        rows = config["tile_oc"][-1]
        filters = f"OIHW{rows}o2i" if rows > 1 else "OIHW2i"
        return stored_in_bfloat16(task, replace(found, inputs=(image, filters, *epilogue)), {1})

    def knobs(self, task: Task, name: str) -> Knobs:
        """As in float32, and what is packed at a time: the image, or a group by who computes it."""
        knobs = super().knobs(task, name)
        knobs.define_knob("pack", ["image", "group"])
        return knobs

    def vectors(self, task: Task) -> list[int]:
        """So many that whole tiles are little more than the vectors of an image."""
        pixels = prod(task.workload.inputs[0].shape[2:])
        whole = -(-pixels // lanes(task))
        return [n for n in range(1, _VECTORS + 1) if -(-whole // n) * n <= _MOST_WASTE * whole]

    def fallback(self, task: Task) -> ConfigEntity:
        """The tile with most products for what it loads, groups apart where they are enough."""
        shapes = self.tiles(task)
        chains = min(CHAINS, max(rows * vectors for rows, vectors in shapes))
        rows, vectors = max(
            (one for one in shapes if prod(one) >= chains),
            key=lambda one: (prod(one) / sum(one), one),
        )
        groups = task.workload.attributes["groups"]
        values = super().fallback(task).values
        return ConfigEntity(
            self.name,
            {
                **values,
                "tile_oc": (prod(values["tile_oc"]) // rows, rows),
                "vectors": vectors,
                "pack": "image" if groups % task.target.threads else "group",
            },
        )

    def around(self, loops: list[str], config: ConfigEntity) -> tuple[list[str], list[str]]:
        """Groups in parallel where each is packed by who computes it."""
        return (loops[:2], loops[2:]) if config["pack"] == "group" else (loops, [])

    def dag(self, task: Task, variant: Any) -> Dag:
        """The convolution of a copy of the image."""

        def computed(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
            data, weight = tensors
            compute = self.operators.find(task.workload.operator).compute
            return compute([copy_stage(_IMAGE, data), weight], attributes)

        return self.operators.compute_dag(task.workload, computed)

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Two rows of pixels in registers are interleaved as they are stored."""
        tile = config["vectors"] * lanes(task)
        s = schedule.transform_layout(_IMAGE, f"NCHW{tile}w{_TERMS}c:bfloat16")
        s = super().scheduled(task, config, s)
        if config["pack"] == "group":
            final = s.dag.outputs[0].name
            s = s.compute_at(_IMAGE, final, s.loops(final)[0], "local")
        s = s.cache_write(_IMAGE, "register")
        n, c, h, w = s.loops(_IMAGE)
        s = s.split(_IMAGE, c, [_TERMS]).split(_IMAGE, w, [lanes(task)])
        s = s.reorder(_IMAGE, [n, f"{c}.0", h, f"{w}.0", f"{w}.1", f"{c}.1"])
        s, pairs = fused(s, _IMAGE, [f"{w}.1", f"{c}.1"])
        s, rows = fused(s.vectorize(_IMAGE, pairs), _IMAGE, [n, f"{c}.0", h])
        s = s if config["pack"] == "group" else s.parallel(_IMAGE, rows)
        held = f"{_IMAGE}.register"
        s = s.compute_at(held, _IMAGE, f"{w}.0", "register")
        n, c, h, w = s.loops(held)
        return s.reorder(held, [n, h, c, w]).unroll(held, c).vectorize(held, w)

    def accumulated(
        self, schedule: Schedule, total: str, config: ConfigEntity, width: int
    ) -> Schedule:
        """Pairs of channels are added by one instruction; the last vector is whole in the image."""
        n, c, h, w, ic, kh, kw = schedule.loops(total)
        s = schedule.overhang(total, w).split(total, w, [width])
        s = s.split(total, ic, [config["unroll_ic"], _TERMS])
        inside = [f"{ic}.1", n, c, h, f"{w}.0"]
        s = s.reorder(total, [f"{ic}.0", kh, kw, *inside, f"{w}.1", f"{ic}.2"])
        s = s.unroll(total, *inside, f"{ic}.2").vectorize(total, f"{w}.1")
        return s.tensorize(total, f"{w}.1", VDPBF16PS[width])


conv2d_pixels = Conv2dPixelsBfloat16
