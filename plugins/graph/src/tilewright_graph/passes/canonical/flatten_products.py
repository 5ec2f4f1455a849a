"""Products whose rows are many axes, on one axis of rows."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network, Node
from tilewright_graph.passes.rewrite import rewrite
from tilewright_tensor.operators.operators import Operators


def flatten_products(network: Network, operators: Operators) -> Network:
    """The network with `[..., M, K]` times `[K, N]` as `[rows, K]` times `[K, N]`.

    Tiles then cut rows across all axes, and products with as many rows are one task. What is
    computed of a product element by element goes with it, so that they stay one kernel. The
    reshapes around them are views; where one would be a copy, at the network's inputs and results,
    a product stays as it is.
    """
    readers = {name: node for node in network.nodes for name in node.inputs}
    products = (node for node in network.nodes if _has_many_axes_of_rows(node, network))
    kernels = (_one_kernel(product, readers, network, operators) for product in products)
    flat = {node.name for kernel in kernels for node in kernel}

    def flattened(node: Node, _network: Network, builder: NetworkBuilder) -> str | None:
        if node.name not in flat:
            return None
        operands = [_rows(name, builder) for name in node.inputs]
        result = builder.apply(node.operator, operands, node.attributes, name=node.name)
        shape = network.specs[node.output].shape
        return builder.apply("reshape", [result], {"shape": shape}, output=node.output)

    return rewrite(network, operators, flattened)


def _has_many_axes_of_rows(node: Node, network: Network) -> bool:
    if node.operator != "matmul":
        return False
    data, weights = (network.specs[name].shape for name in node.inputs)
    return len(weights) == 2 and prod(data[:-2]) > 1 and _is_inner(node.inputs[0], network)


def _one_kernel(
    product: Node, readers: Mapping[str, Node], network: Network, operators: Operators
) -> list[Node]:
    """The product and the element-wise nodes after it; none where one of them must stay."""
    kernel = [product]
    while network.readers[kernel[-1].output] == 1 and kernel[-1].output in readers:
        reader = readers[kernel[-1].output]
        spec = network.specs[reader.output]
        if not operators[reader.operator].elementwise or spec != network.specs[product.output]:
            break
        if not all(_is_row_wise(name, spec.shape, network) for name in reader.inputs):
            return []
        kernel.append(reader)
    return kernel if _is_inner(kernel[-1].output, network) else []


def _is_row_wise(name: str, shape: tuple[int, ...], network: Network) -> bool:
    """Whether an operand is the same for all rows, or has a value for each element."""
    own = network.specs[name].shape
    known = name in network.constants or _is_inner(name, network)
    return known and (own == shape or prod(own[:-1]) == 1)


def _is_inner(name: str, network: Network) -> bool:
    """Whether a reshape of a tensor is a view."""
    return name in network.producers and name not in network.results


def _rows(name: str, builder: NetworkBuilder) -> str:
    """The tensor as [rows, columns]: itself, or what a reshape was made of, where that is it."""
    shape = builder.specs[name].shape
    if len(shape) == 2:
        return name
    flat = prod(shape[:-1]), shape[-1]
    if name in builder.constants:
        return builder.constant(builder.constants[name].reshape(flat), name)
    made = builder.producer(name)
    if made is not None and builder.operators[made.operator].view:
        (before,) = made.inputs
        if builder.specs[before].shape == flat:
            return before
    return builder.apply("reshape", [name], {"shape": flat})
