"""Frontend `zoo`: networks made in Python, with random weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.errors import UsageError, did_you_mean
from tilewright.host.plugin_host import PluginHost
from tilewright_graph.frontends.zoo.perceptron import perceptron
from tilewright_graph.frontends.zoo.resnet18 import resnet18
from tilewright_graph.frontends.zoo.zoo_options import ZooOptions
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network

_PREFIX = "zoo:"
_MAKERS = {"perceptron": perceptron, "resnet-18": resnet18}


class ZooFrontend:
    """Makes `zoo:NAME`."""

    def __init__(self, options: ZooOptions, host: PluginHost) -> None:
        self._options = options
        self._host = host

    def read(
        self, model: str, shapes: Mapping[str, Sequence[int]], weights_seed: int | None
    ) -> Network:
        """The network of a name, with weights of the seed (0 without one); it has no source."""
        name = model.removeprefix(_PREFIX)
        if name not in _MAKERS:
            remedy = did_you_mean(name, list(_MAKERS))
            raise UsageError(f"the zoo has no network {name!r}", where=model, remedy=remedy)
        builder = NetworkBuilder.of(name, self._host)
        network = _MAKERS[name](builder, self._options, weights_seed or 0)
        own = {name: network.specs[name].shape for name in shapes if name in network.inputs}
        if any(tuple(shapes[name]) != shape for name, shape in own.items()):
            raise UsageError(
                "networks of the zoo have no dynamic dimensions, and other shapes than given",
                where=f"{model}: shapes",
                remedy="frontend: {zoo: {batch: 1, size: 224}}",
            )
        return network
