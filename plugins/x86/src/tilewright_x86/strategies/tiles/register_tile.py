"""A tile of the output in registers while a sum, a maximum or a product over windows goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright_tensor.ir.tensor_instruction import TensorInstruction
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused, inlined_behind


@dataclass(frozen=True, slots=True)
class RegisterTile:
    """Rows times columns of an NC[D]HW output, times `vectors` vectors of `width` channels."""

    rows: int
    columns: int
    vectors: int
    width: int

    def stored(
        self, schedule: Schedule, total: str, final: str, *, rows_outermost: bool = False
    ) -> Schedule:
        """`final` stores tile by tile and holds `total` in registers meanwhile.

        Images, channels and rows of tiles are one parallel loop, channels outermost unless
        `rows_outermost`. Rows of tiles of which the last is lower stay a loop of their own inside,
        so that it can be peeled.
        """
        n, c, *depth, h, w = schedule.loops(final)
        *_, height, _ = schedule.dag.outputs[0].shape
        s = schedule.split(final, c, [self.vectors, self.width])
        s = s.split(final, h, [self.rows]).split(final, w, [self.columns])
        rows = [*depth, f"{h}.0"]
        around = [n, *([*rows, f"{c}.0"] if rows_outermost else [f"{c}.0", *rows])]
        inside = [f"{h}.1", f"{w}.1", f"{c}.1"]
        if height % self.rows:
            around.remove(f"{h}.0")
            columns = [f"{h}.0", f"{w}.0"]
        else:
            columns = [f"{w}.0"]
        s = s.reorder(final, [*around, *columns, *inside, f"{c}.2"]).unroll(final, *inside)
        s = s.vectorize(final, f"{c}.2").compute_at(total, final, f"{w}.0", "register")
        s, one = fused(s, final, around)
        return s.parallel(final, one)

    def accumulated(
        self,
        schedule: Schedule,
        total: str,
        terms: Sequence[str],
        unrolled: Sequence[str],
        dot: tuple[str, TensorInstruction] | None = None,
    ) -> Schedule:
        """`total` adds term by term to the whole tile: the loops over terms, some of them unrolled,
        are around it.

        `dot`: the terms of one more loop are added by an instruction, to a vector of channels. The
        last vector is whole in the filters, padded with zeros.
        """
        n, c, *places = schedule.loops(total)[: len(schedule.dag.outputs[0].shape)]
        s = schedule.split(total, c, [self.width])
        inside = [n, *places, f"{c}.0"]
        s = s.reorder(total, [*terms, *inside, f"{c}.1", *([dot[0]] if dot else [])])
        s = s.unroll(total, *unrolled, *inside).vectorize(total, f"{c}.1")
        if dot is None:
            return s
        loop, instruction = dot
        s = s.overhang(total, c).unroll(total, loop)
        return s.tensorize(total, f"{c}.1", instruction)


def accumulate_in_registers(schedule: Schedule, anchor: str) -> tuple[Schedule, str, str]:
    """(schedule, accumulating stage, final stage): the anchor's sum is apart from what is stored.

    With an epilogue, whose inner steps are inlined, its last stage stores; without one, a copy
    does.
    """
    final = schedule.dag.outputs[0].name
    if final == anchor:
        return schedule.cache_write(anchor, "register"), f"{anchor}.register", final
    return inlined_behind(schedule, anchor), anchor, final
