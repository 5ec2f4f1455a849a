"""What is known of a task that has no record: what a plugin advises, else the fallback."""

from __future__ import annotations

import random
from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from tilewright.errors import UsageError
from tilewright.host.fallback import fallback_configs
from tilewright.strategies.dispatch import Answer

if TYPE_CHECKING:
    from tilewright.host.contexts import Prior
    from tilewright.host.plugin_host import PluginHost
    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.task import Task

FALLBACK = "fallback"
"""The source of an answer that a strategy advises, where nobody measured."""

_MOST = 1e38


@dataclass(frozen=True, slots=True)
class Advised(Answer):
    """A config that nobody measured, which a plugin takes to be faster than the fallback.

    Its source says what the advice rests on, and how sure it is.
    """


@dataclass(frozen=True, slots=True)
class UnmeasuredTask:
    """What advice is asked about: a task, its configs, its fallback, and what it is to run on."""

    task: Task
    space: ConfigSpace
    fallback: ConfigEntity
    device: Device


@dataclass(frozen=True, slots=True)
class Advice:
    """What a plugin knows of such a task.

    choice  a config that it takes to be faster than the fallback, None where it is not sure
    starts  for tuners: points of the space that are likely to be fast, the likeliest first
    told    one line for people: what starts and prior rest on, and why there is no choice
    prior   for tuners: rates configs (see `Prior`); None where it cannot
    """

    choice: Advised | None
    starts: Sequence[ConfigEntity]
    told: str
    prior: Prior | None = None


def unmeasured(
    task: Task,
    space: ConfigSpace,
    host: PluginHost,
    device: Device | None,
    failed: Container[ConfigEntity] = (),
) -> Answer:
    """The advice for a task on a device, else its fallback; neither is in `failed` if that can be.

    Raises UsageError where no point of the space is feasible.
    """
    fallback = _fallback_besides(failed, task, space, host)
    if device is None:
        return Answer(fallback, None, FALLBACK)
    found = _asked(UnmeasuredTask(task, space, fallback, device), host)
    if found is None or found.choice is None or found.choice.config in failed:
        return Answer(fallback, None, FALLBACK)
    return found.choice


def advice(task: Task, space: ConfigSpace, host: PluginHost, device: Device) -> Advice | None:
    """What a plugin knows of a task on a device; None where none does."""
    if not space.sample_indexes(random.Random(0), 1, balanced=True):  # `first` takes far longer
        return None
    return _asked(UnmeasuredTask(task, space, host.fallback_config(task, space), device), host)


def _fallback_besides(
    failed: Container[ConfigEntity], task: Task, space: ConfigSpace, host: PluginHost
) -> ConfigEntity:
    """The host's fallback if it is not in `failed`; else the first advice that is not.

    Where all of it failed, the host's. Raises UsageError where no point is feasible.
    """
    first = host.fallback_config(task, space)
    advised = chain((first,), fallback_configs(task, space, host))
    return next((config for config in advised if config not in failed), first)


def _asked(asked: UnmeasuredTask, host: PluginHost) -> Advice | None:
    def wrong(answer: object) -> str:
        if not isinstance(answer, Advice):
            return f"expected an Advice, got a {type(answer).__name__}"
        choice = () if answer.choice is None else (answer.choice.config,)
        strange = (each for each in (*choice, *answer.starts) if each not in asked.space)
        return next((f"{each.text[:200]} is no point of the space" for each in strange), "")

    found: Advice | None = host.decide("tilewright_advise", wrong, asked=asked, host=host)
    if found is None or found.prior is None:
        return found
    return replace(found, prior=_checked(found.prior))


def _checked(prior: Prior) -> Prior:
    def rated(configs: Sequence[ConfigEntity]) -> Collection[float]:
        scores = prior(configs)
        is_list = isinstance(scores, Collection) and len(scores) == len(configs)
        if not is_list or not all(map(_is_score, scores)):
            raise UsageError(
                f"tilewright_advise: the prior gave {str(scores)[:60]}, expected a finite number "
                f"for each of {len(configs)} configs",
                remedy="mend or uninstall the plugin whose advice it is",
            )
        return scores

    return rated


def _is_score(value: object) -> bool:
    """Whether it is a number that models can compute with, in float32."""
    try:
        return abs(float(value)) < _MOST  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
