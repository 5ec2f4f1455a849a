"""The text form of a workload: what a user writes on the command line.

    conv2d(1x64x56x56, 64x64x3x3, padding=1) + add(1x64x1x1:const) + relu()

Operands come first, then attributes; those with their default value are left out. An operand is
its shape (`scalar` for rank 0), then `:const` or `:activation` where its operator expects the
other, then `:DTYPE` where that is not float32. An operator of the epilogue lists its operands
beside the running value; `_` marks where the running value stands, if not first.
Attribute values are JSON or bare words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.canonical import thaw
from tilewright.errors import UsageError
from tilewright.vocabulary.workload import EpilogueOp, Role, TensorSpec, Workload
from tilewright_tensor.expressions.dtype import DTYPES
from tilewright_tensor.operators.definition.attribute import Attribute, Attributes
from tilewright_tensor.operators.definition.operator_def import NAME, Operand, OperatorDef
from tilewright_tensor.operators.operators import Operators

_ATTRIBUTE = re.compile(r"([A-Za-z_]\w*)\s*=\s*(.*)", re.DOTALL)
_OPERAND = re.compile(r"(scalar|\d{1,18}(?:x\d{1,18})*)((?::[a-z]+\d*)*)")
_WORD = re.compile(r"[A-Za-z]\w*(?::[a-z]+\d*)?")
_LITERALS = {
    "true": "true",
    "false": "false",
    "null": "null",
    "True": "true",
    "False": "false",
    "None": "null",
}
"""JSON's literals as JSON and Python write them."""
_ROLES: dict[str, Role] = {"const": "constant", "activation": "activation"}
_EXAMPLE = "as in conv2d(1x64x56x56, 64x64x3x3, padding=1) + add(1x64x1x1:const) + relu()"


@dataclass(frozen=True, slots=True)
class _Call:
    """`name(arguments)` and where in the text each begins."""

    name: str
    arguments: tuple[tuple[str, int], ...]


def parse_workload(operators: Operators, text: str, where: str = "") -> Workload:
    """The workload of a text form. Raises UsageError that names the character."""
    reader = _Reader(text, where)
    anchor, *steps = reader.calls()
    inputs: list[TensorSpec] = []
    definition = operators.find(anchor.name, where)
    for position, (given, at) in enumerate(reader.operands(anchor)):
        inputs.append(reader.operand(given, at, _operand(definition, position)))
    epilogue = []
    for step in steps:
        definition = operators.find(step.name, where)
        listed = reader.operands(step)
        marks = [i for i, (given, _) in enumerate(listed) if given == "_"]
        if len(marks) > 1:
            raise reader.error(listed[marks[1]][1], "the running value '_' stands twice")
        running = marks[0] if marks else 0
        first = len(inputs)
        for i, (given, at) in enumerate(listed):
            if given != "_":
                argument = i if marks else i + 1
                inputs.append(reader.operand(given, at, _operand(definition, argument)))
        indexes = tuple(range(first, len(inputs)))
        epilogue.append(EpilogueOp(step.name, reader.attributes(step), indexes, running))
    return operators.workload(anchor.name, inputs, reader.attributes(anchor), epilogue, where)


def format_workload(operators: Operators, workload: Workload) -> str:
    """The text form, with defaults left out; `parse_workload` gives the workload back."""
    anchor = workload.anchor
    definition = operators.find(anchor.operator)
    operands = [_operand_text(s, _operand(definition, i)) for i, s in enumerate(anchor.inputs)]
    texts = [_call_text(definition, operands, anchor.attributes)]
    for op in workload.epilogue:
        definition = operators.find(op.operator)
        arguments = [i for i in range(len(op.operands) + 1) if i != op.position]
        operands = [
            _operand_text(workload.inputs[index], _operand(definition, argument))
            for index, argument in zip(op.operands, arguments, strict=True)
        ]
        if op.position:
            operands.insert(op.position, "_")
        texts.append(_call_text(definition, operands, op.attributes))
    return " + ".join(texts)


def _operand(definition: OperatorDef, position: int) -> Operand:
    """The operand, or a stand-in where there are too many: the operator itself complains better."""
    known = definition.variadic or position < len(definition.operands)
    return definition.operand(position) if known else Operand("operand")


def _call_text(definition: OperatorDef, operands: Sequence[str], attributes: Attributes) -> str:
    complete = definition.complete(attributes)
    named = ((a, thaw(complete[a.name])) for a in definition.attributes)
    shown = [
        f"{attribute.name}={_value_text(_shortest(attribute, value))}"
        for attribute, value in named
        if not _means(attribute, attribute.default, value)
    ]
    return f"{definition.name}({', '.join([*operands, *shown])})"


def _shortest(attribute: Attribute, value: Any) -> Any:
    """One number for a list of equal ones, where the attribute takes that."""
    if isinstance(value, list) and value and _means(attribute, value[0], value):
        return value[0]
    return value


