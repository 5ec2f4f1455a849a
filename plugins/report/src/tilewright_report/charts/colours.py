"""Which colour a name has, the same all over a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_COLOURS = 7
OTHERS = "s7"


def colours_of(names: Iterable[str]) -> Mapping[str, str]:
    """A class for each name, in order: seven have their own, the others share a grey."""
    distinct = dict.fromkeys(names)
    return {
        name: f"s{place}" if place < _COLOURS else OTHERS for place, name in enumerate(distinct)
    }
