"""Canonical JSON: the one text form from which keys and hashes are made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

_SCALARS = frozenset({int, float, str, bool, type(None)})


def canonical_json(value: Any) -> str:
    """Compact JSON with sorted keys; tuples become lists. Raises ValueError for NaN, infinities."""
    return _ENCODER.encode(value)


def content_key(value: Any) -> str:
    """First 16 hexadecimal digits of the SHA-256 of the canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:16]


def freeze(value: Any) -> Any:
    """The value with lists as tuples and mappings read-only, all the way down."""
    # Records are read by the hundred thousand: the cheap questions come first.
    if type(value) in _SCALARS:
        return value
    if isinstance(value, list | tuple):
        return tuple([freeze(item) for item in value])
    if isinstance(value, Mapping):
        return MappingProxyType({str(k): freeze(v) for k, v in value.items()})
    return value


def thaw(value: Any) -> Any:
    """The inverse of `freeze`: plain lists and dicts, ready for JSON."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    if isinstance(value, Mapping):
        return {k: thaw(v) for k, v in value.items()}
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, default=_plain)
