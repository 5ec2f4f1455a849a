"""Entry points of a group by name, where several distributions may have given one name."""

from __future__ import annotations

import importlib.metadata

from tilewright.plugins.catalogue import Catalogue, Offer
from tilewright.plugins.loading.owner import PLUGIN_GROUP, Owner, blocked_words, owner_of


def entry_point_choices(
    group: str, word: str, prefix: str = ""
) -> Catalogue[importlib.metadata.EntryPoint]:
    """What a group offers, without blocked plugins; the names of entry points `PREFIX.NAME`.

    A name that several distributions offer is an error only where it is used.
    """
    blocked = blocked_words()
    plugins = {
        owner_of(point).distribution: point.name
        for point in importlib.metadata.entry_points(group=PLUGIN_GROUP)
    }
    offers = {}
    for point in importlib.metadata.entry_points(group=group):
        head, _, name = point.name.rpartition(".")
        owner = owner_of(point)
        plugin = plugins.get(owner.distribution, owner.distribution)
        if head == prefix and not {owner.distribution, plugin} & blocked:
            owner = Owner(owner.distribution, owner.version, owner.module, plugin)
            offers[name, owner.distribution, point.value] = Offer(name, point, owner)
    return Catalogue(word, list(offers.values()))
