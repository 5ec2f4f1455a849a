"""Core as a plugin: its hooks, and what answers them last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.plugins.plugin import hookimpl
from tilewright.vocabulary.target import Target

if TYPE_CHECKING:
    from types import ModuleType

    from tilewright.host.plugin_host import PluginHost
    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.task import Task


@hookimpl
def tilewright_hookspecs() -> Sequence[ModuleType]:
    """Core's own."""
    from tilewright.host import hookspecs

    return [hookspecs]


@hookimpl(trylast=True)
def tilewright_resolve_target(text: str) -> Target | None:
    """`kind:name=value,...`, asked last."""
    return Target.parse(text)


@hookimpl(trylast=True)
def tilewright_fallback_config(
    task: Task, space: ConfigSpace, host: PluginHost
) -> ConfigEntity | None:
    """What the strategies themselves advise, else the first feasible point."""
    from tilewright.host.fallback import fallback_configs

    return next(fallback_configs(task, space, host), None)
