"""What plugins offer for one role; a name offered twice is an error only where it is used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from tilewright.errors import UsageError
from tilewright.plugins.loading.distributions import CORE, known_distributions
from tilewright.plugins.loading.owner import Owner

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Offer(Generic[V]):
    """One contribution: its own name, the value, and its owner."""

    name: str
    value: V
    owner: Owner


class Catalogue(Generic[V]):
    """Offers by the names that a user may choose them by.

    >>> catalogue.offers["grid"]           # offered once
    >>> catalogue.offers["acme/random"]    # offered twice: by owner, and by no shorter name
    >>> catalogue.find("acme/grid")        # 'grid': an owner may always be named

    separator  between owner and name in `offers`; a user always writes `/`
    renamed    gives a value the name that it has there
    """

    def __init__(
        self,
        word: str,
        offers: Sequence[Offer[V]],
        separator: str = "/",
        renamed: Callable[[V, str], V] = lambda value, _: value,
    ) -> None:
        self._word = word
        self._by_name: dict[str, list[Offer[V]]] = defaultdict(list)
        for offer in offers:
            self._by_name[offer.name].append(offer)
        shown: dict[str, Offer[V]] = {}
        for name, rivals in self._by_name.items():
            if len(rivals) == 1:
                shown[name] = rivals[0]
                continue
            for offer in rivals:
                long = f"{_word_of(offer, rivals)}{separator}{name}"
                shown[long] = replace(offer, value=renamed(offer.value, long))
        self.offers: Mapping[str, Offer[V]] = dict(sorted(shown.items()))

    def find(self, name: str) -> str | None:
        """The name in `offers` that a user's name means, None for an unknown one.

        Raises UsageError where several offer it, with owners and remedies.
        """
        if name in self.offers:
            return name
        if name in self._by_name:
            raise clash(self._word, name, self._by_name[name])
        word, slash, plain = name.rpartition("/")
        found = [
            shown
            for shown, offer in self.offers.items()
            if slash and offer.name == plain and word in offer.owner.words
        ]
        if len(found) > 1:
            raise clash(self._word, name, [self.offers[shown] for shown in found])
        return found[0] if found else None

    def has(self, name: str) -> bool:
        """Whether anybody offers a name, be it one or several."""
        return name in self._by_name

    def own(self, name: str, owner: object) -> str:
        """What a plugin means by a name: its own offer, where it is one of several."""
        for shown, offer in self.offers.items():
            if offer.name == name and offer.owner == owner:
                return shown
        return name

    def clashes(self) -> Iterator[UsageError]:
        """The error for a name that several plugins offer."""
        for name, rivals in self._by_name.items():
            if len(rivals) > 1:
                yield clash(self._word, name, rivals)


def clash(word: str, name: str, rivals: Sequence[Offer[Any]]) -> UsageError:
    """The error that names every owner, how to choose one, and how to block the others."""
    plain = name.rpartition("/")[2]
    offers = sorted(rivals, key=lambda offer: str(offer.owner))
    choices = " or ".join(f"'{_word_of(offer, rivals)}/{plain}'" for offer in offers)
    owners = " and ".join(str(offer.owner) for offer in offers)
    number = "two" if len(offers) == 2 else len(offers)
    return UsageError(
        f"{number} plugins offer the {word} '{plain}': {owners}",
        remedy=f"choose {choices}, or {how_to_be_rid([offer.owner for offer in offers])}",
    )


def how_to_be_rid(owners: Sequence[Owner]) -> str:
    """What to rename or block where owners clash; never a part of this project."""
    ways = [f"rename that of {owner.module}" for owner in owners if not owner.installed]
    installed = [owner.distribution for owner in owners if owner.installed]
    ours = {CORE, *known_distributions()}
    strangers = [name for name in installed if name not in ours]
    # Core cannot be blocked, and why lose a plugin of ours for a name in a file?
    blockable = strangers or [name for name in installed if name != CORE and not ways]
    if blockable:
        ways.append(f"block one: TILEWRIGHT_BLOCK_PLUGINS={' or '.join(blockable)}")
    return ", or ".join(ways) or "uninstall one"


def _word_of(offer: Offer[Any], rivals: Sequence[Offer[Any]]) -> str:
    """The first of its owner's words that means none of the others."""
    taken = {word for rival in rivals if rival is not offer for word in rival.owner.words}
    return next((word for word in offer.owner.words if word not in taken), offer.owner.words[-1])
