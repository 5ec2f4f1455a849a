"""The installed strategies, and which of them a user's glob means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tilewright.errors import UsageError, did_you_mean
from tilewright.plugins.catalogue import Catalogue, Offer
from tilewright.strategies.strategy import Strategy, selects, strategy_of

if TYPE_CHECKING:
    from tilewright.space.alternative import Alternative
    from tilewright.strategies.strategy import Declined
    from tilewright.vocabulary.target import Target
    from tilewright.vocabulary.task import Task

SEPARATOR = ":"
"""Behind the owner in the name of a strategy that several offer; a variant follows a `/`."""


class StrategySet:
    """Strategies by name, and by glob: `GLOB` over names of alternatives, or `OWNER/GLOB`."""

    def __init__(self, catalogue: Catalogue[Strategy]) -> None:
        self._catalogue = catalogue

    @property
    def by_name(self) -> Mapping[str, Strategy]:
        """All of them."""
        return {name: offer.value for name, offer in self._catalogue.offers.items()}

    def serving(self, task: Task, pattern: str) -> Iterator[Strategy]:
        """Those for the operator and kind of target of which the glob leaves anything.

        Raises UsageError for a name, no glob, that several offer.
        """
        owner, glob = self._meant(pattern)
        for name, offer in self._catalogue.offers.items():
            if _matches(offer, name, owner, strategy_of(glob)) and offer.value.serves(task):
                yield offer.value

    def selects(self, pattern: str, alternative: str) -> bool:
        """Whether a glob means an alternative."""
        owner, glob = self._parts(pattern)
        offer = self._catalogue.offers.get(strategy_of(alternative))
        if offer is None:  # of a record; its plugin is gone
            return owner is None and selects(glob, alternative)
        own = offer.name + alternative.removeprefix(strategy_of(alternative))
        owned = owner is None or owner in offer.owner.words
        return owned and (selects(glob, alternative) or selects(glob, own))

    def check(self, pattern: str, target: Target, where: str) -> None:
        """Raise UsageError where no strategy for this kind of target has a name that matches.

        As well for a name, no glob, that several offer.
        """
        try:
            owner, glob = self._meant(pattern)
        except UsageError as error:
            raise error.placed(where) from None
        wanted = strategy_of(glob)
        offers = self._catalogue.offers.items()
        known = {name: one for name, one in offers if target.kind in one.value.target_kinds}
        if known and not any(_matches(one, name, owner, wanted) for name, one in known.items()):
            message = f"no strategy for {target} matches '{pattern}'"
            raise UsageError(message, where=where, remedy=did_you_mean(wanted, list(known)))

    def _meant(self, pattern: str) -> tuple[str | None, str]:
        """As `_parts`. Raises UsageError for a name that several offer."""
        owner, glob = self._parts(pattern)
        if owner is None:
            self._catalogue.find(strategy_of(glob))
        return owner, glob

    def _parts(self, pattern: str) -> tuple[str | None, str]:
        """The owner before a `/`, None where that is a strategy's name; and the glob."""
        word, slash, rest = pattern.partition("/")
        offers = self._catalogue.offers.values()
        own = [offer.name for offer in offers if word in offer.owner.words]
        is_strategy = any(offer.name == word for offer in offers)
        if slash and own and (not is_strategy or strategy_of(rest) in own):
            return word, rest
        return None, pattern


def nothing_left(
    task: Task, glob: str, every: Sequence[Alternative], declined: Sequence[Declined]
) -> UsageError:
    """The message where a glob leaves a task none of its alternatives, `every`."""
    known = [alternative.name for alternative in every]
    narrowed = f" matches '{glob}'" if known else ""
    return UsageError(
        f"no strategy for '{task.workload.operator}' on {task.target}{narrowed}",
        remedy="; ".join(map(str, declined))
        or (did_you_mean(glob, known) if known else "")
        or "`tilewright new plugin NAME --kind strategy` writes one",
    )


def _matches(offer: Offer[Strategy], name: str, owner: str | None, glob: str) -> bool:
    """Whether a strategy, by the name that it goes by or by its author's, is meant."""
    owned = owner is None or owner in offer.owner.words
    return owned and (fnmatchcase(name, glob) or fnmatchcase(offer.name, glob))
