"""The config of a task that has no record: what a plugin advises, else the fallback."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.host.fallback import fallback_besides
from tilewright.strategies.dispatch import Advised, Answer

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.task import Task


@dataclass(frozen=True, slots=True)
class UnmeasuredTask:
    """What advice is asked about: a task, its configs, its fallback, and what it is to run on."""

    task: Task
    space: ConfigSpace
    fallback: ConfigEntity
    device: Device


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
    fallback = fallback_besides(failed, task, space, host)
    if device is None:
        return Answer(fallback, None, "fallback")
    found = _advice(UnmeasuredTask(task, space, fallback, device), host)
    if found is not None and found.config not in failed:
        return found
    return Answer(fallback, None, "fallback")


def _advice(asked: UnmeasuredTask, host: PluginHost) -> Advised | None:
    def wrong(answer: object) -> str:
        if not isinstance(answer, Advised):
            return f"expected an Advised, got a {type(answer).__name__}"
        fits = answer.config in asked.space
        return "" if fits else f"{answer.config.text[:200]} is no point of the space"

    found: Advised | None = host.decide("tilewright_advise", wrong, asked=asked, host=host)
    return found
