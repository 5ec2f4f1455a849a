"""What core itself offers, registered as any plugin's components are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.plugins.plugin import hookimpl
from tilewright.vocabulary.target import Target

if TYPE_CHECKING:
    from tilewright.plugins.host import PluginHost
    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.task import Task


@hookimpl(trylast=True)
def tilewright_resolve_target(text: str) -> Target | None:
    """`kind:name=value,...`, asked last."""
    return Target.parse(text)


@hookimpl(trylast=True)
def tilewright_fallback_config(
    task: Task, space: ConfigSpace, host: PluginHost
) -> ConfigEntity | None:
    """What the strategies themselves advise, else the first feasible point."""
    from tilewright.strategies.fallback import fallback_configs

    return next(fallback_configs(task, space, host), None)
