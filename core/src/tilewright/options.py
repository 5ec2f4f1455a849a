"""Base of every options model; imports pydantic, so it is imported late."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic_core import core_schema

from tilewright.errors import UsageError, did_you_mean, shown


class Options(BaseModel):
    """Options of a component: unknown keys are refused, values do not change.

    roles   of fields that hold a `Choice` and are called otherwise than its role
    """

    roles: ClassVar[Mapping[str, str]] = {}

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
        several = isinstance(value, Mapping) and len(value) > 1
        told = f", got several: {', '.join(map(str, value))}" if several else ""
        raise ValueError(f"expected a name or {{name: {{options}}}}{told}")

    def short_form(self) -> Any:
        """As a file has it: the name, or {name: {options}}."""
        return {self.name: dict(self.options)} if self.options else self.name

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return core_schema.no_info_plain_validator_function(
            cls.parse,
            serialization=core_schema.plain_serializer_function_ser_schema(cls.short_form),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        named = {"type": "object", "minProperties": 1, "maxProperties": 1}
        return {"anyOf": [{"type": "string"}, named]}


DEFAULT = Choice("")
"""What a field says that takes the default of its role: `tuner: Choice = DEFAULT`."""


def role_of(model: type[BaseModel], field: str) -> str:
    """The role that a `Choice` in a field of a model chooses from."""
    roles: Mapping[str, str] = getattr(model, "roles", {})
    return roles.get(field, field)


def choices(options: BaseModel) -> Iterator[tuple[tuple[str | int, ...], str, Choice]]:
    """(path, role, choice) of every choice among some options."""
    for name in type(options).model_fields:
        value = getattr(options, name, None)  # a model made without what it requires lacks it
        if isinstance(value, Choice):
            yield (name,), role_of(type(options), name), value
        elif isinstance(value, list | tuple):
            for position, item in enumerate(value):
                if isinstance(item, Choice):
                    yield (name, position), role_of(type(options), name), item


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


def check_options(model: type[M], values: Mapping[str, Any], *, where: str) -> M:
    """The checked options. Raises UsageError naming each bad one, most in pydantic's words."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        wrong = [_mistake(item, list(model.model_fields), where) for item in error.errors()]
    raise UsageError.several(wrong)


def _mistake(item: Any, known: list[str], where: str) -> UsageError:
    path = ".".join(map(str, item["loc"]))
    where = ": ".join(filter(None, [where, path]))
    if item["type"] == "extra_forbidden":
        return UsageError("unknown key", where=where, remedy=did_you_mean(path, known))
    return UsageError(f"{item['msg']}, got {shown(item['input'])}", where=where)
