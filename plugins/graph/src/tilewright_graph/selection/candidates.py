"""What a kernel may become: the best known config for each signature of layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from tilewright.errors import UsageError
from tilewright.host.fallback import advised_configs, fallback_configs
from tilewright.host.plugin_host import PluginHost
from tilewright.space.config_space import ConfigSpace
from tilewright.strategies.strategy import strategy_of
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_graph.extraction.transforms import TRANSFORM
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.dispatch.unmeasured import unmeasured

_PEAK_FLOPS = 5e10
_BANDWIDTH = 1e10
_LAUNCH_SECONDS = 1e-6
"""Assumed of a device that was not measured; a launch costs about this much on any."""

_AS_FAST, _BESIDE = 1.02, 2.5
"""Times as long as what a kernel has that others are taken to need: what should be as fast, but has
to gain something, and another strategy's advice. Depthwise convolutions in NCHW take 2.2, 2.6 and
2.7 times as long as in blocks of channels, in the medians of three processors with AVX-512."""
_MOVES = 4.0
"""Times as long as it computes, that what moves elements rather than computes reads and writes."""

_FEW = 8
"""Values of a knob that may be one of layouts."""

Accuracy = Literal["default", "strict"]
"""`default`, or `strict`: only strategies that keep the direct algorithm's numerical error."""


MAX_SCH_NUM = 20
"""Candidates of a kernel at most, by default, as in BaseGraphTuner."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A config with its layouts; `recorded` tells measured seconds from estimated ones."""

    config: ConfigEntity
    layouts: Layouts
    seconds: float
    recorded: bool


def recorded_candidates(
    task: Task, context: RunContext, accuracy: Accuracy = "default"
) -> tuple[Candidate, ...]:
    """The fastest recorded config for each signature of layouts, fastest first.

    Records count under equal conditions, on this device, of the installed revision of their
    strategy.
    """
    found: dict[object, Candidate] = {}
    context = context_of(task, context)
    host = context.host
    for record, seconds in context.history.ranked(task, _usable(task, context, accuracy)):
        layouts = host.layouts(task, record.config)
        candidate = Candidate(record.config, layouts, seconds, recorded=True)
        found.setdefault(layouts.signature, candidate)
    return tuple(found.values())


def find_candidates(
    task: Task,
    context: RunContext,
    accuracy: Accuracy = "default",
    max_sch_num: int = MAX_SCH_NUM,
) -> tuple[Candidate, ...]:
    """The recorded candidates and others worth measuring, fastest first.

    Where no record has its layouts, what `compile` would take without records is added with an
    estimate (the best of the anchor, the fallback), and so is the best config with one knob
    changed, as if it were as fast: who chooses it has it measured. What failed is left out, and so
    is all behind the first `max_sch_num`. Where nothing is left, the other strategies' advice is.
    """
    known = recorded_candidates(task, context, accuracy)
    found: dict[object, Candidate] = {c.layouts.signature: c for c in known}
    context = context_of(task, context)
    host, history = context.host, context.history
    usable = _usable(task, context, accuracy)
    failed = history.failed(task, usable)
    kin = history.kin(task, usable)

    guess = _guesser(task, host, lambda config: config not in failed and usable(config), found)
    for config in (*([kin.config] if kin else []), fallback_config(task, context, accuracy)):
        guess(config, estimated_seconds(task, context))
    if not found:
        for config in fallback_configs(task, allowed_space(task, context, accuracy), host):
            guess(config, estimated_seconds(task, context))
    best = min(found.values(), key=_rank, default=None)
    if best is not None:
        for config in _neighbours(best.config, host.space(task, context.strategies)):
            guess(config, best.seconds)
    return tuple(sorted(found.values(), key=_rank)[:max_sch_num])


def unmeasured_candidates(
    task: Task, config: ConfigEntity, context: RunContext, accuracy: Accuracy
) -> tuple[Candidate, ...]:
    """The config that a kernel has unmeasured, and others of its task for other layouts.

    Others are, by estimates: the same knobs of those of its strategy's other alternatives that read
    the same layouts, and, of what moves elements rather than computes, the config with one knob
    changed, both as fast; and what the operator's other strategies advise, far slower, for saving
    transforms that cost more than that. Raises what a strategy's `fallback` raises.
    """
    context = context_of(task, context)
    host = context.host
    space = allowed_space(task, context, accuracy)
    failed = context.history.failed(task)
    seconds = estimated_seconds(task, context)
    own = Candidate(config, host.layouts(task, config), seconds, recorded=False)
    found: dict[object, Candidate] = {own.layouts.signature: own}
    guess = _guesser(task, host, lambda c: space.is_valid(c) and c not in failed, found)
    for alternative in space.alternatives:
        same = ConfigEntity(alternative.name, config.values)
        if strategy_of(alternative.name) == strategy_of(config.strategy) and space.is_valid(same):
            read, _ = host.layouts(task, same).signature
            if read == own.layouts.signature[0]:
                guess(same, _AS_FAST * seconds)
    if _moves_elements(task, context):
        for other in _neighbours(config, space):
            guess(other, _AS_FAST * seconds)
    named = [a for a in space.alternatives if host.strategy(strategy_of(a.name)).operators]
    for other in advised_configs(task, ConfigSpace(named), host) if named else ():
        guess(other, _BESIDE * seconds)
    return tuple(found.values())


