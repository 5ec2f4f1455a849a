"""`@operator`: an operator from a function that computes it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from traceback import extract_tb
from typing import Any

from tilewright.errors import UsageError, did_you_mean
from tilewright_tensor.expressions.comparisons import defining
from tilewright_tensor.expressions.noted_reads import noting_reads
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import Dag, placeholder
from tilewright_tensor.operators.definition.attribute import (
    Attribute,
    Attributes,
    flag,
    integer,
    integers,
    number,
    text,
)
from tilewright_tensor.operators.definition.broadcast import broadcast, check_elementwise
from tilewright_tensor.operators.definition.operator_def import (
    Inputs,
    Operand,
    OperatorDef,
    Ranges,
    ReferenceFunction,
)
from tilewright_tensor.operators.definition.reads import read_outside

Function = Callable[..., Tensor]
_ONE_LINE = re.compile(r"\s*\n\s*")

_CANONICAL: Mapping[type, Callable[[Any], Any]] = {
    bool: flag,
    int: integer,
    float: number,
    str: text,
    list: integers,
    tuple: integers,
}


def operator(
    *described: Operand | Attribute,
    reference: ReferenceFunction | None = None,
    elementwise: bool = False,
    commutative: bool = False,
    view: bool = False,
    concatenates: bool = False,
    slices: Ranges | None = None,
    random: bool = False,
) -> Callable[[Function], OperatorDef]:
    """Make a function of tensors an operator, to return from the hook `tilewright_operators`.

    The function's name is the operator's, its parameters are the operands (`*tensors`: any number)
    and those behind `*` the attributes, of the types of their defaults. Shape and dtype of the
    output are those of the tensor that it returns; it raises ValueError for operands that do not
    fit.

    described     operands that are not activations of signed random values, attributes that no
                  default describes; by the parameters' names
    reference     (float64 arrays, attributes) -> output, by numpy, where the interpreted definition
                  is too slow; once a task, the two are compared at both ends of the output
    elementwise   it may stand in an epilogue: an element of the output needs that of each operand.
                  Operands broadcast: the function sees them all in the output's shape, and reads
                  `scale[place]` wherever `scale` has extent 1 there
    commutative, view, concatenates, slices, random
                  traits that passes go by, as `OperatorDef` has them

    >>> @operator(Operand("points", role="constant"))
    ... def distances(data, points, *, scale=1.0): ...
    """

    def decorate(function: Function) -> OperatorDef:
        name = function.__name__
        given = {one.name: one for one in described}
        operands: list[Operand] = []
        attributes: list[Attribute] = []
        variadic = False
        for parameter in inspect.signature(function).parameters.values():
            known = given.pop(parameter.name, None)
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                attributes.append(_attribute(name, parameter, known))
            else:
                variadic = variadic or parameter.kind is inspect.Parameter.VAR_POSITIONAL
                operands.append(_operand(name, parameter, known))
        if given:
            names = [*(one.name for one in operands), *(one.name for one in attributes)]
            unknown = next(iter(given))
            raise UsageError(
                f"operator {name} has no parameter '{unknown}'",
                remedy=did_you_mean(unknown, names),
            )
        definition = OperatorDef(
            name,
            tuple(operands),
            lambda inputs, values: _inferred(definition, function, inputs, values),
            lambda tensors, values: _computed(
                function, broadcast(tensors) if elementwise else tensors, values
            ),
            (lambda: reference) if reference else None,
            tuple(attributes),
            elementwise=elementwise,
            variadic=variadic,
            commutative=commutative,
            view=view,
            concatenates=concatenates,
            slices=slices,
            random=random,
            place=_place(function),
        )
        return definition

    return decorate


def _operand(
    operator: str, parameter: inspect.Parameter, known: Operand | Attribute | None
) -> Operand:
    if isinstance(known, Attribute):
        raise UsageError(
            f"operator {operator}: '{parameter.name}' is an operand, not an attribute",
            remedy="attributes are the parameters behind '*'",
        )
    return known or Operand(parameter.name)


def _attribute(
    operator: str, parameter: inspect.Parameter, known: Operand | Attribute | None
) -> Attribute:
    if isinstance(known, Attribute):
        return known
    default = parameter.default
    if known is not None or type(default) not in _CANONICAL:
        expected = f"an Attribute('{parameter.name}', ...) in @operator, or a default"
        raise UsageError(
            f"operator {operator}: what values does the attribute '{parameter.name}' take?",
            remedy=f"give {expected} that is a number, bool, text or list of whole numbers",
        )
    return Attribute(parameter.name, _CANONICAL[type(default)], default)


def _computed(function: Function, tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    """What the function returns, under the operator's name. Raises ValueError with the line."""
    try:
        with defining():
            result = function(*tensors, **attributes)
    except Exception as error:  # whatever it is, the author needs the line
        lines = [f for f in extract_tb(error.__traceback__) if f.filename == _file(function)]
        place = _place(function, lines[-1].lineno) if lines else ""
        kind = "" if isinstance(error, ValueError | TypeError) else f"{type(error).__name__}: "
        raise ValueError(f"{place}{kind}{_ONE_LINE.sub(' ', str(error))}") from error
    if not isinstance(result, Tensor) or result.body is None:
        raise ValueError(
            f"{_place(function)}expected that it returns what compute(...) gives, "
            f"got {type(result).__name__}"
        )
    return replace(result, name=function.__name__)


def _inferred(
    definition: OperatorDef, function: Function, inputs: Inputs, attributes: Attributes
) -> tuple[tuple[int, ...], str]:
    tensors = [
        placeholder(definition.operand(i).name, spec.shape, spec.dtype)
        for i, spec in enumerate(inputs)
    ]
    with noting_reads(_file(function)) as reads:
        result = definition.compute(tensors, attributes)
    try:
        dag = Dag([result], tensors)
        if definition.elementwise:
            check_elementwise(result, tensors)
    except ValueError as error:
        raise ValueError(f"{definition.place}{error}") from error
    for tensor in dag.computes:
        if found := read_outside(tensor):
            read, message = found
            raise ValueError(f"{reads.place(read) or definition.place}{message}")
    return result.shape, result.dtype


def _place(function: Function, line: int | None = None) -> str:
    """That line of the function's file; without one, that at which the function begins."""
    return f"{Path(_file(function)).name}:{line or function.__code__.co_firstlineno}: "


def _file(function: Function) -> str:
    return function.__code__.co_filename
