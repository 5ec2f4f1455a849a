"""Reads untrusted JSON objects within bounds, with one type of error for any fault."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from tilewright.errors import UsageError

MAX_LINE_BYTES = 2**20
"""Of a line of a records file, whatever its format."""
MAX_DEPTH = 32
_NESTED = dict, list


class BadLineError(ValueError):
    """A line that is no record; the text says why."""


class UnknownLineError(BadLineError):
    """A whole line of what is not known here: a later version, another operator."""


def parse_object(text: bytes) -> dict[str, Any]:
    """A JSON object of finite numbers, at most 32 deep. Raises BadLineError for anything else."""
    try:
        decoded = text.decode()
        data, end = _DECODER.raw_decode(decoded)
    except RecursionError:
        raise BadLineError("nested too deeply") from None
    except ValueError as error:
        raise BadLineError(f"no JSON: {error}") from None
    if end != len(decoded):
        raise BadLineError("more than one JSON value")
    if not isinstance(data, dict):
        raise BadLineError("no JSON object")
    # Looked into only where there are brackets enough.
    if text.count(b"[") + text.count(b"{") > MAX_DEPTH and not _is_flat(data, MAX_DEPTH):
        raise BadLineError(f"nested deeper than {MAX_DEPTH}")
    return data


def sensible(make: Callable[[Any], Any], data: Any) -> Any:
    """The result of decoding a line. Raises BadLineError where its value is not as expected.

    A line may hold anything, so every error that its types and numbers raise is the line's.
    """
    try:
        return make(data)
    except BadLineError:
        raise
    except KeyError as error:
        raise BadLineError(f"no member {error}"[:120]) from None
    except (
        *(TypeError, ValueError, AttributeError, LookupError, ArithmeticError),
        *(RecursionError, UsageError),
    ) as error:
        raise BadLineError(str(error)[:120]) from None


def _is_flat(data: dict[str, Any], depth: int) -> bool:
    """Looked at level by level: most values are numbers, of which nothing is called."""
    level: list[Any] = [data]
    for _ in range(depth):
        parts = (each.values() if type(each) is dict else each for each in level)
        level = [value for part in parts for value in part if type(value) in _NESTED]
        if not level:
            return True
    return False


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadLineError(f"{text} is no finite number")
    return value


# NaN and Infinity are words that JSON does not have; 1e999 is one that it has.
_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)
