"""How many trials the rest of a budget pays for."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import ceil, inf
from typing import TYPE_CHECKING, Self

from tilewright.vocabulary.budget import Budget

if TYPE_CHECKING:
    from tilewright_pipeline.measuring.measurement import Measurement


class BudgetTracker:
    """A budget on its clock, which starts now; `measured` tells the trials since.

    `before` are seconds and trials that earlier calls spent of it; `pending` tells the trials under
    way, which are paid for. Amounts are in the budget's own unit, seconds or trials. Seconds become
    trials by `rate`, trials a second; where that tells None, by what a trial took so far, all in.
    """

    def __init__(
        self,
        budget: Budget,
        measured: Callable[[], int],
        before: tuple[float, int] = (0.0, 0),
        pending: Callable[[], int] = lambda: 0,
        rate: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._budget = budget
        self._measured = measured
        self._pending = pending
        self._rate = rate
        self._seconds_before, self._trials_before = before
        self._start = time.monotonic()

    @classmethod
    def of(
        cls, budget: Budget, measurement: Measurement, before: tuple[float, int] = (0.0, 0)
    ) -> Self:
        """The tracker of a budget that pays for a measurement, from now on."""
        measurement.uncharged_seconds()  # what came before it, such as reading history, is free
        spent = measurement.spent
        return cls(
            budget,
            lambda: spent.trials,
            before,
            lambda: measurement.pending,
            lambda: measurement.rate,
        )

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self._start

    @property
    def spent(self) -> int:
        """Trials, those of earlier calls too."""
        return self._trials_before + self._measured()

    @property
    def in_trials(self) -> bool:
        """Whether the budget is one of trials."""
        return self._budget.trials is not None

    @property
    def whole(self) -> float:
        """The budget."""
        return self._budget.seconds or 0.0 if self._budget.trials is None else self._budget.trials

    @property
    def left(self) -> float:
        """The unspent part; negative where the last batch took too long."""
        if self._budget.trials is None:
            return self.whole - self._elapsed
        return self.whole - self.spent - self._pending()

    @property
    def budget(self) -> Budget | None:
        """All of it; None of one without end."""
        return None if self._budget.seconds == inf else self._budget

    @property
    def rest(self) -> Budget | None:
        """What is left as a budget; None of one without end."""
        return self.budget and self.budget.less(self._elapsed, self.spent + self._pending())

    def trials(self, amount: float, each: float = 1.0) -> float:
        """How many trials an amount pays for; 0 until one was measured.

        each   how many times as long as those so far they take
        """
        if self._budget.trials is not None:
            return amount
        rate = self._rate()
        if rate is None:
            rate = self.spent / self._elapsed if self.spent else 0.0
        return amount * rate / each

    def cost(self, trials: int, each: float) -> int:
        """How many trials like those so far cost as much as these, each so many times as long."""
        return trials if self._budget.trials is not None else ceil(trials * each)

    def affordable(self, limit: int, *, keep: int = 0, each: float = 1.0) -> int:
        """Trials of a batch that are paid for when some are kept for later.

        At least one while there are seconds left, none are kept and none is under way. For `each`
        see `trials`.
        """
        left = self.left
        if left <= 0:
            return 0
        if self._budget.trials is not None:
            return max(0, int(min(limit, left - keep)))
        if not self.spent:
            return limit
        pending = self._pending()
        least = 0 if keep or pending else 1
        return max(least, int(min(limit, self.trials(left, each) - pending - keep)))

    @property
    def _elapsed(self) -> float:
        return self._seconds_before + self.seconds