def _guesser(
    task: Task,
    host: PluginHost,
    fits: Callable[[ConfigEntity], bool],
    found: dict[object, Candidate],
) -> Callable[[ConfigEntity, float], None]:
    """A function that adds a config with estimated seconds, if it fits and its layouts are new."""

    def guess(config: ConfigEntity, seconds: float) -> None:
        if fits(config):
            layouts = host.layouts(task, config)
            candidate = Candidate(config, layouts, seconds, recorded=False)
            found.setdefault(layouts.signature, candidate)

    return guess


def _usable(task: Task, context: RunContext, accuracy: Accuracy) -> Callable[[ConfigEntity], bool]:
    """Whether a config is a feasible point of the task's space, and allowed."""
    host = context.host
    space = host.space(task, context.strategies)

    def usable(config: ConfigEntity) -> bool:
        return space.is_valid(config) and allowed(config.strategy, host, accuracy)

    return usable


def _rank(candidate: Candidate) -> tuple[float, bool]:
    """Fastest first; measured ones before the others, and then as the store ranks them."""
    return candidate.seconds, not candidate.recorded


def _neighbours(config: ConfigEntity, space: ConfigSpace) -> Iterator[ConfigEntity]:
    """Every config that differs in one of the knobs with few values; layouts are among those."""
    (alternative,) = (a for a in space.alternatives if a.name == config.strategy)
    for knob in alternative.knobs:
        if len(knob) <= _FEW:
            for value in knob.values:
                yield ConfigEntity(config.strategy, {**config.values, knob.name: value})


def allowed(strategy: str, host: PluginHost, accuracy: Accuracy) -> bool:
    """Whether a strategy, by its name or an alternative's, may be used at this accuracy."""
    return accuracy != "strict" or host.strategy(strategy).direct_error


def fallback_config(task: Task, context: RunContext, accuracy: Accuracy) -> ConfigEntity:
    """The config without any record. Raises UsageError where `strict` leaves no strategy."""
    space = allowed_space(task, context, accuracy)
    return unmeasured(task, space, context.host, context.device).config


def context_of(task: Task, context: RunContext) -> RunContext:
    """The run as a task sees it: `strategies` narrows kernels that have such, others take any."""
    own = "*" if task.workload.operator == TRANSFORM else context.history.narrowed(task)
    return context if own == context.strategies else replace(context, strategies=own)


def allowed_space(task: Task, context: RunContext, accuracy: Accuracy) -> ConfigSpace:
    """A task's space, of the strategies that the accuracy allows."""
    space = context.host.space(task, context_of(task, context).strategies)
    exact = [a for a in space.alternatives if allowed(a.name, context.host, accuracy)]
    if not exact:
        raise UsageError(
            f"every strategy for '{task.workload.operator}' has more than the direct error",
            remedy="use `accuracy: default`",
        )
    return ConfigSpace(exact)


def _moves_elements(task: Task, context: RunContext) -> bool:
    """Whether a kernel takes its time for memory, not for arithmetic."""
    arithmetic, memory = _estimates(task, context)
    return memory > _MOVES * arithmetic


def estimated_seconds(task: Task, context: RunContext) -> float:
    """A guess for a kernel: operations at half the peak or bytes at the bandwidth, and a launch."""
    return max(_estimates(task, context)) + _LAUNCH_SECONDS


def _estimates(task: Task, context: RunContext) -> tuple[float, float]:
    """Seconds for operations, and for bytes."""
    reference = context.host.reference(task.workload.operator)
    threads = task.target.threads
    flops = context.device.peak_flops.get(threads, _PEAK_FLOPS) / 2
    bandwidth = context.device.bandwidth.get(threads, _BANDWIDTH)
    workload = task.workload
    return reference.operations(workload) / flops, reference.bytes(workload) / bandwidth
