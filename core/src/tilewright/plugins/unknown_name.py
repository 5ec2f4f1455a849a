"""The error for a component that no installed plugin offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.errors import UsageError, did_you_mean
from tilewright.plugins.catalogue import Offer
from tilewright.plugins.elsewhere import with_article
from tilewright.plugins.loading.distributions import (
    how_to_get,
    known_distributions,
    who_has_role,
    who_offers,
)
from tilewright.plugins.offers import word_of
from tilewright.plugins.owner import Owner

_OFTEN_OWN = ("operator", "reference")
"""Roles of which users have some in a file of their own, which each command has to be told."""


def unknown_name(
    role: str,
    name: str,
    offers: Mapping[str, Offer[Any]],
    blocked: Sequence[Owner],
    another: str | None,
) -> UsageError:
    """The error for a name that is not among the known ones of a role.

    offers   the known ones
    blocked  of the plugins that the user keeps out
    another  what a component of that name is, in another role
    """
    message = f"no {word_of(role)} named '{name}'"
    if another is not None:
        message = f"'{name}' is {another}, not {with_article(word_of(role))}"
    exact = who_offers(role, name)
    for owner in blocked:
        if owner.distribution in exact:
            return UsageError(
                f"{message}: it is of {owner.source}, which is blocked",
                remedy=f"take {owner.distribution} out of TILEWRIGHT_BLOCK_PLUGINS",
            )
    text = did_you_mean(name, list(offers), none="none is installed")
    if sources := sorted({offer.owner.source for offer in offers.values()}):
        text += f" (from {', '.join(sources)})"
    install = how_to_get(exact or (() if offers else who_has_role(role)))
    kept_out = [owner.distribution for owner in blocked if _may_offer(owner, role)]
    own = "--plugin FILE loads one of your own" if role in _OFTEN_OWN else ""
    unasked = f"TILEWRIGHT_BLOCK_PLUGINS blocks {', '.join(kept_out)}" if kept_out else ""
    return UsageError(message, remedy="; ".join(filter(None, (text, install, own, unasked))))


def _may_offer(owner: Owner, role: str) -> bool:
    return owner.distribution not in known_distributions() or (
        owner.distribution in who_has_role(role)
    )
