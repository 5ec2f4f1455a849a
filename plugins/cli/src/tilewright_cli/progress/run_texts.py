"""What a run has told, in words: what the live display and plain lines have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tilewright_pipeline.context.time_text import time_text

if TYPE_CHECKING:
    from tilewright_cli.progress.run_view import RunView
    from tilewright_pipeline.context.events import TuneProgress

_MINUTE, _HOUR = 60, 3600


def duration_text(seconds: float) -> str:
    """Whole seconds; from two minutes on with minutes, from two hours on with hours.

    >>> duration_text(75.4), duration_text(150), duration_text(7500)
    ('75 s', '2 min 30 s', '2 h 5 min')
    """
    whole = round(seconds)
    if whole < 2 * _MINUTE:
        return f"{whole} s"
    if whole < 2 * _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"


def total_text(tuning: TuneProgress) -> str:
    """The predicted total, or how many tasks still lack a time."""
    if tuning.total_seconds is not None:
        return time_text(tuning.total_seconds)
    timed = sum(state.best_seconds is not None for state in tuning.states)
    return f"- ({timed} of {len(tuning.states)} tasks have a time)"


def rate_text(view: RunView) -> str:
    """Trials a second of this run; empty until there were some."""
    rate = view.rate
    return "" if rate is None else f"{rate:.1f} a second"


def failures_text(failures: Mapping[str, int]) -> str:
    """Failures by kind, the commonest first; empty where there are none."""
    kinds = sorted(failures.items(), key=lambda kind: -kind[1])
    return ", ".join(f"{count} {kind}" for kind, count in kinds)


def left_text(view: RunView) -> str:
    """Time left of the stage, `?` where it is not known."""
    seconds, left = view.left_seconds, view.left
    if seconds is None:
        return "?"
    guessed = "about " if left is not None and left.trials is not None else ""
    return guessed + duration_text(seconds)


def spent_text(view: RunView) -> str:
    """What was spent of this run's part of the budget; empty where there is none."""
    left, whole = view.left, view.whole
    if left is None or whole is None:
        return ""
    if left.trials is not None and whole.trials is not None:
        return f"{whole.trials - left.trials} of {whole.trials} trials"
    spent, all_of_it = view.now - view.tuning_start, whole.seconds or 0.0
    return f"{duration_text(min(spent, all_of_it))} of {duration_text(all_of_it)}"


def problem_texts(view: RunView) -> Iterator[str]:
    """What is wrong with what is measured on, the worst first."""
    if view.machine is not None and not view.devices:
        yield from view.machine.problems()
    if (share := view.noisy_share) is not None:
        yield f"{share:.0%} of trials disturbed"


def calm_text(view: RunView) -> str:
    """What stands where no problem is known."""
    if count := len(view.devices):  # they are elsewhere: this machine's load is no matter
        return f"{count} device{'s' if count > 1 else ''}"
    return "calm" if view.machine is not None else "?"


def plain_line(view: RunView) -> str:
    """Where tuning stands, on one line of any length."""
    assert view.tuning is not None, "it is asked for while something is tuned"
    stage = view.stage_name
    trials = ", ".join(filter(None, [f"{view.tuning.trials} trials", rate_text(view)]))
    parts = (
        f"{stage or 'tune'}: {duration_text(view.now - view.tuning_start)}, {left_text(view)} left",
        f"total {total_text(view.tuning)}",
        trials,
        f"failures: {failures_text(view.failures) or 'none'}",
        f"machine: {', '.join(problem_texts(view)) or calm_text(view)}",
    )
    return "   ".join(parts)
