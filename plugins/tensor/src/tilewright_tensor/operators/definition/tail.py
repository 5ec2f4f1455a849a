"""Where an epilogue may round: an answer at a half may then be either neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright_tensor.expressions.dtype import is_float, is_whole

if TYPE_CHECKING:
    from tilewright.vocabulary.workload import TensorSpec
    from tilewright_tensor.operators.definition.operator_def import OperatorDef


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of an epilogue up to a step, as far as rounding goes.

    Behind sums of floats, a rounding to whole numbers is a jump: a right answer may be one unit
    off. So that this is little, and stays one unit, an epilogue scales, rounds and clips in this
    order, as networks of bytes do: multiply or divide, add, round, add, clip, cast.

    scale     number of the input that the running value was multiplied with or divided by, with
              nothing but additions and clips since; None where there is none
    divides   whether the scale is a divisor
    rounded   whether floats were rounded to whole numbers
    """

    scale: int | None = None
    divides: bool = False
    rounded: bool = False

    @classmethod
    def of_anchor(
        cls, definition: OperatorDef, inputs: Sequence[TensorSpec], output: TensorSpec
    ) -> Tail:
        """Behind an anchor; what rounds its operands themselves is exact."""
        if not definition.elementwise or definition.rounds:
            return cls()
        return cls().after(definition, 0, range(1, len(inputs)), inputs[0], output)

    def after(
        self,
        definition: OperatorDef,
        position: int,
        operands: Sequence[int],
        running: TensorSpec,
        result: TensorSpec,
    ) -> Tail:
        """Behind one more step, which makes `result` of the running value and numbered inputs.

        Raises ValueError where it rounds without a scale, or no unit stays one behind a rounding.
        """
        if definition.rounds:
            if result.dtype == "bool":
                raise ValueError("makes bool of a computed value, which jumps at 0")
            if is_float(running.dtype) and (result == running or is_whole(result.dtype)):
                if self.scale is None and not self.rounded:
                    raise ValueError("rounds a value that no step before it scales")
                return Tail(self.scale, self.divides, rounded=True)
            if self.rounded:
                raise ValueError("does not keep a unit of what was rounded")
            return Tail()
        if self.rounded and not definition.contracts:
            raise ValueError("does not keep a unit of what was rounded")
        if definition.contracts:
            return self
        if definition.operand(position).linear is None or len(operands) != 1:
            return Tail()
        other = definition.operand(1 - position)
        return Tail(operands[0], divides=other.linear is None)
