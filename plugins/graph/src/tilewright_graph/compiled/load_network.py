"""Loads a saved network of either kind."""

from __future__ import annotations

from pathlib import Path

from tilewright.host.plugin_host import PluginHost
from tilewright_graph.compiled.bucketed_network import BucketedNetwork
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.compiled.saved.saved_folder import BUCKETED, saved_version


def load_network(
    folder: Path, host: PluginHost, device: str | None
) -> CompiledNetwork | BucketedNetwork:
    """What the folder holds; see `CompiledNetwork.load`."""
    kind = BucketedNetwork if saved_version(folder) == BUCKETED else CompiledNetwork
    return kind.load(folder, host, device)
