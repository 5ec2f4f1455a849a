"""What an operator is, apart from any schedule and any target."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tilewright.errors import UsageError, did_you_mean
from tilewright.vocabulary.workload import Role, TensorSpec
from tilewright_tensor.expressions.expr import DTYPES
from tilewright_tensor.operators.attribute import REQUIRED, Attribute

if TYPE_CHECKING:
    from tilewright_tensor.ir.dag import Tensor
    from tilewright_tensor.layouts.layout import Array

NAME = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[a-z][a-z0-9_.]*")
"""What an operator's name looks like; its owner is before it where several have the name."""
Attributes = Mapping[str, Any]
Inputs = Sequence[TensorSpec]
ReferenceFunction = Callable[["Sequence[Array]", Attributes], "Array"]
Values = Literal["signed", "weight", "positive", "exponent"]
Domain = Literal["any", "number", "float"]


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument of an operator.

    name      of its placeholder in the compute DAG
    letters   its logical axes; empty: those of an activation of its rank
    role      what it is in a text form that does not say
    values    what random data it is given: `signed` uniform in [-1, 1], `weight` the same divided
              by the root of the elements of an output channel, so that sums stay near 1,
              `positive` uniform in [0.5, 1.5]; `exponent` 1, 2 or 3, which any base can have
    """

    name: str
    letters: str = ""
    role: Role = "activation"
    values: Values = "signed"


@dataclass(frozen=True, slots=True)
class OperatorDef:
    """An operator with one output: everything the rest asks of it, in logical axis order.

    operands     the arguments in order; with `variadic` the last one repeats
    infer        (shape, dtype) of the output; raises ValueError for operands that do not fit
    compute      the output as a tensor of the compute DAG; its stage has the operator's name
    reference    imports and returns a function (float64 arrays, attributes) -> the output, by numpy
                 and apart from `compute`; None: the interpreted DAG serves
    attributes   in the order of the text form; the functions above are given all of them
    elementwise  operands of one rank broadcast, element by element: it may stand in an epilogue
    values       of what dtypes it is defined: `float`, `number` (not bool), or `any`
    revision     raised by its author when `compute` comes to mean something else, which makes
                 records of before misses; 0: keys carry a hash of the compute DAG instead
    """

    name: str
    operands: tuple[Operand, ...]
    infer: Callable[[Inputs, Attributes], tuple[tuple[int, ...], str]]
    compute: Callable[[Sequence[Tensor], Attributes], Tensor]
    reference: Callable[[], ReferenceFunction] | None = None
    attributes: tuple[Attribute, ...] = ()
    elementwise: bool = False
    variadic: bool = False
    values: Domain = "any"
    revision: int = 0

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise UsageError(
                f"an operator cannot be named '{self.name}'",
                remedy="names are small letters, digits, '_' and '.', a letter first",
            )

    def operand(self, position: int) -> Operand:
        """The operand at a position; a variadic one is numbered (`data0`, `data1`, ...)."""
        last = len(self.operands) - 1
        if self.variadic and position >= last:
            repeated = self.operands[last]
            return Operand(
                f"{repeated.name}{position - last}",
                repeated.letters,
                repeated.role,
                repeated.values,
            )
        return self.operands[position]

    def normalise(
        self, attributes: Attributes, where: str = "", rank: int | None = None
    ) -> dict[str, Any]:
        """Every attribute in canonical form, defaults filled in. Raises UsageError.

        Without those that were added later (`since`) and have their default. Axes in the one form
        for a first operand of `rank`, where it is known.
        """
        known = {attribute.name: attribute for attribute in self.attributes}
        for name in attributes:
            if name not in known:
                raise UsageError(
                    f"{self.name} has no attribute {name!r}",
                    where=where,
                    remedy=did_you_mean(name, list(known), none="it takes no attributes"),
                )
        found: dict[str, Any] = {}
        for name, attribute in known.items():
            value = attributes.get(name, attribute.default)
            if value is REQUIRED:
                raise UsageError(f"{self.name} needs the attribute {name!r}", where=where)
            try:
                canonical = attribute.canonical(value)
            except (TypeError, ValueError, OverflowError) as error:
                raise UsageError(f"{self.name}: attribute {name!r}: {error}", where=where) from None
            canonical = canonical if rank is None else attribute.of_rank(canonical, rank)
            if not attribute.since or canonical != attribute.at_default(rank):
                found[name] = canonical
        return found

    def complete(self, attributes: Attributes) -> Attributes:
        """The result of `normalise`, with the defaults of attributes that were added later."""
        later = {one.name: one.at_default() for one in self.attributes if one.since}
        return {**later, **attributes} if later else attributes

    def output(
        self, inputs: Inputs, attributes: Attributes, where: str = "", *, empty: bool = False
    ) -> TensorSpec:
        """The output's specification. Raises UsageError for operands that do not fit.

        And for operands or an output without elements, unless they may be `empty`.
        """
        wanted = len(self.operands)
        if len(inputs) != wanted and not (self.variadic and len(inputs) >= wanted):
            raise UsageError(
                f"{self.name}: expected {'at least ' if self.variadic else ''}{wanted} operands "
                f"({', '.join(o.name for o in self.operands)}), got {len(inputs)}",
                where=where,
            )
        for spec in inputs:
            if 0 in spec.shape and not empty:
                problem = f"{self.name}: expected operands with elements, got {spec}"
                raise UsageError(problem, where=where)
            if spec.dtype not in DTYPES:
                raise UsageError(
                    f"{self.name}: expected operands of {', '.join(DTYPES)}, got {spec.dtype}",
                    where=where,
                )
            is_float = "float" in spec.dtype
            if (self.values == "float" and not is_float) or (
                self.values == "number" and spec.dtype == "bool"
            ):
                raise UsageError(
                    f"{self.name}: expected operands of a {self.values} dtype, got {spec.dtype}",
                    where=where,
                )
        try:
            shape, dtype = self.infer(inputs, self.complete(attributes))
        except ValueError as error:
            raise UsageError(f"{self.name}: {error}", where=where) from None
        if any(extent < (0 if empty else 1) for extent in shape):
            raise UsageError(f"{self.name}: the output would have shape {list(shape)}", where=where)
        try:
            return TensorSpec(shape, dtype)
        except UsageError as error:
            raise error.within(f"{where}: {self.name}" if where else self.name) from None


def expect(condition: bool, message: str) -> None:
    """Raise ValueError with the message unless the condition holds; for `infer` functions."""
    if not condition:
        raise ValueError(message)


def expect_axis(axis: int, rank: int) -> None:
    """Raise ValueError unless an operand of the rank has the axis; negative ones from the end."""
    expect(-rank <= axis < rank, f"axis {axis} does not exist in rank {rank}")


def one_dtype(inputs: Inputs) -> str:
    """The dtype that all operands have; ValueError where they differ; for `infer` functions."""
    found = sorted({spec.dtype for spec in inputs})
    expect(len(found) == 1, f"the operands differ in dtype: {', '.join(found)}")
    return found[0]


def numpy_reference(name: str) -> Callable[[], ReferenceFunction]:
    """The thunk of a built-in operator's reference; it imports numpy when called."""

    def load() -> ReferenceFunction:
        from tilewright_tensor.operators.numpy_references import REFERENCES

        return REFERENCES[name]

    return load
