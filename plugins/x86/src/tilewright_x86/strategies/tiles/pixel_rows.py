"""From pixels in one sequence back to the rows of the operands."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright_tensor.expressions.affine import Affine, floor_div, mod
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Load, Value
from tilewright_tensor.ir.facts import Condition
from tilewright_tensor.ir.loop_ir import (
    Loop,
    LoopProgram,
    Statement,
    Store,
    changed_leaves,
    guarded,
    walk,
)
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.lowering.program_pass import ProgramPass


@dataclass(frozen=True, slots=True)
class PixelRows:
    """What a program computes as one row of pixels, as rows `pitch` pixels apart.

    height, width   of the output; pixels beyond them are dropped
    pixels          of the sequence
    """

    height: int
    width: int
    pitch: int
    pixels: int

    def restored(self, layouts: list[str], shapes: list[tuple[int, ...]]) -> ProgramPass:
        """The program on operands of these shapes and layouts, without blocks of pixels.

        The output is the last of them. The others are in one row too, or are left as they are.
        """

        def run(program: LoopProgram) -> LoopProgram:
            operands = (*program.inputs, *program.outputs)
            whole: dict[Buffer, Buffer] = {}
            axes: dict[Buffer, dict[int, int]] = {}
            for buffer, text, shape in zip(operands, layouts, shapes, strict=True):
                layout = Layout.parse(text)
                whole[buffer] = replace(buffer, shape=layout.physical_shape(shape))
                places = (layout.rank - 2, layout.rank - 1)
                axes[buffer] = {
                    places.index(dim.axis): place
                    for place, dim in enumerate(layout.dims)
                    if dim.axis in places
                }
            (output,) = program.outputs

            def leaf(value: Value) -> Value:
                if not isinstance(value, Load) or whole.get(value.buffer) in (None, value.buffer):
                    return value
                found, indices = whole[value.buffer], list(value.indices)
                pixel = indices[axes[value.buffer][1]]
                split = floor_div(pixel, self.pitch), mod(pixel, self.pitch)
                for axis, place in axes[value.buffer].items():
                    indices[place] = split[axis] if found.shape[place] > 1 else Affine()
                return Load(found, tuple(indices))

            def dropped(statement: Statement) -> Statement:
                """The innermost loop over pixels, without those that there are none of."""
                if not isinstance(statement, Loop):
                    return statement
                inside = list(walk(statement.body))
                stores = [x for x in inside if isinstance(x, Store) and x.buffer == output]
                if not stores:
                    return statement
                pixel = stores[0].indices[axes[output][1]]
                inner = {one.var for one in inside if isinstance(one, Loop)}
                own = pixel.variables()
                if statement.var not in own or not own.isdisjoint(inner):
                    return statement
                return replace(statement, body=guarded(self._conditions(pixel), statement.body))

            return replace(
                program,
                inputs=tuple(whole[buffer] for buffer in program.inputs),
                outputs=(whole[output],),
                body=changed_leaves(program.body, leaf, dropped),
            )

        return ProgramPass(f"rows of {self.width} pixels, {self.pitch} apart", run)

    def _conditions(self, pixel: Affine) -> list[Condition]:
        """Under which a pixel is one of the output."""
        found = []
        if self.pitch * self.height < self.pixels:
            found.append((pixel, self.pitch * self.height))
        if self.width < self.pitch:
            found.append((mod(pixel, self.pitch), self.width))
        return found
