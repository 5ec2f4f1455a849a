"""The searches of other systems by name: `SYSTEM:SEARCH`."""

from __future__ import annotations

from tilewright.errors import UsageError, did_you_mean
from tilewright_search.cli.searches.curve import Search

SYSTEMS = ("kernel_tuner", "optuna")


def peer_search(name: str) -> Search | None:
    """The search of a name such as `optuna:tpe`; None for a name without a colon, an own tuner's.

    Raises UsageError for an unknown one, and where its packages are not installed.
    """
    system, colon, searcher = name.partition(":")
    if not colon:
        return None
    try:
        if system == "optuna":
            from tilewright_search.cli.peers.optuna_search import optuna_search

            return optuna_search(searcher)
        if system == "kernel_tuner":
            from tilewright_search.cli.peers.kernel_tuner_search import kernel_tuner_search

            return kernel_tuner_search(searcher)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the peer needs {error.name}, which is not installed",
            where=name,
            remedy="pip install 'tilewright-search[peers]'",
        ) from None
    raise UsageError(f"no peer '{system}'", where=name, remedy=did_you_mean(system, [*SYSTEMS]))
