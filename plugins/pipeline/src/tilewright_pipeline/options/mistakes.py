"""What is wrong with the options that a user gives, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from tilewright.errors import UsageError, did_you_mean, nearest, raise_all, shown
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice, Place, choices, completed
from tilewright_pipeline.options.option_words import expected_at

M = TypeVar("M", bound=BaseModel)


class BadValueError(ValueError):
    """Raised by a validator of an options model that knows the remedy.

    The message says what was expected and got; of other ValueErrors it says only what was expected.
    """

    def __init__(self, message: str, remedy: str) -> None:
        self.remedy = remedy
        super().__init__(message)


class Mistake(NamedTuple):
    """A mistake in an option: its place below the options, what is wrong, and what to do.

    unknown   the key that the model does not have, empty where the mistake is another one
    """

    path: Place
    message: str
    remedy: str
    unknown: str = ""


def checked(model: type[M], values: Mapping[str, Any], *, where: str) -> M:
    """The checked options. Raises UsageError naming each bad one."""
    options, wrong = read_options(model, values)
    raise_all(
        [
            UsageError(
                mistake.message,
                where=": ".join(filter(None, [where, ".".join(map(str, mistake.path))])),
                remedy=mistake.remedy,
            )
            for mistake in wrong
        ]
    )
    assert options is not None  # or something was wrong
    return options


def checked_choice(role: str, choice: Choice, host: PluginHost) -> Any:
    """The checked options of a component; choices among them are checked as well.

    Raises UsageError naming each bad one.
    """
    where = f"{role} '{choice.name}'"
    options: Any = checked(host.options_of(role, choice.name), choice.options, where=where)
    return with_checked_choices(options, host)


def with_checked_choices(options: M, host: PluginHost) -> M:
    """The options, each choice among them named and checked. Raises UsageError."""
    options = completed(options, host.default)
    for _, role, choice in choices(options):
        checked_choice(role, choice, host)
    return options


def read_options(
    model: type[M], values: Mapping[str, Any], instead: Mapping[str, Any] | None = None
) -> tuple[M | None, list[Mistake]]:
    """The options without their mistakes, and the mistakes.

    The options are None where a required one is wrong. `instead` has values for wrong or missing
    ones. Mistakes of the whole model are reported only if each option alone is right.
    """
    try:
        return model.model_validate(dict(values)), []
    except ValidationError as error:
        wrong = _mistakes(error, model)
    right = _without(values, [mistake.path for mistake in wrong])
    try:
        return model.model_validate({**(instead or {}), **right}), wrong
    except ValidationError:
        return None, wrong


def _without(values: Mapping[str, Any], paths: Iterable[Place]) -> dict[str, Any]:
    """The values without those at these paths, or the list or text that they are in."""
    copy = dict(values)
    for path in filter(None, paths):
        holder: dict[str, Any] = copy
        for step, below in zip(path, (*path[1:], None), strict=True):
            inner = holder.get(str(step))
            if not isinstance(below, str) or not isinstance(inner, Mapping) or below not in inner:
                holder.pop(str(step), None)
                break
            holder[str(step)] = holder = dict(inner)
    return copy


def _mistakes(error: ValidationError, model: type[BaseModel]) -> list[Mistake]:
    """Everything that pydantic complains about, in our words."""
    found: list[Mistake] = []
    suggested: set[Place] = set()
    items = error.errors(include_url=False)
    for item in items:
        path = item["loc"]
        if item["type"] == "extra_forbidden":
            name, known = str(path[-1]), _fields_at(model, path[:-1])
            near = nearest(name, known)
            suggested |= {(*path[:-1], near)} if near else set()
            remedy = did_you_mean(name, known) if known else "there are no options here"
            found.append(Mistake(path, f"unknown key '{name}'", remedy, name))
        elif item["type"] != "missing":
            found.append(Mistake(path, *_expectation(item, model)))
    for item in items:
        path = item["loc"]
        # A key that is misspelt is one mistake, not a missing one besides.
        if item["type"] == "missing" and path not in suggested:
            message, remedy = f"'{path[-1]}' is missing", f"give '{path[-1]}' a value"
            found.append(Mistake(path[:-1], message, remedy))
    return found


def _expectation(item: Any, model: type[BaseModel]) -> tuple[str, str]:
    """(message, remedy) for a value that is not as expected."""
    kind, value, raised = item["type"], item["input"], item.get("ctx", {}).get("error")
    if isinstance(raised, BadValueError):
        return str(raised), raised.remedy
    got, plain = shown(value), isinstance(value, str | int | float)
    if kind in ("tuple_type", "list_type"):
        remedy = (
            f"write `[{value}]`" if plain else "begin each item with a dash, or write `[ITEM, ...]`"
        )
        return f"expected a list, got {got}", remedy
    if kind in ("dict_type", "mapping_type", "model_type"):
        return not_a_mapping(value)
    if kind == "too_short":
        return "expected at least one item, got none", "add one"
    words, default = expected_at(model, item["loc"])
    if isinstance(raised, ValueError) or not words:
        words = item["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
        words = words[:1].lower() + words[1:]
    if kind == "string_type" and plain:
        remedy = f"put it into quotes: '{value}'"
    elif default:
        remedy = f"the default is {default}"
    else:
        remedy = f"write {words.removeprefix('expected ')}"
    return f"expected {words.removeprefix('expected ')}, got {got}", remedy


def not_a_mapping(value: Any) -> tuple[str, str]:
    """(message, remedy) where a value is no mapping."""
    plain = isinstance(value, str | int | float)
    remedy = f"write `{value}: {{}}`" if plain else "write `KEY: VALUE` pairs"
    return f"expected a mapping, got {shown(value)}", remedy


def _fields_at(model: type[BaseModel], path: Place) -> list[str]:
    for step in path:
        if not isinstance(step, str) or step not in model.model_fields:
            continue
        annotation = model.model_fields[step].annotation
        inner = [a for a in (annotation, *get_args(annotation)) if isinstance(a, type)]
        nested = [a for a in inner if issubclass(a, BaseModel)]
        if not nested:
            return []
        model = nested[0]
    return list(model.model_fields)
