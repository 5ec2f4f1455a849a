"""The two networks at any batch and size, the same in every process."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright_graph.frontends.frontend import frontend_for
from tilewright_graph.network.network import Network
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.passes.graph_pass import apply_passes
from tilewright_tensor.operators.operators import Operators


def import_options(name: str, batch: int, size: int, folder: Path) -> dict[str, Any]:
    """What the stage `import` takes for `resnet18` or `resnet50`."""
    if name == "resnet18":
        return {"model": "zoo:resnet-18", "frontend": {"zoo": {"batch": batch, "size": size}}}
    path = folder / f"resnet50-{batch}-{size}.onnx"
    path.write_bytes(_resnet50(batch, size))
    return {"model": str(path), "weights": {"seed": 0}}


def network_named(name: str, batch: int, size: int) -> Network:
    """As the stages after `import` have it: batch norms are folded into constants."""
    host = PluginHost.load()
    with tempfile.TemporaryDirectory() as folder:
        options = import_options(name, batch, size, Path(folder))
        model = options["model"]
        choice = Choice.parse(options.get("frontend") or frontend_for(model, host))
        frontend = host.choose("frontend", choice, host)
        network: Network = frontend.read(model, {}, 0)
    return apply_passes(network, host.hook_values("tilewright_graph_passes"), Operators.of(host))


def inputs_of(network: Network) -> dict[str, Any]:
    """The inputs that answers are compared on."""
    return random_inputs(network, 0)


def _resnet50(batch: int, size: int) -> bytes:
    """The ONNX package's ResNet-50, made for one image of 224, with other sizes written into it."""
    import onnx
    from onnx import numpy_helper

    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    model = onnx.load_model(light / "light_resnet50.onnx", load_external_data=False)
    shapes = {node.input[1] for node in model.graph.node if node.op_type == "Reshape"}
    data = model.graph.input[0].type.tensor_type.shape
    for value in (data, *(output.type.tensor_type.shape for output in model.graph.output)):
        value.dim[0].dim_value = batch
    for dimension in data.dim[2:]:
        dimension.dim_value = size
    for tensor in model.graph.initializer:
        if tensor.name in shapes:
            shape = numpy_helper.to_array(tensor).copy()
            shape[0] = batch
            tensor.CopyFrom(numpy_helper.from_array(shape, tensor.name))
    for node in model.graph.node:
        for attribute in node.attribute:
            if node.op_type == "AveragePool" and attribute.name == "kernel_shape":
                attribute.ints[:] = [size // 32, size // 32]
    return bytes(model.SerializeToString())
