"""The error for a component that no installed plugin offers, or that has to be named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.errors import UsageError, did_you_mean
from tilewright.plugins.catalogue import Offer
from tilewright.plugins.loading.distributions import (
    how_to_get,
    known_distributions,
    who_has_role,
    who_offers,
)
from tilewright.plugins.loading.owner import Owner
from tilewright.plugins.loading.plugin_loading import Plugin
from tilewright.plugins.offers import word_of

_OFTEN_OWN = ("operator", "reference")
"""Roles of which users have some in a file of their own, which each command has to be told."""


def unknown_name(
    role: str,
    name: str,
    offers: Mapping[str, Offer[Any]],
    plugins: Sequence[Plugin],
    another: str | None,
) -> UsageError:
    """The error for a name that is not among the known ones of a role.

    offers   the known ones
    plugins  all, for those that the user keeps out
    another  the role that has a component of that name
    """
    message = f"no {word_of(role)} named '{name}'"
    if another is not None:
        message = f"'{name}' is {_with_article(another)}, not {_with_article(role)}"
    exact = who_offers(role, name)
    blocked = _blocked(plugins)
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
    own = "--plugin FILE loads one of your own" if role in _OFTEN_OWN else ""
    unasked = _unblocked(role, blocked)
    return UsageError(message, remedy="; ".join(filter(None, (text, install, own, unasked))))


def _with_article(role: str) -> str:
    """`a tuner`, `an oracle`."""
    word = word_of(role)
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def default_name(role: str, offers: Mapping[str, Offer[Any]], plugins: Sequence[Plugin]) -> str:
    """The one that is declared as the default. Raises UsageError where none is, or several are."""
    rivals = {n: offer for n, offer in offers.items() if getattr(offer.value, "default", False)}
    if len(rivals) == 1:
        return next(iter(rivals))
    word, choose = word_of(role), f"name one: {' or '.join(rivals or offers)}"
    if rivals:
        said = " and ".join(f"'{name}' of {offer.owner}" for name, offer in rivals.items())
        raise UsageError(f"several are the default {word}: {said}", remedy=choose)
    blocked = _blocked(plugins)
    message, unasked = f"no {word} is the default", _unblocked(role, blocked)
    if not offers:
        kept_out = {owner.distribution for owner in blocked}
        message = f"no {word} is installed"
        choose = how_to_get([name for name in who_has_role(role) if name not in kept_out])
    raise UsageError(message, remedy="; ".join(filter(None, (choose, unasked))))


def _blocked(plugins: Sequence[Plugin]) -> list[Owner]:
    """Those that the user keeps out."""
    return [plugin.owner for plugin in plugins if plugin.state == "blocked"]


def _unblocked(role: str, blocked: Sequence[Owner]) -> str:
    kept_out = [owner.distribution for owner in blocked if _may_offer(owner, role)]
    return f"TILEWRIGHT_BLOCK_PLUGINS blocks {', '.join(kept_out)}" if kept_out else ""


def _may_offer(owner: Owner, role: str) -> bool:
    return owner.distribution not in known_distributions() or (
        owner.distribution in who_has_role(role)
    )
