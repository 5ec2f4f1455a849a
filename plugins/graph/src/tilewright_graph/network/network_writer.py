"""The role behind `tilewright_network_writers`."""

from __future__ import annotations

from typing import Protocol

from tilewright_graph.network.network import Network


class NetworkWriter(Protocol):
    """Writes networks as files of one format, which other systems read."""

    def write(self, network: Network) -> bytes:
        """The network as a file; inner tensors keep their names.

        Raises UsageError for an operator that the format has none for.
        """
