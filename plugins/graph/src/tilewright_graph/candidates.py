"""What a kernel may become: the best known config for each signature of layouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tilewright.config import ConfigEntity
from tilewright.errors import UsageError
from tilewright.host import PluginHost
from tilewright.layouts import Layouts
from tilewright.roles import RunContext
from tilewright.space.config_space import ConfigSpace
from tilewright.task import Task

_PEAK_FLOPS = 5e10
_BANDWIDTH = 1e10
_LAUNCH_SECONDS = 1e-6
"""Assumed of a device that was not measured; a launch costs about this much on any."""

Accuracy = Literal["default", "strict"]
"""`default`, or `strict`: only strategies that keep the direct algorithm's numerical error."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A config with its layouts; `recorded` tells measured seconds from estimated ones."""

    config: ConfigEntity
    layouts: Layouts
    seconds: float
    recorded: bool


def find_candidates(
    task: Task, context: RunContext, accuracy: Accuracy = "default"
) -> tuple[Candidate, ...]:
    """The fastest recorded config for each signature of layouts, fastest first.

    Records count under equal conditions, on this device, of the installed revision of their
    strategy. The fallback config is added where its layouts are not among the recorded ones.
    """
    host = context.host
    space = host.space(task, context.strategies)

    def signature(config: ConfigEntity) -> object:
        return host.layouts(task, config).signature

    records = context.store.best_per(
        signature,
        task,
        context.conditions.for_workload(task.workload),
        context.device.fingerprint,
        host.revisions,
        where=lambda config: space.is_valid(config) and allowed(config, host, accuracy),
    )
    found = [
        Candidate(record.config, host.layouts(task, record.config), record.seconds, recorded=True)
        for record in records.values()
        if record.seconds is not None
    ]
    fallback = fallback_config(task, context, accuracy)
    if signature(fallback) not in records:
        layouts = host.layouts(task, fallback)
        found.append(Candidate(fallback, layouts, estimated_seconds(task, context), recorded=False))
    return tuple(sorted(found, key=lambda c: (c.seconds, c.config.text)))


def allowed(config: ConfigEntity, host: PluginHost, accuracy: Accuracy) -> bool:
    """Whether the config's strategy may be used at this accuracy."""
    return accuracy != "strict" or host.strategy(config.strategy).direct_error


def fallback_config(task: Task, context: RunContext, accuracy: Accuracy) -> ConfigEntity:
    """The config without any record. Raises UsageError where `strict` leaves no strategy."""
    host = context.host
    space = host.space(task, context.strategies)
    exact = [
        a for a in space.alternatives if accuracy != "strict" or host.strategy(a.name).direct_error
    ]
    if not exact:
        raise UsageError(
            f"every strategy for '{task.workload.operator}' has more than the direct error",
            remedy="use `accuracy: default`",
        )
    return host.fallback_config(task, ConfigSpace(exact))


def estimated_seconds(task: Task, context: RunContext) -> float:
    """A guess for a kernel: operations at half the peak or bytes at the bandwidth, and a launch."""
    reference = context.host.reference(task.workload.operator)
    threads = task.target.threads
    flops = context.device.peak_flops.get(threads, _PEAK_FLOPS) / 2
    bandwidth = context.device.bandwidth.get(threads, _BANDWIDTH)
    arithmetic = reference.operations(task.workload) / flops
    return max(arithmetic, reference.bytes(task.workload) / bandwidth) + _LAUNCH_SECONDS