def _means(attribute: Attribute, short: Any, value: Any) -> bool:
    try:
        return bool(attribute.canonical(short) == value)
    except (TypeError, ValueError):
        return False


def _value_text(value: Any) -> str:
    bare = isinstance(value, str) and _WORD.fullmatch(value) and value not in _LITERALS
    return str(value) if bare else json.dumps(value)


def _operand_text(spec: TensorSpec, operand: Operand) -> str:
    text = "x".join(map(str, spec.shape)) or "scalar"
    if spec.role != operand.role:
        text += ":const" if spec.role == "constant" else ":activation"
    return text if spec.dtype == "float32" else f"{text}:{spec.dtype}"


class _Reader:
    """Takes a text apart; every error names the character where it stands."""

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where

    def error(self, at: int, message: str, remedy: str = _EXAMPLE) -> UsageError:
        place = f"character {at + 1}"
        shown = [self.where] if self.where else []
        shown += [] if self.text in self.where else [repr(self.text)]
        return UsageError(message, where=f"{': '.join(shown)}, {place}", remedy=remedy)

    def calls(self) -> list[_Call]:
        """All `name(...)`, joined by `+`."""
        found = []
        at = self._skip(0)
        while True:
            name = NAME.match(self.text, at)
            if not name:
                raise self.error(at, "expected an operator's name")
            arguments, at = self._arguments(name.end())
            found.append(_Call(name[0], arguments))
            at = self._skip(at)
            if at == len(self.text):
                return found
            if self.text[at] != "+":
                raise self.error(at, f"expected '+' or the end, got {self.text[at:]!r}")
            at = self._skip(at + 1)

    def operands(self, call: _Call) -> list[tuple[str, int]]:
        """The arguments before the first attribute."""
        found = []
        for argument, at in call.arguments:
            if _ATTRIBUTE.fullmatch(argument):
                break
            found.append((argument, at))
        return found

    def attributes(self, call: _Call) -> dict[str, Any]:
        """The arguments from the first attribute on."""
        found: dict[str, Any] = {}
        for argument, at in call.arguments[len(self.operands(call)) :]:
            match = _ATTRIBUTE.fullmatch(argument)
            if not match:
                raise self.error(at, f"operand {argument!r} stands behind an attribute")
            name, value = match.groups()
            if name in found:
                raise self.error(at, f"attribute {name!r} is given twice")
            found[name] = self._value(value, at + match.start(2))
        return found

    def operand(self, given: str, at: int, expected: Operand) -> TensorSpec:
        """The specification that a text like `1x64x1x1:const:float64` means."""
        match = _OPERAND.fullmatch(given)
        if not match:
            raise self.error(
                at, f"expected {expected.name} as a shape like 1x64x56x56, got {given!r}"
            )
        shape = () if match[1] == "scalar" else tuple(map(int, match[1].split("x")))
        if 0 in shape:
            raise self.error(at, f"{expected.name} has an axis of extent 0: {given!r}")
        role, dtype = expected.role, "float32"
        for word in match[2].split(":")[1:]:
            if word in _ROLES:
                role = _ROLES[word]
            elif word in DTYPES:
                dtype = word
            else:
                raise self.error(at, f"expected const, activation or a dtype, got {word!r}")
        return TensorSpec(shape, dtype, role)

    def _arguments(self, at: int) -> tuple[tuple[tuple[str, int], ...], int]:
        """(the arguments with their places, the place after the closing parenthesis)."""
        at = self._skip(at)
        if self.text[at : at + 1] != "(":
            raise self.error(at, f"expected '(', got {self.text[at:] or 'the end'!r}")
        found, begin, depth, quoted = [], at + 1, 0, False
        for place in range(at + 1, len(self.text)):
            letter = self.text[place]
            quoted ^= letter == '"'
            if quoted:
                continue
            if letter in ",)" and depth == 0:
                if piece := self.text[begin:place].strip():
                    found.append((piece, self._skip(begin)))
                elif letter == "," or found:
                    raise self.error(begin, f"expected an argument before {letter!r}")
                if letter == ")":
                    return tuple(found), place + 1
                begin = place + 1
            depth += (letter in "([") - (letter in ")]")
        raise self.error(len(self.text), "expected ')' before the end")

    def _value(self, text: str, at: int) -> Any:
        if _WORD.fullmatch(text) and text not in _LITERALS:
            return text
        try:
            return json.loads(_LITERALS.get(text, text), parse_constant=_refuse)
        except (ValueError, RecursionError):
            message = f"expected a number, a list like [1, 2], true, false or a word, got {text!r}"
            raise self.error(at, message) from None

    def _skip(self, at: int) -> int:
        while at < len(self.text) and self.text[at].isspace():
            at += 1
        return at


def _refuse(word: str) -> Any:
    raise ValueError(word)
