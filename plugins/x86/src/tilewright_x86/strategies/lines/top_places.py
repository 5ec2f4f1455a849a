"""Places of the largest or smallest elements of a line, which keeps the best so far."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.expressions.affine import Affine, Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.dtype import DATA_TYPES, is_float
from tilewright_tensor.expressions.expr import Load, Value, cast, ne, select
from tilewright_tensor.ir.loop_ir import Loop, LoopProgram, Store
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.strategies.scheduled_implementation import logical_layouts
from tilewright_x86.strategies.lines.pool import Pool
from tilewright_x86.strategies.lines.sorted_list import SortedList
from tilewright_x86.strategies.tiles.places import unravelled
from tilewright_x86.strategies.tiles.vector_blocks import lanes

_MOST = 4096
"""Elements that are kept, so that a pool of them stays in the second-level cache."""
_FEW = 32
"""So many are inserted into a list one by one in less time than a pool is sorted."""


class TopPlaces:
    """`top_places` without an epilogue; there are no knobs."""

    name = "top_places.x86"

    def __init__(self, operators: Operators) -> None:
        self.operators = operators

    def applies(self, task: Task) -> bool:
        """Numbers of any kind, of which few enough are kept."""
        return task.workload.attributes["count"] <= _MOST and not task.workload.epilogue

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """One."""
        return [Knobs(self.name).alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """The only config."""
        return ConfigEntity(self.name)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Logical."""
        return logical_layouts(task, len(task.workload.inputs[0].shape))

    def lower(self, task: Task, config: ConfigEntity) -> LoopProgram:
        """Lines in parallel, each with a list or pool of its own."""
        (spec,), attributes = task.workload.inputs, task.workload.attributes
        output = self.operators.output(task.workload)
        axis, largest = attributes["axis"] % len(spec.shape), attributes["largest"]
        line, around = Var("line"), (*spec.shape[:axis], *spec.shape[axis + 1 :])
        others = unravelled(index(line), around, {line: (0, prod(around) - 1)})
        data = Buffer("data", spec.shape, spec.dtype)
        result = Buffer("top_places", output.shape, output.dtype)

        def indices(place: Affine) -> tuple[Affine, ...]:
            return (*others[:axis], place, *others[axis:])

        def element(place: Affine) -> Value:
            one = cast(Load(data, indices(place)), dtype)
            return select(ne(one, one), best.limit(best=True), one) if is_float(dtype) else one

        dtype = DATA_TYPES[spec.dtype].accumulator if is_float(spec.dtype) else spec.dtype
        kept = SortedList if attributes["count"] <= _FEW else Pool
        best = kept(spec.shape[axis], output.shape[axis], dtype, lanes(task), largest=largest)
        number = Var("number")
        to = indices(index(number))
        stored = Store(result, to, cast(best.place(index(number)), output.dtype))
        body = best.within([best.found(element), Loop(number, best.count, "vectorized", stored)])
        lines = Loop(line, prod(around), "parallel", body)
        return LoopProgram(f"top_places_{task.workload.key}", (data,), (result,), lines)


make = TopPlaces
