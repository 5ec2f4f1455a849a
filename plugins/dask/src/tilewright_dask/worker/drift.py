"""Whether a device is as fast as it usually is, by a candidate that is measured again and again."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from statistics import median

_LOOKS = 3
_REMEMBERED = 9
_REFERENCES = 8
_STEADY = 3
"""So often in a row at one new speed, and that is how fast it is now."""


class Drift:
    """Follows one device; what it is measured by is named by a key.

    >>> drift = Drift()
    >>> drift.look("key", measure, limit=0.2)   # 0.0: the first tells what is usual
    >>> drift.look("key", measure, limit=0.2)   # 0.25: slower by a quarter, also when looked again
    >>> drift.latest, drift.took               # at the last look: the share, and the seconds
    """

    def __init__(self) -> None:
        self.latest = 0.0
        self.took: float | None = None
        self._usual: OrderedDict[str, deque[float]] = OrderedDict()
        self._off: list[float] = []  # seconds, as often in a row as it was slower than the limit

    def look(self, key: str, measure: Callable[[], float | None], limit: float) -> float:
        """By which share it is slower than usual; where that is beyond the limit, at three looks.

        `measure` gives seconds, or None where it cannot: that tells nothing. A device that stays
        at another speed is taken as it is then.
        """
        seconds: float | None = None
        for _ in range(_LOOKS):
            found = measure()
            if found is None:
                return 0.0
            seconds = found if seconds is None else min(seconds, found)
            self.took = seconds
            self.latest = self._share(key, seconds)
            if self.latest <= limit:
                break
        assert seconds is not None
        if self.latest > limit and not self._is_steady(seconds, limit):
            return self.latest
        self._note(key, seconds, anew=abs(self.latest) > limit)
        self._off.clear()
        return 0.0

    def speed(self, key: str) -> float | None:
        """The least of what it lately took, in seconds; None where it was not looked at."""
        return min(self._usual.get(key, ()), default=None)

    def _share(self, key: str, seconds: float) -> float:
        known = self._usual.get(key)
        return seconds / median(known) - 1 if known else 0.0

    def _is_steady(self, seconds: float, limit: float) -> bool:
        self._off.append(seconds)
        last = self._off[-_STEADY:]
        return len(last) == _STEADY and max(last) <= (1 + limit) * min(last)

    def _note(self, key: str, seconds: float, *, anew: bool) -> None:
        if anew:  # faster than ever, or slower for good
            self._usual.pop(key, None)
            self.latest = 0.0
        self._usual.setdefault(key, deque(maxlen=_REMEMBERED)).append(seconds)
        self._usual.move_to_end(key)
        while len(self._usual) > _REFERENCES:
            self._usual.popitem(last=False)
