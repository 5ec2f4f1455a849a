"""What a misplaced name or option means elsewhere, for messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tilewright.plugins.offers import word_of
from tilewright.plugins.plugin import Component

if TYPE_CHECKING:
    from tilewright.plugins.component_host import ComponentHost


def takers_of(option: str, host: ComponentHost) -> list[str]:
    """The components that take an option of this name: `graph tuner 'greedy'`."""
    found = []
    for role, name, component in _components(host):
        with suppress(Exception):  # whose options cannot be read takes none
            if option in component.options().model_fields:
                found.append(f"{role} '{name}'")
    return found


def role_of_name(name: str, host: ComponentHost) -> str | None:
    """What a component of this name is, with its article: `a graph tuner`."""
    roles = [role for role, known, _ in _components(host) if known == name]
    return with_article(roles[0]) if roles else None


def with_article(word: str) -> str:
    """`a tuner`, `an oracle`."""
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def _components(host: ComponentHost) -> Iterator[tuple[str, str, Component[Any]]]:
    for role in host.roles():
        for name, component in host.components(role).items():
            if isinstance(component, Component):
                yield word_of(role), name, component
