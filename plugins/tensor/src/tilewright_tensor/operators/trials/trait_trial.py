"""Tries the traits of an operator's definition on random data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from tilewright_tensor.evaluation.evaluate import evaluate, widened
from tilewright_tensor.evaluation.numpy_value import Array
from tilewright_tensor.expressions.dtype import is_float
from tilewright_tensor.ir.dag import Dag, placeholder
from tilewright_tensor.operators.definition.attribute import Attributes
from tilewright_tensor.operators.definition.broadcast import check_elementwise
from tilewright_tensor.operators.definition.operator_def import Inputs, OperatorDef, joined_axis
from tilewright_tensor.operators.trials.corners import corners
from tilewright_tensor.operators.trials.drawn_inputs import random_operand

_ELEMENTS = 1 << 18
"""Operands and helping stages with more are not evaluated: that would take a good part of a second.
"""
_Parts = list[tuple[tuple[slice, ...], Array]]


class _UntrueError(Exception):
    """What the definition contradicts, as a sentence."""


def try_traits(definition: OperatorDef, inputs: Inputs, attributes: Attributes) -> str:
    """What trait the definition contradicts, for operands of these shapes; empty where none.

    Two corners of the output are computed. Nothing is said of operands too large for that, nor of
    what draws random numbers.
    """
    try:
        _try_each(definition, inputs, definition.complete(attributes))
    except _UntrueError as contradiction:
        return str(contradiction)
    return ""


def _try_each(definition: OperatorDef, inputs: Inputs, attributes: Attributes) -> None:
    trial = _Trial(definition, inputs, attributes)
    dag = trial.dag(inputs)
    if definition.elementwise:
        try:
            check_elementwise(dag.outputs[0], dag.inputs)
        except ValueError as error:
            raise _UntrueError(str(error)) from None
    if definition.random or sum(prod(spec.shape) for spec in inputs) > _ELEMENTS:
        return
    if definition.commutative:
        trial.commutes()
    if definition.view:
        trial.gives("a view", lambda data: data[0].reshape(dag.outputs[0].shape))
    if definition.slices is not None:
        ranges = definition.slices(inputs[0].shape, attributes)
        trial.gives("the slice that it says", lambda data: data[0][np.ix_(*ranges)])
    if definition.concatenates:
        axis = joined_axis([spec.shape for spec in inputs], dag.outputs[0].shape)
        trial.gives("a concatenation", lambda data: np.concatenate(data, axis))
    for position, spec in enumerate(inputs):
        floats = is_float(spec.dtype) and is_float(dag.outputs[0].dtype)
        if floats and definition.operand(position).linear is not None:
            trial.is_linear(position)


class _Trial:
    def __init__(self, definition: OperatorDef, inputs: Inputs, attributes: Attributes) -> None:
        self._definition = definition
        self._inputs = inputs
        self._attributes = attributes
        self._rng = np.random.default_rng(0)
        self._arrays = [self._drawn(position) for position in range(len(inputs))]

    def dag(self, inputs: Inputs) -> Dag:
        """What is computed of such operands. Raises ValueError for operands that do not fit."""
        operands = [
            placeholder(self._definition.operand(i).name, spec.shape, spec.dtype)
            for i, spec in enumerate(inputs)
        ]
        return Dag([self._definition.compute(operands, self._attributes)], operands)

    def commutes(self) -> None:
        """Raise _UntrueError unless exchanged operands give the same."""
        try:
            exchanged = self._parts(self._inputs[::-1], self._arrays[::-1])
        except ValueError as error:
            raise _UntrueError(f"it is not commutative: {error}") from None
        self._expect("commutative", exchanged, self._parts(self._inputs, self._arrays))

    def gives(self, trait: str, moved: Callable[[list[Array]], Array]) -> None:
        """Raise _UntrueError unless it moves its operands as numpy does."""
        shape = self.dag(self._inputs).outputs[0].shape
        try:
            wanted = moved(self._arrays)
        except (ValueError, IndexError) as error:
            raise _UntrueError(f"it is not {trait}: {error}") from None
        if wanted.shape != shape:
            told = f"{list(shape)} instead of {list(wanted.shape)}"
            raise _UntrueError(f"it is not {trait}: the output would have shape {told}")
        got = self._parts(self._inputs, self._arrays)
        self._expect(trait, got, [(place, wanted[place]) for place, _ in got])

    def is_linear(self, position: int) -> None:
        """Raise _UntrueError unless sums and factors of an operand are those of the output."""
        spec, output = self._inputs[position], self.dag(self._inputs).outputs[0]
        own_rank, rank = len(spec.shape), len(output.shape)
        operand = self._definition.operand(position)
        trait = f"linear in {operand.name}"
        for own, axis in operand.linear or ():
            if not (-own_rank <= own < own_rank and -rank <= axis < rank):
                raise _UntrueError(f"it is not {trait}: it has no axes {own} and {axis}")
        base, other = self._arrays[position], self._drawn(position)
        before, more = self._of(position, base), self._of(position, other)
        added = [(place, a + b) for (place, a), (_, b) in zip(before, more, strict=True)]
        self._expect(trait, self._of(position, base + other), added)
        factor = np.asarray(self._rng.uniform(2.0, 3.0))
        made = factor
        for own, of_output in self._definition.scaled_axes(position, own_rank, rank) or ():
            along = self._rng.uniform(0.5, 1.5, spec.shape[own])
            if not self._definition.elementwise and output.shape[of_output] != len(along):
                raise _UntrueError(
                    f"it is not {trait}: axis {own} of extent {len(along)} is not axis {of_output} "
                    f"of the output, of extent {output.shape[of_output]}"
                )
            factor = factor * _on_axis(along, own, own_rank)
            made = made * _on_axis(along, of_output, rank)
        made = np.broadcast_to(made, output.shape)
        scaled = [(place, part * made[place]) for place, part in before]
        self._expect(f"{trait} along its axes", self._of(position, base * factor), scaled)

    def _drawn(self, position: int) -> Array:
        spec, operand = self._inputs[position], self._definition.operand(position)
        return widened(random_operand(spec, operand, self._rng), spec.dtype)

    def _of(self, position: int, array: Array) -> _Parts:
        """The corners with another array as an operand."""
        arrays = [*self._arrays[:position], array, *self._arrays[position + 1 :]]
        return self._parts(self._inputs, arrays)

    def _parts(self, inputs: Inputs, arrays: Sequence[Array]) -> _Parts:
        parts = corners(self.dag(inputs), _ELEMENTS)
        return [(place, evaluate(part, arrays)[0]) for place, part in parts]

    def _expect(self, trait: str, got: _Parts, expected: _Parts) -> None:
        for (place, own), (_, wanted) in zip(got, expected, strict=True):
            same = own.shape == wanted.shape and np.allclose(
                own, wanted, rtol=1e-6, atol=1e-9, equal_nan=True
            )
            if not same:
                begin = [one.start for one in place]
                raise _UntrueError(
                    f"it is not {trait}: its definition gives something else around {begin}"
                )


def _on_axis(values: Array, axis: int, rank: int) -> Array:
    shape = [1] * rank
    shape[axis] = len(values)
    return values.reshape(shape)
