"""How much of a page long texts may take."""

from __future__ import annotations

_LEAST = 400


class Room:
    """Bytes for programs and code, given to those that ask first."""

    def __init__(self, bytes_left: int) -> None:
        self._left = bytes_left

    @property
    def is_full(self) -> bool:
        """Whether no text of any use has room."""
        return self._left < _LEAST

    def has(self, text: str) -> bool:
        """Whether there is room for a text, which is taken then."""
        size = len(text.encode("utf-8", "replace")) + 4 * sum(map(text.count, "<>&"))
        if size > self._left:
            return False
        self._left -= size
        return True
