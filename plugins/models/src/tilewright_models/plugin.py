"""Registers what tilewright-models offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.plugins.plugin import hookimpl

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.space.config_space import ConfigSpace
    from tilewright.strategies.dispatch import Advised
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.task import Task


@hookimpl
def tilewright_advise(
    task: Task, space: ConfigSpace, fallback: ConfigEntity, device: Device, host: PluginHost
) -> Advised | None:
    from tilewright_models.advisor import advise
    from tilewright_models.cost_model import packaged_model

    return advise(task, space, fallback, device, host, model=packaged_model())
