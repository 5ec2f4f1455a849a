"""Base of every options model; imports pydantic, so it is imported late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic_core import core_schema

from tilewright.errors import UsageError, did_you_mean

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
    the instance.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, value: Any) -> Choice:
        """The choice of either form. Raises ValueError."""
        if isinstance(value, Choice):
            return value
        if isinstance(value, str):
            return cls(value)
        if isinstance(value, Mapping) and len(value) == 1:
            ((name, options),) = value.items()
            if isinstance(name, str) and (options is None or isinstance(options, Mapping)):
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


def _short_form(choice: Choice) -> Any:
    return {choice.name: dict(choice.options)} if choice.options else choice.name


def role_of(field: str) -> str:
    """The role that a `Choice` in a field of this name chooses from."""
    return _ROLE_OF_FIELD.get(field, field)


def choices(options: BaseModel) -> Iterator[tuple[tuple[str | int, ...], str, Choice]]:
    """(path, role, choice) of every choice among some options."""
    for name in type(options).model_fields:
        value = getattr(options, name)
        if isinstance(value, Choice):
            yield (name,), role_of(name), value
        elif isinstance(value, list | tuple):
            for position, item in enumerate(value):
                if isinstance(item, Choice):
                    yield (name, position), role_of(name), item


M = TypeVar("M", bound=BaseModel)


def check_options(model: type[M], values: Mapping[str, Any], *, where: str) -> M:
    """The checked options. Raises UsageError naming the first bad one."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        path, message, remedy = next(iter(mistakes(error, model)))
        dotted = ".".join(map(str, path))
        place = f"{where}: {dotted}" if dotted else where
        raise UsageError(message, where=place, remedy=remedy) from None


def mistakes(
    error: ValidationError, model: type[BaseModel]
) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """(path, message, remedy) of everything pydantic complains about, in our words."""
    for item in error.errors(include_url=False):
        path = item["loc"]
        if item["type"] == "extra_forbidden":
            known = _fields_at(model, path[:-1])
            remedy = did_you_mean(str(path[-1]), known) if known else "there are no options here"
            yield path, f"unknown key '{path[-1]}'", remedy
        elif item["type"] == "missing":
            yield path[:-1], f"'{path[-1]}' is missing", f"give '{path[-1]}' a value"
        else:
            yield path, *_expectation(item["type"], item["msg"], item["input"])


def _expectation(kind: str, message: str, value: Any) -> tuple[str, str]:
    """(message, remedy) where a value is not what was expected."""
    got = repr(value)
    got = got if len(got) <= 60 else f"{got[:57]}..."
    plain = isinstance(value, str | int | float)
    if kind in ("tuple_type", "list_type"):
        remedy = (
            f"write `[{value}]`" if plain else "begin each item with a dash, or write `[ITEM, ...]`"
        )
        return f"expected a list, got {got}", remedy
    if kind in ("dict_type", "mapping_type", "model_type"):
        remedy = f"write `{value}: {{}}`" if plain else "write `KEY: VALUE` pairs"
        return f"expected a mapping, got {got}", remedy
    if kind == "too_short":
        return "expected at least one item, got none", "add one"
    message = message.removeprefix("Value error, ").replace("Input should be", "expected", 1)
    message = message[:1].lower() + message[1:]
    return f"{message}, got {got}", ""


def _fields_at(model: type[BaseModel], path: tuple[str | int, ...]) -> list[str]:
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
