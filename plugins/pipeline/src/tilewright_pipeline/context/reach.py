"""Where a run's devices are: on this machine, or where its runner reaches them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from tilewright.roles import ReachesDevices
from tilewright.vocabulary.target import Target

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.options import Choice

ResolvesTarget: TypeAlias = Callable[[Target | str | None], Target]


def reaching(runner: Choice | None, host: PluginHost) -> ReachesDevices | None:
    """The runner's options where its devices are elsewhere; None of one that measures here.

    None also for a runner that is not installed, which is told where it is made. Raises UsageError
    for wrong options.
    """
    if runner is None or not runner.name or runner.name not in host.components("runner"):
        return None
    options = host.check("runner", runner)
    return options if isinstance(options, ReachesDevices) else None


def resolver(runner: Choice | None, host: PluginHost) -> ResolvesTarget:
    """What a target's text means where the run measures; it raises UsageError."""
    there = reaching(runner, host)
    if there is None:
        return host.resolve_target
    return lambda text: there.resolve_target(None if text is None else str(text))
