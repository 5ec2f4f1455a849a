"""Registers what tilewright-models offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.plugins.plugin import hookimpl

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright_pipeline.dispatch.unmeasured import Advice, UnmeasuredTask


@hookimpl
def tilewright_advise(asked: UnmeasuredTask, host: PluginHost) -> Advice | None:
    from tilewright_models.advisor import advise
    from tilewright_models.cost_model import Machine
    from tilewright_models.installed import model_for

    return advise(asked, host, model_for(Machine.of(asked.device, asked.task.target), host))
