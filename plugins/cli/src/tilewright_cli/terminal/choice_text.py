"""Reads a component chosen on the command line."""

from __future__ import annotations

from tilewright.errors import UsageError
from tilewright.options import DEFAULT, Choice
from tilewright_pipeline.yaml.yaml_source import YamlSource


def choice_of(option: str, text: str | None) -> Choice:
    """The choice of `name` or `{name: {option: value}}`, DEFAULT without one.

    Raises UsageError naming the option.
    """
    if text is None:
        return DEFAULT
    try:
        return Choice.parse(YamlSource.parse(text, option).plain())
    except ValueError as error:
        raise UsageError(f"{error}, got {text!r}", where=option) from None
