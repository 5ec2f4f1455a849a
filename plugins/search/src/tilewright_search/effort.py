"""Where a search's own time goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Effort:
    """Seconds that the tuners of a run spent thinking, by part; `context.shared` keeps one a run.

    >>> with effort.on("fit"):
    ...     model.fit(features, scores, groups)
    >>> effort.seconds
    {'fit': 0.031}

    A part inside another is taken out of the outer one's time, so that the parts add up.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._inner: list[float] = []

    @contextmanager
    def on(self, part: str) -> Iterator[None]:
        """Count what happens inside as this part."""
        self._inner.append(0.0)
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            own = spent - self._inner.pop()
            self.seconds[part] = self.seconds.get(part, 0.0) + own
            if self._inner:
                self._inner[-1] += spent
