"""What a tuner is asked for, and what it proposes, once it is seen that it may."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any

from tilewright.vocabulary.config import ConfigEntity

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.options import Choice
    from tilewright.plugins.blamed import Blamed

_BATCH = 16


def batch_of(host: PluginHost, choice: Choice) -> int:
    """The tuner's option `batch`, 16 where it has none. Raises UsageError for bad options."""
    return int(getattr(host.check("tuner", choice), "batch", _BATCH))


def shared_things() -> Callable[[Any, Callable[[], Any]], Any]:
    """What `TunerContext.shared` is: one object a key, made by who asks first."""
    made: dict[Any, Any] = {}

    def shared(key: Any, make: Callable[[], Any]) -> Any:
        if key not in made:
            made[key] = make()
        return made[key]

    return shared


def proposed(
    tuner: Blamed, name: str, count: int, space: Container[ConfigEntity]
) -> Sequence[ConfigEntity]:
    """At most `count` points of the space. Raises RuntimeError that names the tuner's plugin."""
    with tuner.blaming():
        found = tuner.propose(count)
        if not isinstance(found, Sequence) or len(found) > count:
            got = len(found) if isinstance(found, Sequence) else repr(found)
            raise RuntimeError(
                f"the tuner '{name}' proposed {got}; expected at most {count} configs"
            )
        if strange := [config for config in found if config not in space]:
            first = strange[0]
            got = first.text if isinstance(first, ConfigEntity) else repr(first)
            raise RuntimeError(
                f"the tuner '{name}' proposed {got[:200]}, which is no feasible point of the "
                "task's space"
            )
        return found
