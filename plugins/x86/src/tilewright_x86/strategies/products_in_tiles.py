"""Matrix products by AMX: 16 x 16 sums a tile register, up to six of them at a time.

The second operand is packed in tiles, which are read in order; the first where it is no whole
tiles, else its rows are read where they lie. The sums pass through memory of the first cache level
on their way to the epilogue.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.strategies.scheduled_implementation import ScheduledImplementation
from tilewright_x86.instructions.tiles import PRODUCTS, ROWS
from tilewright_x86.machine.isa import isa_of
from tilewright_x86.strategies.tiles.instructed_product import Product
from tilewright_x86.strategies.tiles.register_tile import accumulate_in_registers
from tilewright_x86.strategies.tiles.tile_counts import SUMS, best_counts, tile_counts


class ProductsInTiles(ScheduledImplementation):
    """Products of bytes; knobs choose the tiles of sums and which operand stays."""

    name = "products_in_tiles.x86"

    def applies(self, task: Task) -> bool:
        """Where there is AMX for the operands' data types."""
        product = PRODUCTS.get(Product.of(task).dtypes)
        return product is not None and product.feature in isa_of(task.target).features

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Tiles of sums in rows and columns, the order of the loops around them, formats."""
        product = Product.of(task)
        knobs = Knobs(self.name)
        rows = knobs.define_knob("tile_rows", tile_counts(product.rows))
        columns = knobs.define_knob("tile_columns", tile_counts(product.columns))
        knobs.define_knob("outer", ["rows", "columns"])
        product.define_formats(task, knobs)
        knobs.constrain(rows * columns <= SUMS)
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """The tiles that read least for a product."""
        product = Product.of(task)
        rows, columns = best_counts(product.rows, product.columns)
        tiles = {"tile_rows": rows, "tile_columns": columns, "outer": "rows"}
        return ConfigEntity(self.name, {**tiles, **product.usual_formats(task)})

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Tiles of 1 KiB, padded with zeros; the first operand as it is where it is whole ones."""
        product = Product.of(task)
        terms = ROWS * product.group
        whole = product.rows % ROWS == 0 == product.terms % terms
        left = f"{product.group}k" if whole else f"{ROWS}m{terms}k"
        right = f"{ROWS}k{ROWS}n{product.group}k"
        output = self.operators.output(task.workload).dtype
        return product.layouts(task, config, left, right, output)

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Blocks of sums in parallel; tiles of terms around the instruction."""
        product = Product.of(task)
        instruction = PRODUCTS[product.dtypes]
        assert instruction.stores is not None
        s, total, final = accumulate_in_registers(schedule, task.workload.operator)
        s = s.cache_read(total, "local", [final])
        tiles = f"{total}.local"

        *batch, m, n = s.loops(final)
        s = s.split(final, m, [ROWS * config["tile_rows"]])
        s = s.split(final, n, [config["tile_columns"], ROWS])
        order = [f"{m}.0", f"{n}.0"] if config["outer"] == "rows" else [f"{n}.0", f"{m}.0"]
        s = s.reorder(final, [*batch, *order, f"{m}.1", f"{n}.1", f"{n}.2"])
        s = s.vectorize(final, f"{n}.2")
        s, one = fused(s, final, [*batch, *order])
        s = s.compute_at(tiles, final, one, "local").compute_at(total, final, one, "fragment")

        *_, m, n = s.loops(tiles)
        s = s.overhang(tiles, m).overhang(tiles, n)
        s = s.split(tiles, m, [ROWS]).split(tiles, n, [ROWS])
        s = s.reorder(tiles, [f"{m}.0", f"{n}.0", f"{m}.1", f"{n}.1"])
        s = s.unroll(tiles, f"{m}.0", f"{n}.0")
        s = s.tensorize(tiles, f"{m}.1", instruction.stores)

        *batch, m, n, k = s.loops(total)
        s = s.overhang(total, m).overhang(total, n).overhang(total, k)
        s = s.split(total, m, [ROWS]).split(total, n, [ROWS]).split(total, k, [ROWS, product.group])
        inside = [f"{m}.1", f"{n}.1", f"{k}.1", f"{k}.2"]
        s = s.reorder(total, [*batch, f"{k}.0", f"{m}.0", f"{n}.0", *inside])
        s = s.unroll(total, f"{m}.0", f"{n}.0")
        return s.tensorize(total, f"{m}.1", instruction).parallel(final, one)


class ProductsInTilesBfloat16(ProductsInTiles):
    """Products of float32 matrices, rounded to bfloat16."""

    name = "products_in_tiles_bf16.x86"


make, products_in_tiles = ProductsInTiles, ProductsInTilesBfloat16
