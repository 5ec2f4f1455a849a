"""The config of a task that has no record: what a plugin advises, else the fallback."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from tilewright.host.fallback import fallback_besides
from tilewright.strategies.dispatch import Advised, Answer

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.task import Task


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
    found = None if device is None else _advice(task, space, fallback, device, host)
    if found is not None and found.config not in failed:
        return found
    return Answer(fallback, None, "fallback")


def _advice(
    task: Task, space: ConfigSpace, fallback: ConfigEntity, device: Device, host: PluginHost
) -> Advised | None:
    def wrong(answer: object) -> str:
        if not isinstance(answer, Advised):
            return f"expected an Advised, got a {type(answer).__name__}"
        fits = answer.config in space
        return "" if fits else f"{answer.config.text[:200]} is no point of the space"

    asked = {"task": task, "space": space, "fallback": fallback, "device": device, "host": host}
    found: Advised | None = host.decide("tilewright_advise", wrong, **asked)
    return found
