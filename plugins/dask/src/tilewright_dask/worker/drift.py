"""Whether a device is as fast as it usually is, by a candidate that is measured again and again."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence

_TRIES = 3
_REMEMBERED = 9
_REFERENCES = 8
_OFTEN = 3
"""So often among the looks that are remembered, and it is usual."""


class Drift:
    """Follows one device; what it is measured by is named by a key.

    Usual is what it exceeds in two of the last nine looks, of the one at hand too. So a device that
    stays at another speed is taken as it is from the third look on, and one that is slow again and
    again, as on a host that others work on, is not set aside each time.

    >>> drift = Drift()
    >>> drift.look("key", measure, limit=0.2)   # 0.0: the first tells what is usual
    >>> drift.look("key", measure, limit=0.2)   # 0.25: slower by a quarter, also when tried again
    >>> drift.latest, drift.took               # at the last look: the share, and the seconds
    """

    def __init__(self) -> None:
        self.latest = 0.0
        self.took: float | None = None
        self._looks: OrderedDict[str, deque[float]] = OrderedDict()

    def look(self, key: str, measure: Callable[[], float | None], limit: float) -> float:
        """By which share it is slower than usual where that is beyond the limit, else 0.

        `measure` gives seconds, or None where it cannot: that tells nothing. It is tried again
        where it is slow, for what passes at once is no drift.
        """
        seconds: float | None = None
        self.latest, self.took = 0.0, None
        for _ in range(_TRIES):
            found = measure()
            if found is None:
                return 0.0
            self.took = seconds = found if seconds is None else min(seconds, found)
            self.latest = seconds / _usual([*self._looks.get(key, ()), seconds]) - 1
            if self.latest <= limit:
                break
        assert seconds is not None
        self._note(key, seconds)
        return self.latest if self.latest > limit else 0.0

    def speed(self, key: str) -> float | None:
        """The least of what it lately took, in seconds; None where it was not looked at."""
        return min(self._looks.get(key, ()), default=None)

    def _note(self, key: str, seconds: float) -> None:
        self._looks.setdefault(key, deque(maxlen=_REMEMBERED)).append(seconds)
        self._looks.move_to_end(key)
        while len(self._looks) > _REFERENCES:
            self._looks.popitem(last=False)


def _usual(looks: Sequence[float]) -> float:
    """Of at least one look, the last of them at hand."""
    slowest = sorted(looks[-_REMEMBERED:], reverse=True)
    return slowest[min(_OFTEN, len(slowest)) - 1]
