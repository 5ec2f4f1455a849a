"""Dense layers and matrix products by tensor cores, `mma.sync`: sums in float32, of bytes in int32.

A block copies tiles of both operands to shared memory, as the instruction has them; each of its
warps has a rectangle of fragments. With two tiles there, the next one is loaded into registers
before the products of the present one, and rounded and stored behind them. The sums pass through
shared memory on their way to the epilogue.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_cuda.instructions.mma import COLUMNS, PRODUCTS, ROWS
from tilewright_cuda.program.arch import arch_of
from tilewright_cuda.strategies.gemm import Gemm
from tilewright_cuda.strategies.tiles.tile import fits_grid
from tilewright_cuda.text.launch_shape import WARP
from tilewright_tensor.algorithms.matrix_product import MatrixProduct, Padded
from tilewright_tensor.expressions.dtype import ITEM_BYTES
from tilewright_tensor.ir.tensor_instruction import TensorInstruction
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused

_FIRST = 8, 0
"""Compute capability of the first GPUs that have the instructions."""
_ROW_PADDING = 16
"""Bytes between rows in shared memory: those that a warp reads at once lie in other banks."""
_SUMS_ALIGNED = 16, 4
"""How far apart rows of sums lie there: a multiple of half the banks and so many more."""
_WARP_SUMS = 4096
"""At most: more of them leave no registers for the factors."""
_FETCHED = 64
"""Elements, at most, that a thread fetches ahead."""
_VECTOR = 4
"""Elements that a thread copies together."""


class GemmMma(Gemm):
    """Products of float32 matrices, rounded on their way to shared memory.

    rounded   what to, as the instruction has both operands
    """

    rounded: str

    def applies(self, task: Task) -> bool:
        """As `gemm`, on GPUs with the instruction."""
        return _has_instructions(task) and super().applies(task)

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """The tile of a block, its steps through the depth, and how warps share it."""
        arch, knobs = arch_of(task.target), Knobs(self.name)
        bm = knobs.define_knob("bm", [16, 32, 64, 128, 256])
        bn = knobs.define_knob("bn", [16, 32, 64, 128, 256])
        left, right = self._operands(task)
        terms = _terms(PRODUCTS[left, right])
        bk = knobs.define_knob("bk", [terms, 2 * terms])
        down = knobs.define_knob("warps_m", [1, 2, 4])
        across = knobs.define_knob("warps_n", [1, 2, 4])
        rows, columns = down * ROWS, across * COLUMNS
        knobs.constrain((bm % rows == 0) & (bn % columns == 0))
        knobs.constrain(bm * bn <= _WARP_SUMS * down * across)
        stages = knobs.define_knob("stages", [1, 2])
        knobs.constrain((stages == 1) | ((bm + bn) * bk <= _FETCHED * WARP * down * across))
        item = ITEM_BYTES[left]
        factors = stages * item * (bm + bn) * (bk + _ROW_PADDING // item)
        knobs.constrain(factors + 4 * bm * (bn + _SUMS_ALIGNED[1]) <= arch.shared_per_block)
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """Four warps on a tile of 64 by 64."""
        bk = _terms(PRODUCTS[self._operands(task)])
        values = {"bm": 64, "bn": 64, "bk": bk, "warps_m": 2, "warps_n": 2, "stages": 2}
        return ConfigEntity(self.name, values)

    def adopt_config(self, task: Task, foreign: ConfigEntity) -> ConfigEntity | None:
        """None: AutoTVM's templates of tensor cores tile otherwise."""
        return None

    def variant(self, task: Task, config: ConfigEntity) -> Padded:
        """Extents in whole tiles."""
        return self._product(task).padded(config["bm"], config["bn"], config["bk"])

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Blocks around tiles, warps around fragments, steps of the depth around copies."""
        operands, product, s = self._operands(task), self._product(task), schedule
        instruction = PRODUCTS[operands]
        assert instruction.stores is not None
        down, across = config["warps_m"], config["warps_n"]
        final, sums = s.dag.outputs[0].name, "product.shared"
        s = s.cache_read("product", "shared", [final])
        s, place = self._blocks(s, final, product, config)
        s = s.compute_at(sums, final, place, "shared").storage_align(sums, *_SUMS_ALIGNED)

        b, m, n = s.loops(sums)
        s = s.overhang(sums, m).overhang(sums, n)  # every warp has its part, at the edges too
        s = s.split(sums, m, [down, config["bm"] // (down * ROWS), ROWS])
        s = s.split(sums, n, [across, config["bn"] // (across * COLUMNS), COLUMNS])
        around = [b, f"{m}.0", f"{n}.0", f"{m}.1", f"{n}.1", f"{m}.2", f"{n}.2"]
        s = s.reorder(sums, [*around, f"{m}.3", f"{n}.3"]).unroll(sums, f"{m}.2", f"{n}.2")
        s, warp = fused(s, sums, [f"{m}.1", f"{n}.1"])
        s = s.bind(sums, warp, "threadIdx.y").tensorize(sums, f"{m}.3", instruction.stores)
        s = s.compute_at("product", sums, warp, "fragment")

        b, m, n, k = s.loops("product")
        s = s.split("product", m, [ROWS]).split("product", n, [COLUMNS])
        terms = _terms(instruction)
        s = s.split("product", k, [config["bk"] // terms, terms])
        inside = [f"{m}.1", f"{n}.1", f"{k}.2"]
        s = s.reorder("product", [b, f"{k}.0", f"{k}.1", f"{m}.0", f"{n}.0", *inside])
        s = s.unroll("product", f"{k}.1", f"{m}.0", f"{n}.0")
        s = s.tensorize("product", f"{m}.1", instruction)
        along = product.left_along_depth, product.right_along_depth
        for name, dtype, along_depth in zip(("left", "right"), operands, along, strict=True):
            s = s.compute_at(name, "product", f"{k}.0", "shared")
            s = s.transform_layout(name, f"ACB:{dtype}")
            s = s.storage_align(name, terms, _ROW_PADDING // ITEM_BYTES[dtype])
            s = self._copied(s, name, down * across, along_depth=along_depth)
        return s.pipeline("product", f"{k}.0", config["stages"]) if config["stages"] > 1 else s

    def _operands(self, task: Task) -> tuple[str, str]:
        """Data types of both, as the instruction has them."""
        return self.rounded, self.rounded

    def _blocks(
        self, s: Schedule, final: str, product: MatrixProduct, config: ConfigEntity
    ) -> tuple[Schedule, str]:
        """(schedule, the block's loop): blocks around tiles of the output, threads inside."""
        axes = s.loops(final)
        groups = (product.batch_axes, product.row_axes, product.column_axes)
        names = [[axes[axis] for axis in group] for group in groups if group]
        s = s.reorder(final, [name for group in names for name in group])
        loops = []
        for group in names:
            s, one = fused(s, final, group)
            loops.append(one)
        *batch, m, n = loops
        s = s.split(final, m, [config["bm"]]).split(final, n, [config["bn"]])
        s = s.reorder(final, [*batch, f"{m}.0", f"{n}.0", f"{m}.1", f"{n}.1"])
        s = s.bind(final, f"{m}.0", "blockIdx.x").bind(final, f"{n}.0", "blockIdx.y")
        if batch:
            s = s.bind(final, batch[0], "blockIdx.z")
        s, one = fused(s, final, [f"{m}.1", f"{n}.1"])
        return self._shared_out(s, final, one, config["warps_m"] * config["warps_n"]), f"{n}.0"

    def _copied(self, s: Schedule, stage: str, warps: int, *, along_depth: bool) -> Schedule:
        """A factor in shared memory, terms side by side; threads read what memory has together.

        Along the depth, of eight rows the first and the fifth, ... follow each other: these lie in
        different banks.
        """
        b, k, x = s.loops(stage)
        s = s.split(stage, k, [_VECTOR])
        order = [b, f"{k}.0", x]
        if along_depth:
            s = s.split(stage, x, [2, 4])
            order = [b, f"{x}.0", f"{x}.2", f"{x}.1", f"{k}.0"]
        s = s.reorder(stage, [*order, f"{k}.1"]).vectorize(stage, f"{k}.1")
        s, one = fused(s, stage, order)
        return self._shared_out(s, stage, one, warps).unroll(stage, f"{one}.0")

    def _shared_out(self, s: Schedule, stage: str, loop: str, warps: int) -> Schedule:
        """All threads of the block share the iterations of a loop."""
        s = s.split(stage, loop, [warps, WARP])
        return s.bind(stage, f"{loop}.1", "threadIdx.y").bind(stage, f"{loop}.2", "threadIdx.x")


class GemmMmaTf32(GemmMma):
    """In tf32."""

    name, rounded = "gemm_mma_tf32.cuda", "tf32"


class GemmMmaBfloat16(GemmMma):
    """In bfloat16."""

    name, rounded = "gemm_mma_bf16.cuda", "bfloat16"


class GemmMmaFloat16(GemmMma):
    """In float16."""

    name, rounded = "gemm_mma_f16.cuda", "float16"


class GemmMmaInteger(GemmMma):
    """Products of bytes, signed or not."""

    name = "gemm_mma_integer.cuda"

    def applies(self, task: Task) -> bool:
        """On GPUs with the instruction, where a grid has the blocks."""
        return _has_instructions(task) and fits_grid(self._product(task))

    def _operands(self, task: Task) -> tuple[str, str]:
        left, right = task.workload.anchor.inputs
        return left.dtype, right.dtype


tf32, bf16, f16 = GemmMmaTf32, GemmMmaBfloat16, GemmMmaFloat16
integer = GemmMmaInteger


def _has_instructions(task: Task) -> bool:
    """Whether the target's GPUs have `mma.sync` of these data types."""
    return arch_of(task.target).capability >= _FIRST


def _terms(instruction: TensorInstruction) -> int:
    (axis,) = instruction.meaning.reduce_axes
    return axis.extent
