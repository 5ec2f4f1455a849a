"""Oracle `reference`: a network as it was read, computed by the definitions of its operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import NoOptions
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.network import Network
from tilewright_graph.verification.oracle import ReadsFiles
from tilewright_tensor.operators.operators import Operators

WHEN_NAMED = "when-named"
"""A capability: an oracle that has it gives answers only where it is asked for by name."""


@runtime_checkable
class RunsNetworks(Protocol):
    """An optional part of an `Oracle`: it runs the network itself, not what that was read from."""

    runs_networks: bool


def what_it_runs(oracle: Any, network: Network, host: PluginHost) -> Any:
    """What an oracle is given of a network: its source, or itself to one that runs networks.

    One without a source is written as a file for those that run files only.
    """
    if isinstance(oracle, RunsNetworks) and oracle.runs_networks:
        return network
    reads_files = network.source is None and isinstance(oracle, ReadsFiles)
    if reads_files and oracle.file_format in host.components("network_writer"):
        return host.make("network_writer", oracle.file_format, {}, host).write(network)
    return network.original


ReferenceOptions = NoOptions


class ReferenceOracle:
    """Answers for operators that no other system has. In float64, by numpy: slow, and no peer.

    It shares the reading of the model with the network that it checks, and nothing else.
    """

    runs_networks = True

    def __init__(self, _options: NoOptions, host: Any) -> None:
        self._host = host

    def run(
        self, source: Network, inputs: Mapping[str, Any], extra_outputs: Sequence[str]
    ) -> Mapping[str, Any]:
        """The outputs, then the inner tensors asked for, in the dtypes that they have."""
        names = (*source.outputs, *extra_outputs)
        found = evaluate(replace(source, observed=names), inputs, Operators.of(self._host))
        return {name: found[name].astype(source.specs[name].dtype) for name in names}

    def time(self, source: Any, inputs: Mapping[str, Any], threads: int) -> Callable[[], float]:
        raise UsageError(
            "the oracle 'reference' is no peer: it evaluates definitions, in float64",
            remedy="take it for `verify` alone",
        )
