"""Reads components chosen on the command line."""

from __future__ import annotations

from tilewright.errors import UsageError
from tilewright.options import DEFAULT, Choice
from tilewright_pipeline.yaml.yaml_source import YamlSource


def choice_of(option: str, text: str | None) -> Choice:
    """The choice of `name`, `name:option=value,option=value` or `{name: {option: value}}`.

    DEFAULT without a text.

    Raises UsageError naming the option.
    """
    if text is None:
        return DEFAULT
    try:
        value = YamlSource.parse_value(text, option)
        return _of_words(value, option) if isinstance(value, str) else Choice.parse(value)
    except ValueError as error:
        raise UsageError(f"{error}, got {text!r}", where=option) from None


def choices_of(option: str, text: str) -> list[Choice]:
    """The choices of a list with commas between, each `name` or `{name: {option: value}}`.

    Raises UsageError naming the option.
    """
    try:
        found = [Choice.parse(value) for value in YamlSource.parse(f"[{text}]", option).plain()]
    except ValueError as error:
        raise UsageError(f"{error}, got {text!r}", where=option) from None
    if not found:
        raise UsageError("expected one or more names", where=option)
    return found


def _of_words(text: str, option: str) -> Choice:
    """The choice of `name:option=value,...`, each value as in a file. Raises ValueError."""
    name, colon, rest = text.partition(":")
    options = {}
    for word in rest.split(",") if colon else ():
        key, equals, value = word.partition("=")
        if not (key and equals):
            raise ValueError("expected a name, NAME:option=value,... or {name: {options}}")
        options[key.strip()] = YamlSource.parse_value(value, option)
    return Choice.parse({name: options} if options else name)
