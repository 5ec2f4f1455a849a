"""Hooks that tilewright-search adds: cost models, and the features they see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.plugins.plugin import Component, hookspec

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.task import Task
    from tilewright_search.models.features import Features
    from tilewright_search.models.interface import CostModel


@hookspec
def tilewright_cost_models() -> Sequence[Component[CostModel]]:
    """Cost models; the factory is called with (options, TunerContext).

    First implementer: search (`xgboost`, `ridge`).
    """
    raise NotImplementedError


@hookspec(firstresult=True)
def tilewright_featurize(
    task: Task, configs: Sequence[ConfigEntity], host: PluginHost
) -> Features | None:
    """Features of some configs, one row for each; None where their programs are not known.

    `host.lower(task, config)` gives a config's program. Asked once for each batch of candidates, so
    a row should cost little more than that. Columns are matched by name between calls. First
    implementer: tensor (loop features); default: the knob encoding of search.
    """
    raise NotImplementedError
