"""The installed strategies, and which of them a user's glob means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from tilewright.errors import UsageError, did_you_mean
from tilewright.plugins.catalogue import Catalogue, Offer
from tilewright.strategies.strategy import Strategy, selects, strategy_of
from tilewright.vocabulary.revisions import Revisions

if TYPE_CHECKING:
    from tilewright.roles import Reference
    from tilewright.space.alternative import Alternative
    from tilewright.space.config_space import ConfigSpace
    from tilewright.strategies.strategy import Declined
    from tilewright.vocabulary.target import Target
    from tilewright.vocabulary.task import Task

SEPARATOR = ":"
"""Behind the owner in the name of a strategy that several offer; a variant follows a `/`."""


class StrategySet:
    """Strategies by name, and by glob: `GLOB` over names of alternatives, or `OWNER/GLOB`.

    A glob matches names of before as well.

    revisions   what is installed of them, and which names they had
    """

    def __init__(self, catalogue: Catalogue[Strategy]) -> None:
        self._catalogue = catalogue
        offers = catalogue.offers
        claims = Counter(alias for offer in offers.values() for alias in offer.value.aliases)
        renamed = {
            alias: name
            for name, offer in offers.items()
            for alias in offer.value.aliases
            # Which of two is meant nobody can tell; and what has a name now has it alone.
            if claims[alias] == 1 and not catalogue.has(alias)
        }
        installed = {name: offer.value.revision for name, offer in offers.items()}
        self.revisions = Revisions(installed, renamed)

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
        strategy = strategy_of(alternative)
        offer = self._catalogue.offers.get(strategy)
        if offer is None:  # of a record; its plugin is gone
            return owner is None and selects(glob, alternative)
        variant = alternative.removeprefix(strategy)
        owned = owner is None or owner in offer.owner.words
        return owned and any(selects(glob, f"{name}{variant}") for name in _names(offer, strategy))

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
        own = [name for one in offers if word in one.owner.words for name in _names(one, one.name)]
        is_strategy = any(word in _names(one, one.name) for one in offers)
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


def infeasible(task: Task, space: ConfigSpace, reference: Reference | None) -> UsageError:
    """The error that names the task and what its space asks for."""
    operator = task.workload.operator
    name = reference.format(task.workload) if reference is not None else f"{operator} {task.key}"
    reasons = (f"{a.name}: {'; '.join(_demands(a))}" for a in space.alternatives)
    return UsageError(
        f"no feasible config for {name} on {task.target}",
        remedy=f"relax what its strategies ask for, or add one; {', '.join(reasons)}",
    )


def _demands(alternative: Alternative) -> Iterator[str]:
    for knob in alternative.knobs:
        if not len(knob):
            yield f"the knob '{knob.name}' has no values"
    yield from map(str, alternative.constraints)


def _matches(offer: Offer[Strategy], name: str, owner: str | None, glob: str) -> bool:
    """Whether a strategy, by any of its names, is meant."""
    owned = owner is None or owner in offer.owner.words
    return owned and any(fnmatchcase(one, glob) for one in _names(offer, name))


def _names(offer: Offer[Strategy], name: str) -> tuple[str, ...]:
    """The name that a strategy goes by, its author's, and those that it had before."""
    return name, offer.name, *offer.value.aliases


def for_their_own(
    offers: Sequence[Offer[Strategy]], kinds: Catalogue[Any], operators: Catalogue[Any]
) -> list[Offer[Strategy]]:
    """The strategies for their own plugins' targets and operators, where several have the name."""
    found = []
    for offer in offers:
        one, owner = offer.value, offer.owner
        own = replace(
            one,
            target_kinds=tuple(kinds.own(kind, owner) for kind in one.target_kinds),
            operators=tuple(operators.own(name, owner) for name in one.operators),
        )
        found.append(replace(offer, value=own))
    return found
