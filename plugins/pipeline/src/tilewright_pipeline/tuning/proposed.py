"""What a tuner proposes, once it is seen to be what a tuner may propose."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from tilewright.vocabulary.config import ConfigEntity

if TYPE_CHECKING:
    from tilewright.plugins.blamed import Blamed


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
