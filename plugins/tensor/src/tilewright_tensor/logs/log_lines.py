"""The lines of the logs that other systems write and people paste: one JSON value each."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tilewright.errors import UsageError
from tilewright.json_object import MAX_LINE_BYTES, BadLineError, parse_object, sensible
from tilewright.reading import open_file
from tilewright.vocabulary.record import AnyRecord, Record

_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
_STRAIGHT = str.maketrans(dict.fromkeys("“”„‟″", '"') | {"\N{NO-BREAK SPACE}": " "})
"""What forums and word processors make of quotation marks and spaces."""


def read_lines(
    path: Path, decode: Callable[[Any, int], Record]
) -> Iterator[tuple[int, AnyRecord | BadLineError]]:
    """(line number from 1, what `decode` makes of the line's JSON value and number).

    Comments and empty lines are passed over; any other line is a record or says why it is none.
    Raises UsageError where the file cannot be read.
    """
    try:
        with open_file(path) as file:
            text_file = io.TextIOWrapper(file, "utf-8-sig", "replace")
            # Of a line beyond the limit every piece is a bad one.
            pieces = iter(lambda: text_file.readline(MAX_LINE_BYTES), "")
            for number, line in enumerate(pieces, 1):
                text = line.strip()
                if text and not text.startswith("#"):
                    yield number, _decoded(text, number, decode)
    except OSError as error:
        raise UsageError(
            f"cannot read the records file: {error.strerror}", where=str(path)
        ) from error


def glimpsed(line: str) -> Any:
    """The JSON value of a line, out of bounds or not; None where it is none."""
    try:
        return json.loads(line.lstrip(_BOM).strip().translate(_STRAIGHT))
    except (ValueError, RecursionError):
        return None


def _decoded(
    text: str, number: int, decode: Callable[[Any, int], Record]
) -> AnyRecord | BadLineError:
    try:
        record: Record = sensible(lambda value: decode(value, number), _value(text))
    except BadLineError as error:
        return error
    return record


def _value(text: str) -> Any:
    """The JSON value, also where quotation marks are not those of JSON."""
    if len(text) >= MAX_LINE_BYTES:
        raise BadLineError(f"{len(text)} characters, the limit is {MAX_LINE_BYTES}")
    try:
        return _bounded(text)
    except BadLineError:
        straight = text.translate(_STRAIGHT)
        if straight == text:
            raise
        return _bounded(straight)


def _bounded(text: str) -> Any:
    """A value of finite numbers, not too deep."""
    if text.startswith("{"):
        return parse_object(text.encode("utf-8", "replace"))
    return parse_object(f'{{"line":{text}}}'.encode("utf-8", "replace"))["line"]
