"""Registers what tilewright-models offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.plugins.plugin import hookimpl

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright_pipeline.dispatch.unmeasured import Advice, UnmeasuredTask


@hookimpl
def tilewright_advise(asked: UnmeasuredTask, host: PluginHost) -> Advice | None:
    from tilewright_models.installed import advice_of_models

    return advice_of_models(asked, host)
