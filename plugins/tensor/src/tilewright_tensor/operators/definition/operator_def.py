"""What an operator is, apart from any schedule and any target."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tilewright.errors import UsageError, did_you_mean
from tilewright.vocabulary.workload import Role, TensorSpec
from tilewright_tensor.expressions.dtype import DTYPES, is_float
from tilewright_tensor.operators.definition.attribute import REQUIRED, Attribute, Attributes

if TYPE_CHECKING:
    from tilewright_tensor.expressions.tensor import Tensor
    from tilewright_tensor.ir.loop_ir import LoopProgram
    from tilewright_tensor.layouts.constant_transform import Array

NAME = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[a-z][a-z0-9_.]*")
"""What an operator's name looks like; its owner is before it where several have the name."""
Inputs = Sequence[TensorSpec]
ReferenceFunction = Callable[["Sequence[Array]", Attributes], "Array"]
Values = Literal["signed", "weight", "positive", "exponent"]
Domain = Literal["any", "number", "float"]
Program = Callable[[Inputs, Attributes], "LoopProgram"]
Ranges = Callable[[tuple[int, ...], Attributes], Sequence[range]]
AxisPairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument of an operator.

    name      of its placeholder in the compute DAG
    letters   its logical axes; empty: those of an activation of its rank
    role      what it is in a text form that does not say
    values    what random data it is given: `signed` uniform in [-1, 1], `weight` the same divided
              by the root of the elements of an output channel, so that sums stay near 1,
              `positive` uniform in [0.5, 1.5]; `exponent` 1, 2 or 3, which any base can have
    linear    pairs (axis of its own, axis of the output), negative ones from the end: the operator
              is linear in this operand, and a factor for each place along the one axis is a factor
              along the other, as a convolution's are of filters and channels. `()`: one factor for
              all, or for element-wise operators one an element; None: not linear
    """

    name: str
    letters: str = ""
    role: Role = "activation"
    values: Values = "signed"
    linear: AxisPairs | None = None


@dataclass(frozen=True, slots=True)
class OperatorDef:
    """An operator with one output: everything the rest asks of it, in logical axis order.

    From `elementwise` to `random` are its traits, and so is `linear` of an operand: facts that
    passes and fusion go by. One that cannot be is refused where it is declared; the others of a
    definition without `revision` are tried on random data, at both ends of the output, once for
    operands of each shape.

    operands      the arguments in order; with `variadic` the last one repeats
    infer         (shape, dtype) of the output; raises ValueError for operands that do not fit
    compute       the output as a tensor of the compute DAG; its stage has the operator's name
    program       where no expressions say it, as each step depends on the one before: the loops
                  that give it, operands in logical order and named as here. `by_program` stands for
                  `compute` then, and there is a reference; nothing is fused behind it
    reference     imports and returns a function (float64 arrays, attributes) -> the output, by
                  numpy and apart from `compute`; None: the interpreted DAG serves
    attributes    in the order of the text form; the functions above are given all of them
    operations    how many it takes, where `compute` writes more terms than there are; None: those
                  of the compute DAG
    elementwise   operands of one rank broadcast, element by element: it may stand in an epilogue
    commutative   its two operands may change places
    view          it gives the elements of its operand another shape, in row-major order
    concatenates  it joins its operands along the one axis on which they may differ
    slices        the ranges that it takes of its operand, one an axis; given its shape and the
                  attributes
    random        it draws random numbers: each node has its own, anew in each run
    rounds        it makes whole numbers of floats: see `Tail`, which says where in epilogues
    contracts     two values of its running operand are no further apart behind it
    counted       values decide how many rows its output has: rows of -1 fill it up, and as an
                  output of a network it ends before these
    values        of what dtypes it is defined: `float`, `number` (not bool), or `any`
    revision      raised by its author when `compute` comes to mean something else, which makes
                  records of before misses; 0: keys carry a hash of the compute DAG instead
    place         where it is written, to begin messages with, as in `mine.py:8: `; may be empty
    """

    name: str
    operands: tuple[Operand, ...]
    infer: Callable[[Inputs, Attributes], tuple[tuple[int, ...], str]]
    compute: Callable[[Sequence[Tensor], Attributes], Tensor]
    reference: Callable[[], ReferenceFunction] | None = None
    attributes: tuple[Attribute, ...] = ()
    operations: Callable[[Inputs, Attributes], int] | None = None
    elementwise: bool = False
    variadic: bool = False
    values: Domain = "any"
    revision: int = 0
    commutative: bool = False
    view: bool = False
    concatenates: bool = False
    slices: Ranges | None = None
    random: bool = False
    rounds: bool = False
    contracts: bool = False
    program: Program | None = None
    counted: bool = False
    place: str = ""
    tried: set[Any] = field(default_factory=set, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise UsageError(
                f"an operator cannot be named '{self.name}'",
                remedy="names are small letters, digits, '_' and '.', a letter first",
            )
        if problem := self._contradiction():
            raise UsageError(f"{self.place}the operator {self.name} cannot {problem}")

    def _contradiction(self) -> str:
        """Which trait it cannot have, and why; empty where nothing speaks against them."""
        count = len(self.operands)
        alone = count == 1 and not self.variadic
        if self.commutative and not (count == 2 and not self.variadic):
            return "be commutative: expected two operands"
        if self.commutative and self.operands[0].values != self.operands[1].values:
            return "be commutative: expected operands of the same random values"
        if self.view and not alone:
            return "be a view: expected one operand"
        if self.slices and not alone:
            return "be a slice: expected one operand"
        if self.concatenates and not (self.variadic and count == 1):
            return "concatenate: expected any number of operands, as in *tensors"
        moving = [self.view, self.concatenates, self.slices is not None]
        if sum(moving) > 1:
            return "have more than one of the traits view, concatenates and slices"
        if self.random and (any(moving) or any(one.linear is not None for one in self.operands)):
            return "be random: a view, concatenation, slice or linear operator draws nothing"
        if self.program is not None and (self.reference is None or self.has_traits()):
            return "be a program: one has a reference, and no traits"
        if self.variadic and self.operands[-1].linear is not None:
            return f"be linear in *{self.operands[-1].name}, which is any number of operands"
        return ""

    def has_traits(self) -> bool:
        """Whether it declares any that can be tried."""
        of_all = (self.elementwise, self.commutative, self.view, self.concatenates, self.slices)
        return any(of_all) or any(operand.linear is not None for operand in self.operands)

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
                repeated.linear,
            )
        return self.operands[position]

    def scaled_axes(self, position: int, own_rank: int, rank: int) -> AxisPairs | None:
        """Pairs of axes along which factors of an operand are the output's, from the front.

        None where the operator is not linear in the operand.
        """
        pairs = self.operand(position).linear
        if pairs is None:
            return None
        if self.elementwise:
            return tuple((axis, axis) for axis in range(rank))
        return tuple((own % own_rank, axis % rank) for own, axis in pairs)

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
            if (self.values == "float" and not is_float(spec.dtype)) or (
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
        return TensorSpec(shape, dtype)


def by_program(_tensors: Sequence[Tensor], _attributes: Attributes) -> Tensor:
    """The `compute` of an operator with a `program`, which no expressions compute."""
    raise TypeError("no expressions say what a program computes")


def joined_axis(operands: Sequence[tuple[int, ...]], joined: tuple[int, ...]) -> int:
    """The axis along which operands were joined: the first on which one is not the whole."""
    extents = zip(zip(*operands, strict=True), joined, strict=True)
    return next((axis for axis, (own, whole) in enumerate(extents) if set(own) != {whole}), 0)


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
        from tilewright_tensor.operators.definition.numpy_references import REFERENCES

        return REFERENCES[name]

    return load
