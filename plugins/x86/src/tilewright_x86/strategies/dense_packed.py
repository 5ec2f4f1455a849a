"""Dense layers with packed weights: rows times vectors of outputs in registers.

Weights are read once and in order.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.logs.autotvm_templates import template_of
from tilewright_tensor.logs.nearest import nearest
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    computes_in_float32,
    constants,
)
from tilewright_x86.strategies.tiles.register_tile import accumulate_in_registers
from tilewright_x86.strategies.tiles.vector_blocks import lanes, largest_divisor, registers


class DensePacked(ScheduledImplementation):
    """Dense layers; knobs choose the register tile and how far ahead weights are fetched."""

    name = "dense_packed.x86"

    def applies(self, task: Task) -> bool:
        """Floats of at most 32 bits, with constant weights."""
        return computes_in_float32(task) and task.workload.inputs[1].role == "constant"

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Register tile, unrolling of the sum, distance of the prefetch."""
        rows = task.workload.inputs[0].shape[0]
        knobs = Knobs(self.name)
        vectors = knobs.define_knob("vectors", [1, 2, 4, 6, 8])
        tile_n = knobs.define_split("tile_n", rows, num_outputs=2, max_factor=16)
        knobs.define_knob("unroll_k", [1, 2, 4, 8])
        knobs.define_knob("prefetch_bytes", [0, 1024, 4096])
        knobs.constrain(tile_n[-1] * vectors + vectors + 1 <= registers(task) - 1)
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """Four vectors and four terms: a matrix-vector product then reads memory at full speed."""
        rows = task.workload.inputs[0].shape[0]
        vectors = 4 if registers(task) == 32 else 2
        tile = largest_divisor(rows, (registers(task) - 2 - vectors) // vectors)
        return ConfigEntity(
            self.name,
            {
                "vectors": vectors,
                "tile_n": (rows // tile, tile),
                "unroll_k": 4,
                "prefetch_bytes": 0,
            },
        )

    def adopt_config(self, task: Task, foreign: ConfigEntity) -> ConfigEntity | None:
        """AutoTVM's dense templates: the rows and vectors of their innermost tiles."""
        if template_of(foreign) not in ("dense_pack.x86", "dense_nopack.x86"):
            return None
        rows = foreign.values.get("tile_inner", foreign["tile_y"])
        wanted = {
            "vectors": foreign["tile_x"][-1] // lanes(task),
            "tile_n": rows[-1],
            "unroll_k": foreign["tile_k"][-1],
        }
        (alternative,) = self.alternatives(task)
        return nearest(alternative, {**self.fallback(task).values, **wanted})

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Weights as [O/b][K][b]; the rest as it is."""
        others = (Layout.logical(len(spec.shape)).text for spec in task.workload.inputs[2:])
        weights = f"OI{config['vectors'] * lanes(task)}o"
        return Layouts(("NC", weights, *others), ("NC",), constants(task))

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Blocks of outputs in parallel; the sum around the register tile."""
        s, total, final = accumulate_in_registers(schedule, "dense")
        n, o = s.loops(final)
        s = s.split(final, o, [config["vectors"], lanes(task)]).split(
            final, n, [config["tile_n"][-1]]
        )
        s = s.reorder(final, [f"{o}.0", f"{n}.0", f"{n}.1", f"{o}.1", f"{o}.2"])
        s = s.unroll(final, f"{n}.1", f"{o}.1").vectorize(final, f"{o}.2")
        s = s.compute_at(total, final, f"{n}.0", "register").parallel(final, f"{o}.0")
        n, o, k = s.loops(total)
        s = s.split(total, o, [lanes(task)]).split(total, k, [config["unroll_k"]])
        s = s.reorder(total, [f"{k}.0", f"{k}.1", n, f"{o}.0", f"{o}.1"])
        s = s.unroll(total, f"{k}.1", n, f"{o}.0").vectorize(total, f"{o}.1")
        if config["prefetch_bytes"]:
            for line in range(config["vectors"]):
                offset = config["prefetch_bytes"] + 64 * line
                s = s.prefetch(total, f"{k}.1", "weight", offset)
        return s


make = DensePacked
