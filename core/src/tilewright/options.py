"""Base of every options model; imports pydantic, so it is imported late."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic_core import core_schema

from tilewright.errors import UsageError, did_you_mean, nearest, raise_all, shown
from tilewright.option_words import expected_at

# A field called like one of these is a choice of another role.
_ROLE_OF_FIELD = {"peers": "oracle"}


class Options(BaseModel):
    """Options of a component: unknown keys are refused, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class NoOptions(Options):
    """A component without options."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A component chosen by `name` or `{name: {options}}`; the field's name is its role.

    `tuner: Choice` chooses a tuner, `peers: tuple[Choice, ...]` oracles. `PluginHost.choose` makes
    the instance. An empty name, `DEFAULT`, is the component that its role declares as the default.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, value: Any) -> Choice:
        """The choice of either form. Raises ValueError."""
        if isinstance(value, Choice):
            return value
        if isinstance(value, str) and value:
            return cls(value)
        if isinstance(value, Mapping) and len(value) == 1:
            ((name, options),) = value.items()
            if isinstance(name, str) and name and (options is None or isinstance(options, Mapping)):
                return cls(name, dict(options or {}))
        raise ValueError("expected a name or {name: {options}}")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return core_schema.no_info_plain_validator_function(
            cls.parse, serialization=core_schema.plain_serializer_function_ser_schema(_short_form)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        named = {"type": "object", "minProperties": 1, "maxProperties": 1}
        return {"anyOf": [{"type": "string"}, named]}


DEFAULT = Choice("")
"""What a field says that takes the default of its role: `tuner: Choice = DEFAULT`."""


def _short_form(choice: Choice) -> Any:
    return {choice.name: dict(choice.options)} if choice.options else choice.name


def role_of(field: str) -> str:
    """The role that a `Choice` in a field of this name chooses from."""
    return _ROLE_OF_FIELD.get(field, field)


def choices(options: BaseModel) -> Iterator[tuple[tuple[str | int, ...], str, Choice]]:
    """(path, role, choice) of every choice among some options."""
    for name in type(options).model_fields:
        value = getattr(options, name, None)  # a model made without what it requires lacks it
        if isinstance(value, Choice):
            yield (name,), role_of(name), value
        elif isinstance(value, list | tuple):
            for position, item in enumerate(value):
                if isinstance(item, Choice):
                    yield (name, position), role_of(name), item


def named(choice: Choice | None, role: str, default: Callable[[str], str]) -> Choice:
    """The choice, or the default of its role where it names none; see `PluginHost.default`."""
    if choice is not None and choice.name:
        return choice
    return Choice(default(role))


M = TypeVar("M", bound=BaseModel)
Place = tuple[str | int, ...]


def completed(options: M, default: Callable[[str], str]) -> M:
    """The options with a name for each choice that was left to the default of its role."""
    found = {
        str(path[0]): named(choice, role, default)
        for path, role, choice in choices(options)
        if len(path) == 1 and not choice.name
    }
    return options.model_copy(update=found) if found else options


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


def check_options(model: type[M], values: Mapping[str, Any], *, where: str) -> M:
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
