"""Matrix products by instructions that add dot products of 4 bytes to every lane.

Rows times vectors of columns stay in registers over the sum, as in `dense_packed`: a group of terms
of a row is broadcast and multiplied with the groups of a vector of columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.ir.tensor_instruction import TensorInstruction
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.strategies.scheduled_implementation import ScheduledImplementation
from tilewright_x86.instructions.dot_products import VDPBF16PS, VPDPBUSD
from tilewright_x86.machine.isa import isa_of
from tilewright_x86.strategies.tiles.instructed_product import Product
from tilewright_x86.strategies.tiles.register_tile import accumulate_in_registers
from tilewright_x86.strategies.tiles.vector_blocks import lanes, largest_divisor, registers

_DOTS = {("bfloat16", "bfloat16"): VDPBF16PS, ("uint8", "int8"): VPDPBUSD}


class ProductsOfDots(ScheduledImplementation):
    """Products of unsigned by signed bytes; knobs choose the register tile."""

    name = "products_of_dots.x86"

    def applies(self, task: Task) -> bool:
        """Where there is an instruction for the operands' data types."""
        dot = _instruction(task)
        return dot is not None and dot.feature in isa_of(task.target).features

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """The register tile, unrolling of the sum, the order of the loops around, formats."""
        product, knobs = Product.of(task), Knobs(self.name)
        widest = -(-product.columns // lanes(task))
        vectors = knobs.define_knob("vectors", [n for n in (1, 2, 3, 4, 6) if n <= widest])
        rows = knobs.define_split("tile_rows", product.rows, num_outputs=2, max_factor=28)
        groups = -(-product.terms // product.group)
        knobs.define_knob("unroll_k", [n for n in (1, 2, 4) if groups % n == 0])
        knobs.define_knob("outer", ["rows", "columns"])
        product.define_formats(task, knobs)
        knobs.constrain(rows[-1] * vectors + vectors + 1 <= registers(task) - 1)
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """Four vectors, two where registers are few, and the most rows that fit."""
        product = Product.of(task)
        rows, widest = product.rows, -(-product.columns // lanes(task))
        vectors = largest_divisor(4 if registers(task) == 32 else 2, widest)
        tile = largest_divisor(rows, (registers(task) - 2 - vectors) // vectors)
        return ConfigEntity(
            self.name,
            {
                "vectors": vectors,
                "tile_rows": (rows // tile, tile),
                "unroll_k": 1,
                "outer": "columns",
                **product.usual_formats(task),
            },
        )

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Terms in groups of 4 bytes; the second operand in the order in which it is read."""
        product = Product.of(task)
        columns = config["vectors"] * lanes(task)
        right = f"{columns}n{product.group}k"
        output = self.operators.output(task.workload).dtype
        return product.layouts(task, config, f"{product.group}k", right, output)

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Blocks of sums in parallel; the sum around the register tile."""
        product, dot = Product.of(task), _instruction(task)
        assert dot is not None
        s, total, final = accumulate_in_registers(schedule, task.workload.operator)
        *batch, m, n = s.loops(final)
        s = s.split(final, m, [config["tile_rows"][-1]])
        s = s.split(final, n, [config["vectors"], lanes(task)])
        order = [f"{m}.0", f"{n}.0"] if config["outer"] == "rows" else [f"{n}.0", f"{m}.0"]
        s = s.reorder(final, [*batch, *order, f"{m}.1", f"{n}.1", f"{n}.2"])
        s = s.unroll(final, f"{m}.1", f"{n}.1").vectorize(final, f"{n}.2")
        s, one = fused(s, final, [*batch, *order])
        s = s.compute_at(total, final, one, "register").parallel(final, one)

        *batch, m, n, k = s.loops(total)
        s = s.overhang(total, n).overhang(total, k)
        s = s.split(total, n, [lanes(task)]).split(total, k, [config["unroll_k"], product.group])
        inside = [m, f"{n}.0", f"{n}.1", f"{k}.2"]
        s = s.reorder(total, [*batch, f"{k}.0", f"{k}.1", *inside])
        s = s.unroll(total, f"{k}.1", m, f"{n}.0", f"{k}.2").vectorize(total, f"{n}.1")
        return s.tensorize(total, f"{n}.1", dot)


def _instruction(task: Task) -> TensorInstruction | None:
    dots = _DOTS.get(Product.of(task).dtypes, {})
    return dots.get(lanes(task))


class ProductsOfDotsBfloat16(ProductsOfDots):
    """Products of float32 matrices, rounded to bfloat16."""

    name = "products_of_dots_bf16.x86"


make, products_of_dots = ProductsOfDots, ProductsOfDotsBfloat16
