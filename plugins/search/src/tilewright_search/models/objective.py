"""What a task scheduler makes small: the latency of networks, weighted, down to their targets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tilewright.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from tilewright.roles import TaskState


class Objective:
    """The sum over networks of importance x max(latency, target).

    A network's latency is the sum over its tasks of occurrences x best time; tasks that name no
    network are one together.

    importance   by network, 1 where not named
    target_ms    one for every network, or by network; None: as fast as can be

    Source: Zheng et al., Ansor, OSDI 2020, table 2 (f2), with weights.
    """

    def __init__(
        self, importance: Mapping[str, float], target_ms: float | Mapping[str, float] | None
    ) -> None:
        self._importance = importance
        self._targets = target_ms if isinstance(target_ms, Mapping) else {}
        self._target = None if isinstance(target_ms, Mapping) else target_ms

    def check(self, networks: Iterable[str]) -> None:
        """Raise UsageError where importance or targets name a network that is none of these."""
        known = sorted(networks)
        for option, named in (("weights", self._importance), ("latency_target_ms", self._targets)):
            for name in named:
                if name not in known:
                    raise UsageError(
                        f"no network named '{name}'",
                        where=f"scheduler 'gradient': {option}",
                        remedy=did_you_mean(name, known)
                        if known
                        else "the tasks are of no network",
                    )

    def slopes(self, states: Sequence[TaskState]) -> list[float]:
        """The derivative of the objective by the time of each task.

        0 for a task whose networks all meet their targets. A task that ended without a time is left
        out: no batch of others makes up for it.
        """
        occurrences = [state.networks or {"": state.weight} for state in states]
        latencies: dict[str, float] = defaultdict(float)
        for state, networks in zip(states, occurrences, strict=True):
            unknown = 0.0 if state.exhausted else float("inf")
            seconds = unknown if state.best_seconds is None else state.best_seconds
            for name, count in networks.items():
                latencies[name] += count * seconds
        worth = {
            name: self._importance.get(name, 1.0) if self._is_slow(name, seconds) else 0.0
            for name, seconds in latencies.items()
        }
        return [
            sum(worth[name] * count for name, count in networks.items()) for networks in occurrences
        ]

    def _is_slow(self, name: str, seconds: float) -> bool:
        target = self._targets.get(name, self._target)
        return target is None or seconds * 1e3 > target
