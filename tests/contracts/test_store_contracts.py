"""The store suite over every record store that this repository ships."""

from __future__ import annotations

from tilewright_testing.store import StoreContract


class TestJsonl(StoreContract):
    name = "jsonl"
