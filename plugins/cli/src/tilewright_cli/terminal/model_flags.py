"""Flags made from an options model: its fields' names, types, bounds, defaults and descriptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tilewright.options import Choice
from tilewright_cli.terminal.shared_options import Decorator, component


def flags_of(
    model: type[BaseModel],
    fields: Sequence[str],
    *,
    called: Mapping[str, str] | None = None,
    types: Mapping[str, Any] | None = None,
) -> Decorator:
    """Declare a flag for each of these fields of a model; None where it is not given.

    A field `early_stopping` is `--early-stopping`, or as it is `called`; a `Choice` names a part
    of that role. `types` has what click checks where the field's own type says too little.
    """

    def decorate(function: Any) -> Any:
        for name in reversed(fields):
            flag = (called or {}).get(name, f"--{name.replace('_', '-')}")
            function = _flag(name, flag, model.model_fields[name], types or {})(function)
        return function

    return decorate


def _flag(name: str, flag: str, field: FieldInfo, types: Mapping[str, Any]) -> Decorator:
    says = field.description or ""
    if field.annotation is Choice:
        return component(flag, help=says)
    if field.annotation is bool:
        return click.option(flag, name, is_flag=True, default=None, help=says)
    default = "" if field.default is None else f"  [default: {field.default}]"
    kind = types[name] if name in types else _type(field)
    return click.option(flag, name, type=kind, help=f"{says}{default}".strip())


def _type(field: FieldInfo) -> Any:
    """What click checks; pydantic checks all of it again."""
    kinds = [one for one in (field.annotation, *get_args(field.annotation)) if one is not None]
    if get_origin(field.annotation) is Literal:
        return click.Choice(get_args(field.annotation))
    if int in kinds:
        bounds = {
            bound: getattr(limit, sign)
            for limit in field.metadata
            for bound, sign in (("min", "ge"), ("max", "le"))
            if hasattr(limit, sign)
        }
        return click.IntRange(**bounds)
    return str
