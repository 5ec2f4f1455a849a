"""Frontend `zoo`: networks made in Python, with random weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tilewright.errors import UsageError, did_you_mean
from tilewright.host.plugin_host import PluginHost
from tilewright_graph.frontends.zoo.bert import bert_base
from tilewright_graph.frontends.zoo.densenet import densenet
from tilewright_graph.frontends.zoo.inception_v3 import inception_v3
from tilewright_graph.frontends.zoo.layers import Layers
from tilewright_graph.frontends.zoo.mobilenet import mobilenet, mobilenet_v2
from tilewright_graph.frontends.zoo.perceptron import perceptron
from tilewright_graph.frontends.zoo.resnet import resnet, resnet3d
from tilewright_graph.frontends.zoo.squeezenet import squeezenet
from tilewright_graph.frontends.zoo.ssd import ssd
from tilewright_graph.frontends.zoo.vgg import vgg
from tilewright_graph.frontends.zoo.zoo_options import ZooOptions
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network

_PREFIX = "zoo:"


@dataclass(frozen=True, slots=True)
class _Entry:
    """A network's maker, the published size of its image, and the smallest that it can see."""

    make: Callable[[Layers], Network]
    size: int = 224
    least: int = 32


ZOO: Mapping[str, _Entry] = {
    "bert-base": _Entry(bert_base),
    "densenet-121": _Entry(partial(densenet, 121)),
    "densenet-201": _Entry(partial(densenet, 201)),
    "inception_v3": _Entry(inception_v3, size=299, least=75),
    "mlp": _Entry(partial(perceptron, (784, 128, 64, 10))),
    "mobilenet": _Entry(mobilenet),
    "mobilenet_v2": _Entry(mobilenet_v2),
    "perceptron": _Entry(partial(perceptron, (64, 48, 10))),
    "resnet-18": _Entry(partial(resnet, 18)),
    "resnet-34": _Entry(partial(resnet, 34)),
    "resnet-50": _Entry(partial(resnet, 50)),
    "resnet-101": _Entry(partial(resnet, 101)),
    "resnet-152": _Entry(partial(resnet, 152)),
    "resnet3d-18": _Entry(resnet3d, size=112),
    "squeezenet_v1.1": _Entry(squeezenet),
    "ssd-resnet50-512": _Entry(ssd, size=512),
    "vgg-16": _Entry(partial(vgg, 16)),
    "vgg-19": _Entry(partial(vgg, 19)),
    "vgg-19_bn": _Entry(partial(vgg, 19, is_normalised=True)),
}
"""By name, without the prefix."""


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
        if name not in ZOO:
            remedy = did_you_mean(name, list(ZOO))
            raise UsageError(f"the zoo has no network {name!r}", where=model, remedy=remedy)
        entry = ZOO[name]
        size = self._options.size or entry.size
        if size < entry.least:
            raise UsageError(
                f"it sees no image of {size}", where=model, remedy=f"size: {entry.least} or more"
            )
        builder = NetworkBuilder.of(name, self._host)
        network = entry.make(Layers(builder, self._options, size, weights_seed or 0))
        own = {name: network.specs[name].shape for name in shapes if name in network.inputs}
        if any(tuple(shapes[name]) != shape for name, shape in own.items()):
            raise UsageError(
                "networks of the zoo have no dynamic dimensions, and other shapes than given",
                where=f"{model}: shapes",
                remedy=f"frontend: {{zoo: {{batch: 1, size: {size}}}}}",
            )
        return network
