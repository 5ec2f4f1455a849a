"""What is known of an operator apart from any schedule, as core asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod, sqrt
from typing import TYPE_CHECKING

from tilewright.errors import UsageError
from tilewright.workload import TensorSpec, Workload
from tilewright_tensor.dag import terms_per_element
from tilewright_tensor.layout import Layout
from tilewright_tensor.operators.operator_def import Operand, OperatorDef
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.operators.text_form import format_workload, parse_workload

if TYPE_CHECKING:
    import numpy as np

    from tilewright_tensor.layout import Array


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

    def inputs(self, workload: Workload, seed: int) -> list[Array]:
        """Seeded finite random inputs in logical layout, as `Operand.values` wants them.

        All are positive where an epilogue takes nothing else, which makes the running value so but
        for differences.
        """
        import numpy as np

        operands = self._operands(workload)
        if any(
            self.operators.find(op.operator).operand(op.position).values == "positive"
            for op in workload.epilogue
        ):
            operands = [
                operand if operand.values == "exponent" else replace(operand, values="positive")
                for operand in operands
            ]
        return [
            _random(spec, operand, np.random.default_rng((seed, position)))
            for position, (spec, operand) in enumerate(zip(workload.inputs, operands, strict=True))
        ]

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
        return [np.asarray(running, spec.dtype, order="C")]

    def output_shapes(self, workload: Workload) -> list[tuple[tuple[int, ...], str]]:
        """(shape, dtype) of the one output."""
        output = self.operators.output(workload)
        return [(output.shape, output.dtype)]

    def tolerance(self, workload: Workload) -> float:
        """Largest max|a-b| / max|b| of a right answer: max(64, 16 sqrt(terms of a sum)) epsilons.

        Rounding errors of a sum, in whatever order, grow with the root of its length; 64 epsilons
        leave room for functions that targets approximate. The coarsest dtype on the way counts:
        what is cast to float16 and back has float16's epsilon. Integers must agree exactly.
        """
        import numpy as np

        dag = self.operators.compute_dag(workload)
        if np.dtype(dag.outputs[0].dtype).kind != "f":
            return 0.0
        floats = {stage.dtype for stage in dag.computes if np.dtype(stage.dtype).kind == "f"}
        coarsest = max(float(np.finfo(dtype).eps) for dtype in floats)
        terms = max(map(terms_per_element, dag.computes))
        return coarsest * max(64.0, 16.0 * sqrt(terms))

    def operations(self, workload: Workload) -> int:
        """Floating-point operations of the compute DAG, a multiply-add counting two."""
        return self.operators.compute_dag(workload).operation_count

    def bytes(self, workload: Workload) -> int:
        """Bytes of all operands and the output, each once."""
        import numpy as np

        every = (*workload.inputs, self.operators.output(workload))
        return sum(prod(spec.shape) * np.dtype(spec.dtype).itemsize for spec in every)

    def pack(self, array: Array, layout: str) -> Array:
        """A logical array rearranged into a layout; partly filled blocks end in zeros."""
        return Layout.parse(layout).pack(array)

    def unpack(self, array: Array, layout: str, shape: tuple[int, ...]) -> Array:
        """The inverse of `pack`."""
        return Layout.parse(layout).unpack(array, shape)

    def parse(self, arguments: str, where: str) -> Workload:
        """The workload of a text form from its first parenthesis to its end. Raises UsageError."""
        return parse_workload(self.operators, f"{self.operator}{arguments}", where)

    def format(self, workload: Workload) -> str:
        """Text form, `operator(arguments) + operator(arguments)`."""
        return format_workload(self.operators, workload)

    def checked(self, workload: Workload, where: str) -> Workload:
        """One that somebody wrote by hand, its attributes complete. Raises UsageError."""
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
        if self.operators[workload.operator].reference is not None:
            from tilewright_tensor.operators.spot_check import spot_check

            spot_check(self.operators.compute_dag(workload), arrays, result)
        return result

    def _operands(self, workload: Workload) -> list[Operand]:
        operands = [self.definition.operand(i) for i in range(len(workload.anchor.inputs))]
        for op in workload.epilogue:
            definition = self.operators.find(op.operator)
            arguments = [i for i in range(len(op.operands) + 1) if i != op.position]
            operands += [definition.operand(i) for i in arguments]
        return operands


def _random(spec: TensorSpec, operand: Operand, rng: np.random.Generator) -> Array:
    import numpy as np

    dtype = np.dtype(spec.dtype)
    if dtype.kind != "f":
        low = 1 if operand.values == "positive" else 0 if dtype.kind in "ub" else -7
        return rng.integers(low, 2 if dtype.kind == "b" else 8, spec.shape).astype(dtype)
    if operand.values == "exponent":
        return rng.integers(1, 4, spec.shape).astype(dtype)
    if operand.values == "positive":
        return rng.uniform(0.5, 1.5, spec.shape).astype(dtype)
    scale = 1 / sqrt(prod(spec.shape[1:])) if operand.values == "weight" else 1.0
    return rng.uniform(-scale, scale, spec.shape).astype(dtype)
