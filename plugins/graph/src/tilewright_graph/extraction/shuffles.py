"""Channel shuffles: what a reshape, a transpose and a reshape make of the channels of groups."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright_graph.network.network import Network, Node
from tilewright_tensor.operators.definition.order_of_axes import order_of_axes
from tilewright_tensor.operators.operators import Operators


@dataclass(frozen=True, slots=True)
class Shuffle:
    """A channel shuffle: the first channel of every group, then the second ones, and so on.

    data    what is shuffled
    result  the same elements, channels in the other order
    groups  how many there are
    inside  the tensors between, which nothing else reads
    """

    data: str
    result: str
    groups: int
    inside: tuple[str, str]


def channel_shuffles(network: Network, operators: Operators) -> tuple[Shuffle, ...]:
    """Those of inner tensors that other nodes than views make, and read.

    As in ShuffleNet (Zhang et al., CVPR 2018): `[N, C, ...]` as `[N, groups, C / groups, ...]`, the
    second and third axis exchanged, as `[N, C, ...]` again.
    """
    views = [node for node in network.nodes if operators[node.operator].view]
    viewed = {node.inputs[0] for node in views}
    found = (_ending_with(node, network, operators) for node in views)
    return tuple(one for one in found if one is not None and one.result not in viewed)


def _ending_with(last: Node, network: Network, operators: Operators) -> Shuffle | None:
    turn = _before(last, network)
    first = turn and _before(turn, network)
    if turn is None or first is None or not operators[first.operator].view:
        return None
    data, result = first.inputs[0], last.output
    maker = network.producers.get(data)
    if maker is None or operators[maker.operator].view or {data, result} & {*network.results}:
        return None
    split = network.specs[first.output]
    order = order_of_axes(operators[turn.operator], [split], turn.attributes)
    rank = len(split.shape)
    if rank < 3 or order != (0, 2, 1, *range(3, rank)) or min(split.shape[1:3]) == 1:
        return None
    batch, groups, of_one, *pixels = split.shape
    shape = batch, groups * of_one, *pixels
    if {network.specs[data].shape, network.specs[result].shape} != {shape}:
        return None
    return Shuffle(data, result, groups, (first.output, turn.output))


def _before(node: Node, network: Network) -> Node | None:
    """The node that makes the one operand, where nothing else reads that."""
    alone = len(node.inputs) == 1 and network.readers[node.inputs[0]] == 1
    return network.producers.get(node.inputs[0]) if alone else None
