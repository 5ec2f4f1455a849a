"""Core's `Reference` of an operator: expected answers and counts, without any schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from tilewright.errors import UsageError
from tilewright.vocabulary.workload import Workload
from tilewright_tensor.expressions.dtype import DATA_TYPES, ITEM_BYTES, is_float, numpy_type
from tilewright_tensor.ir.dag import terms_per_element
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.operators.definition.operator_def import Operand, OperatorDef
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.operators.text_form import format_workload, parse_workload
from tilewright_tensor.operators.trials.answer_rounding import Rounding, rounding

if TYPE_CHECKING:
    from tilewright_tensor.evaluation.least_work import LeastWork
    from tilewright_tensor.layouts.constant_transform import Array


_FEW_ELEMENTS, _DRAWS = 16, 8
_EXACT = Rounding(0.0)
"""Of a program, which is to round as its reference does."""
_ROUNDED_UP_TO = 100.0
"""Fits int8."""


class OperatorReference:
    """Core's `Reference` for one operator definition; the others are needed for its epilogues."""

    def __init__(self, operator: str, operators: Operators) -> None:
        self.operator = operator
        self.operators = operators

    @classmethod
    def of(cls, operators: Operators) -> tuple[OperatorReference, ...]:
        """One a definition; any element-wise one may follow any other as epilogue."""
        return tuple(cls(name, operators) for name in operators)

    @property
    def definition(self) -> OperatorDef:
        """The operator's definition."""
        return self.operators[self.operator]

    def inputs(self, workload: Workload, seed: int, precision: str = "float32") -> list[Array]:
        """Seeded finite random inputs in logical layout, under which a wrong answer is seen.

        As `Operand.values` wants them; all are positive where an epilogue takes nothing else, which
        makes the running value so but for differences. Of long sums, most terms are 0: see
        `rounding`. The few elements of a small answer may cancel by chance, and an epilogue may
        leave nothing of them: of several draws, that with the largest answer is taken. float32 is
        rounded to the precision: the answer to such inputs is as exact as that of float32.
        """
        import numpy as np

        from tilewright_tensor.operators.trials.drawn_inputs import draw_inputs, rounded_to

        operands = self._drawn_as(workload)
        if self.definition.program is not None:
            return draw_inputs(workload.inputs, operands, _EXACT, [seed])
        dag = self.operators.compute_dag(workload)
        output = dag.outputs[0]
        made = rounding(dag, [one.values for one in operands])

        def drawn(*seeds: int) -> list[Array]:
            arrays = draw_inputs(workload.inputs, operands, made, seeds)
            return [rounded_to(array, precision) for array in arrays]

        first = self._scaled(workload, drawn(seed))
        sums = any(is_float(t.dtype) and terms_per_element(t) > 1 for t in dag.computes)
        if not sums or not is_float(output.dtype) or prod(output.shape) > _FEW_ELEMENTS:
            return first

        def largest(inputs: Sequence[Array]) -> float:
            (answer,) = self.outputs(workload, inputs)
            return float(np.abs(answer[np.isfinite(answer)]).max(initial=0.0))

        return max([first, *(drawn(seed, n) for n in range(1, _DRAWS))], key=largest)

    def outputs(self, workload: Workload, inputs: Sequence[Array]) -> list[Array]:
        """Expected outputs in logical layout: all in float64, the epilogue too, cast at the end.

        Raises UsageError where a numpy reference disagrees with the compute DAG.
        """
        import numpy as np

        anchor = workload.anchor
        running = self._applied(anchor, inputs[: len(anchor.inputs)])
        spec = self.operators.output(anchor)
        for op in workload.epilogue:
            arrays = [inputs[i] for i in op.operands]
            arrays.insert(op.position, running)
            specs = [workload.inputs[i] for i in op.operands]
            specs.insert(op.position, spec)
            step = Workload(op.operator, tuple(specs), op.attributes)
            running, spec = self._applied(step, arrays), self.operators.output(step)
        return [np.asarray(running, numpy_type(spec.dtype), order="C")]

    def output_shapes(self, workload: Workload) -> list[tuple[tuple[int, ...], str]]:
        """(shape, dtype) of the one output."""
        output = self.operators.output(workload)
        return [(output.shape, output.dtype)]

    def tolerance(self, workload: Workload, precision: str = "float32") -> float:
        """Largest max|a-b| / max|b| of a right answer: see `rounding`.

        Inputs have no more digits than the precision; the answer may be stored in it.
        """
        if self.definition.program is not None:
            return _EXACT.tolerance
        drawn = [operand.values for operand in self._drawn_as(workload)]
        before = self._unrounded(workload)
        dag = self.operators.compute_dag(before)
        own, computed = self.operators.output(before).dtype, dag.outputs[0].dtype
        narrow = ITEM_BYTES[precision] < ITEM_BYTES["float32"]
        stored = DATA_TYPES[precision].eps / 2 if narrow else 0.0
        # of the task's own dtype, the expected answer is rounded as well
        stored = max(stored, DATA_TYPES[own].eps if own != computed else 0.0)
        return rounding(dag, drawn[: len(before.inputs)]).tolerance + stored

    def rounding_unit(self, workload: Workload) -> float:
        """1 where floats are rounded to whole numbers on their way: it may be the neighbour."""
        return float(self.operators.ended(workload)[1].rounded)

    def operations(self, workload: Workload) -> int:
        """Floating-point operations of the compute DAG, a multiply-add counting two.

        0 of a program: values decide how many there are.
        """
        if self.definition.program is not None:
            return 0
        count = self.operators.compute_dag(workload).operation_count
        if self.definition.operations is None:
            return count
        anchor = workload.anchor
        attributes = self.definition.complete(anchor.attributes)
        own = self.definition.operations(anchor.inputs, attributes)
        return own + count - self.operators.compute_dag(anchor).operation_count

    def bytes(self, workload: Workload) -> int:
        """Bytes of all operands and the output, each once."""
        every = (*workload.inputs, self.operators.output(workload))
        return sum(prod(spec.shape) * ITEM_BYTES[spec.dtype] for spec in every)

    def least_operations(self, workload: Workload) -> int:
        """Of sums of products, without the terms that padding makes zero; 0: nothing is certain."""
        return 0 if self.definition.program is not None else self._least_work(workload).operations

    def least_reads(self, workload: Workload) -> list[int]:
        """Bytes of each input that every kernel reads; 0 where nothing is certain."""
        if self.definition.program is not None:
            return [0] * len(workload.inputs)
        reads = self._least_work(workload).reads
        return [elements * ITEM_BYTES[tensor.dtype] for tensor, elements in reads.items()]

    def _least_work(self, workload: Workload) -> LeastWork:
        from tilewright_tensor.evaluation.least_work import least_work

        return least_work(self.operators.compute_dag(workload))

    def pack(self, array: Array, layout: str) -> Array:
        """A logical array rearranged into a layout; partly filled blocks end in zeros."""
        return Layout.parse(layout).pack(array)

    def unpack(self, array: Array, layout: str, shape: tuple[int, ...]) -> Array:
        """The inverse of `pack`; elements are as they are stored."""
        return Layout.parse(layout).unpack(array, shape)

    def parse(self, arguments: str, where: str) -> Workload:
        """The workload of a text form from its first parenthesis to its end. Raises UsageError."""
        return parse_workload(self.operators, f"{self.operator}{arguments}", where)

    def format(self, workload: Workload) -> str:
        """Text form, `operator(arguments) + operator(arguments)`."""
        return format_workload(self.operators, workload)

    def checked(self, workload: Workload, where: str) -> Workload:
        """A hand-written one, with complete attributes. Raises UsageError."""
        made = self.operators.workload(
            workload.operator, workload.inputs, workload.attributes, workload.epilogue, where
        )
        if workload.definitions and workload.definitions != made.definitions:
            raise UsageError(
                f"{self.format(made)}: the definition of an operator has changed since",
                where=where,
                remedy="name the task by its text: it has another key now, and no record",
            )
        return made

    def _applied(self, workload: Workload, arrays: Sequence[Array]) -> Array:
        result = self.operators.evaluate(workload, arrays)
        definition = self.operators[workload.operator]
        if definition.reference is not None and definition.program is None:
            from tilewright_tensor.operators.trials.spot_check import spot_check

            spot_check(self.operators.compute_dag(workload), arrays, result)
        return result

    def _unrounded(self, workload: Workload) -> Workload:
        """The workload up to the step that rounds to whole numbers; all of it where none does."""
        before = workload.anchor
        for op in workload.epilogue:
            inputs = workload.inputs[: len(before.inputs) + len(op.operands)]
            after = replace(before, inputs=inputs, epilogue=(*before.epilogue, op))
            if self.operators.ended(after)[1].rounded:
                break
            before = after
        return before

    def _scaled(self, workload: Workload, inputs: list[Array]) -> list[Array]:
        """The inputs, the scale such that what is rounded to whole numbers goes up to 100.

        A right answer may be one unit off, which has to be little.
        """
        import numpy as np

        _, tail = self.operators.ended(workload)
        if not tail.rounded:
            return inputs
        assert tail.scale is not None
        before = self._unrounded(workload)
        (answer,) = self.outputs(before, inputs[: len(before.inputs)])
        factor = _ROUNDED_UP_TO / (float(np.abs(answer).max(initial=0.0)) or 1.0)
        scale = inputs[tail.scale]
        made = scale / factor if tail.divides else scale * factor
        return [*inputs[: tail.scale], made.astype(scale.dtype), *inputs[tail.scale + 1 :]]

    def _drawn_as(self, workload: Workload) -> list[Operand]:
        """The operands, positive where an epilogue takes nothing else."""
        operands = self._operands(workload)
        if not any(
            self.operators.find(op.operator).operand(op.position).values == "positive"
            for op in workload.epilogue
        ):
            return operands
        return [
            operand if operand.values == "exponent" else replace(operand, values="positive")
            for operand in operands
        ]

    def _operands(self, workload: Workload) -> list[Operand]:
        operands = [self.definition.operand(i) for i in range(len(workload.anchor.inputs))]
        for op in workload.epilogue:
            definition = self.operators.find(op.operator)
            arguments = [i for i in range(len(op.operands) + 1) if i != op.position]
            operands += [definition.operand(i) for i in arguments]
        return operands
