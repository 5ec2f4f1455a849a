"""When so many trials found no device that nothing is left to go on with."""

from __future__ import annotations

import logging
from collections.abc import Callable

from tilewright.vocabulary.measure import Failure, FailureKind
from tilewright_pipeline.context.events import EndReason

_MOST_LOSSES = 3  # each of them was tried twice
_log = logging.getLogger("tilewright")


class Losses:
    """Counts trials in a row that found no device, or whose workers were killed.

    While `others` tells that the runner has devices left, none ends the run.
    """

    def __init__(self, device: str, others: Callable[[], bool]) -> None:
        self._device = device
        self._others = others
        self._in_a_row = 0
        self._killed = False  # the last of them

    @property
    def ends(self) -> bool:
        """Whether the device is gone, or every worker is killed."""
        return self._in_a_row >= _MOST_LOSSES

    @property
    def reason(self) -> EndReason:
        """Which of the two."""
        return "workers_lost" if self._killed else "device_lost"

    def note(self, failure: Failure | None) -> None:
        """Take a trial's failure into account, in the order of measurement."""
        lost = failure is not None and (failure.kind is FailureKind.DEVICE_LOST or failure.killed)
        self._in_a_row = self._in_a_row + 1 if lost and not self._others() else 0
        if failure is not None and self._in_a_row == _MOST_LOSSES:
            self._killed = failure.killed
            gone = f"the device {self._device} is lost"
            gone = "workers are killed again and again" if self._killed else gone
            _log.warning("%s, tuning ends: %s", gone, failure.text)
