"""When so many trials found no device, or no worker, that nothing is left to go on with."""

from __future__ import annotations

import logging
from collections.abc import Callable

from tilewright.vocabulary.measure import NO_WORKER, Failure, FailureKind
from tilewright_pipeline.context.events import EndReason

_MOST_LOSSES = 3  # each of them was tried twice
_log = logging.getLogger("tilewright")


class Losses:
    """Counts trials in a row that found no device, or whose workers were killed or cannot start.

    While `others` tells that the runner has devices left, none ends the run.
    """

    def __init__(self, device: str, others: Callable[[], bool]) -> None:
        self._device = device
        self._others = others
        self._in_a_row = 0
        self._reason: EndReason = "device_lost"

    @property
    def ends(self) -> bool:
        """Whether the device is gone, or every worker."""
        return self._in_a_row >= _MOST_LOSSES

    @property
    def reason(self) -> EndReason:
        """Which of the two."""
        return self._reason

    def note(self, failure: Failure | None) -> None:
        """Take a trial's failure into account, in the order of measurement."""
        gone = None if failure is None else self._gone(failure)
        self._in_a_row = self._in_a_row + 1 if gone and not self._others() else 0
        if failure is not None and self._in_a_row == _MOST_LOSSES:
            lost = failure.kind is FailureKind.DEVICE_LOST
            self._reason = "device_lost" if lost else "workers_lost"
            _log.warning("%s, tuning ends: %s", gone, failure.text)

    def _gone(self, failure: Failure) -> str | None:
        """What a trial lacked, None where it was not for want of a device or a worker."""
        if failure.kind is FailureKind.DEVICE_LOST:
            return f"the device {self._device} is lost"
        if failure.killed:
            return "workers are killed again and again"
        unstarted = failure.kind is FailureKind.INTERNAL and failure.text.startswith(NO_WORKER)
        return "nothing can be measured" if unstarted else None
