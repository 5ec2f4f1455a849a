"""Searches by the names that a command gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.options import Choice
from tilewright_search.cli.peers.peer_search import peer_search
from tilewright_search.cli.searches.curve import Search
from tilewright_search.cli.searches.tuner_search import tuner_search

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost


def named_searches(
    host: PluginHost, chosen: Sequence[Choice], baseline: Choice
) -> dict[str, Search]:
    """Tuners and peers by what they are told as, the baseline's first.

    Raises UsageError for one that is not installed, and for bad options.
    """
    return {
        title_of(choice): peer_search(choice.name) or tuner_search(host, choice)
        for choice in (baseline, *chosen)
    }


def title_of(choice: Choice) -> str:
    """What a choice is told as: its name, with options where it has some."""
    options = ", ".join(f"{name}={value}" for name, value in choice.options.items())
    return f"{choice.name} ({options})" if options else choice.name
