"""What an option may be, in words: taken from the JSON Schema of its model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.errors import PydanticUserError

_WORDS = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "string": "a text",
    "array": "a list",
    "object": "a mapping",
}
_BOUNDS = {
    "minimum": "of at least",
    "exclusiveMinimum": "above",
    "maximum": "of at most",
    "exclusiveMaximum": "below",
}


def expected_at(model: type[BaseModel], path: Sequence[str | int]) -> tuple[str, str]:
    """(what the option at a path may be, what it is by default), in words; empty where unknown.

    >>> expected_at(MeasureSection, ["repeat"])
    ('a whole number from 3 to 1000', '5')
    """
    try:
        root = model.model_json_schema()
    except PydanticUserError:  # a type of a plugin's own, which JSON Schema cannot say
        return "", ""
    schema: Mapping[str, Any] | None = root
    for step in path:
        schema = _below(_resolved(schema, root), step, root) if schema is not None else None
    if schema is None:
        return "", ""
    default = schema.get("default")
    written = default if isinstance(default, str) else json.dumps(default)
    plain = isinstance(default, str | int | float)
    return _words(_resolved(schema, root), root), written if plain else ""


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    found: Mapping[str, Any] = root.get("$defs", {}).get(reference.rpartition("/")[2], {})
    return found


def _below(
    schema: Mapping[str, Any], step: str | int, root: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """The schema of an item or member; of several forms that of the first which has it."""
    for form in _forms(schema, root):
        if isinstance(step, int) and isinstance(items := form.get("items"), Mapping):
            return items
        for members in (form.get("properties", {}).get(step), form.get("additionalProperties")):
            if isinstance(step, str) and isinstance(members, Mapping):
                return members
    return None


def _forms(schema: Mapping[str, Any], root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    forms = [_resolved(form, root) for form in schema.get("anyOf", [schema])]
    return [form for form in forms if form.get("type") != "null"]


def _words(schema: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    forms = [_form_words(form) for form in _forms(schema, root)]
    return " or ".join(forms) if all(forms) else ""


def _form_words(form: Mapping[str, Any]) -> str:
    if "const" in form or "enum" in form:
        values = [form["const"]] if "const" in form else form["enum"]
        return " or ".join(v if isinstance(v, str) else json.dumps(v) for v in values)
    kind = form.get("type")
    words = _WORDS.get(kind, "") if isinstance(kind, str) else ""
    if form.get("format") == "file-path":
        words = "the path of a file that is there"
    if words and form.get("minLength"):
        words += " that is not empty"
    if {"minimum", "maximum"} <= form.keys():
        return f"{words} from {form['minimum']:.15g} to {form['maximum']:.15g}"
    bounds = [f"{said} {form[name]:.15g}" for name, said in _BOUNDS.items() if name in form]
    return " ".join(filter(None, [words, " and ".join(bounds)]))
