"""The store suite over every record store that this repository ships."""

from __future__ import annotations

from tilewright.host import PluginHost
from tilewright.testing.store import StoreContract


class TestJsonl(StoreContract):
    name = "jsonl"


def test_every_installed_store_has_a_suite() -> None:
    tested = {value.name for value in globals().values() if hasattr(value, "name")}
    assert set(PluginHost.load().components("record_store")) <= tested
