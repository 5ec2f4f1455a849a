"""Good models made bad in one seeded way each: fields, tensors, names, order, or bytes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from onnx import AttributeProto, ModelProto, TensorProto, helper

NUMBERS = (
    0, 1, -1, 2, 3, 5, 7, 64, -64, 1000, 2**31 - 1, 2**31, -(2**31), 2**32, 2**40, 2**62, 2**63 - 1,
    -(2**63),
)  # fmt: skip
TEXTS = (
    "",
    "SAME_UPPER",
    "VALID",
    "edge",
    "wrap",
    "cubic",
    "CRD",
    "ij,jk->ik",
    "\n\x1b[2J",
    "\xff",
)
KINDS = (
    "Add", "Concat", "Conv", "Einsum", "Expand", "Flatten", "Gather", "Gemm", "If", "LSTM", "Loop",
    "MatMul", "MaxPool", "NoSuch", "Pad", "ReduceSum", "Relu", "Reshape", "Resize", "Shape", "Slice",
    "Softmax", "Split", "Squeeze", "Tile", "TopK", "Transpose", "Unsqueeze", "Where",
)  # fmt: skip

Mutate = Callable[[random.Random, ModelProto], None]


def mutated(proto: ModelProto, seed: int) -> ModelProto | bytes:
    """The model with one to three mutations; bytes where these are what was changed."""
    chance = random.Random(seed)
    if chance.random() < 0.05:
        return _damaged(chance, proto.SerializeToString())
    changed = ModelProto()
    changed.CopyFrom(proto)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        chance.choice(MUTATIONS)(chance, changed)
    return changed


def _damaged(chance: random.Random, data: bytes) -> bytes:
    if chance.random() < 0.3:
        return data[: chance.randrange(len(data))]
    damaged = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 8])):
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    return bytes(damaged)


def _node(chance: random.Random, proto: ModelProto) -> Any:
    return chance.choice(proto.graph.node) if proto.graph.node else helper.make_node("Relu", [], [])


def _names(proto: ModelProto) -> Sequence[str]:
    graph = proto.graph
    made = [name for node in graph.node for name in node.output]
    known = [value.name for value in (*graph.input, *graph.initializer)]
    return [*made, *known, "", "nothing", "x" * 5000]


def _attribute_goes(chance: random.Random, proto: ModelProto) -> None:
    attributes = _node(chance, proto).attribute
    if attributes:
        del attributes[chance.randrange(len(attributes))]


def _attribute_changes(chance: random.Random, proto: ModelProto) -> None:
    attributes = _node(chance, proto).attribute
    if not attributes:
        return
    one = chance.choice(attributes)
    if one.type == AttributeProto.INT:
        one.i = chance.choice(NUMBERS)
    elif one.type == AttributeProto.FLOAT:
        one.f = chance.choice([0.0, -1.0, 1e38, float("nan"), float("inf")])
    elif one.type == AttributeProto.STRING:
        one.s = chance.choice(TEXTS).encode("latin-1")
    elif one.type == AttributeProto.INTS and one.ints:
        one.ints[chance.randrange(len(one.ints))] = chance.choice(NUMBERS)


def _attribute_has_another_length(chance: random.Random, proto: ModelProto) -> None:
    for one in _node(chance, proto).attribute:
        if one.type == AttributeProto.INTS:
            if chance.random() < 0.5:
                del one.ints[chance.randrange(len(one.ints) + 1) :]
            else:
                one.ints.extend(chance.choice(NUMBERS) for _ in range(chance.choice([1, 2, 300])))


def _attribute_has_another_type(chance: random.Random, proto: ModelProto) -> None:
    attributes = _node(chance, proto).attribute
    if attributes:
        place = chance.randrange(len(attributes))
        name = attributes[place].name
        values = [1, 1.5, "text", [1, 2], [1.5], ["a"], helper.make_tensor("t", 1, [1], [0.5])]
        other = helper.make_attribute(name, chance.choice(values))
        if chance.random() < 0.3:
            other.type = chance.choice([0, 1, 2, 3, 7, 5])
        attributes[place].CopyFrom(other)


def _attribute_is_new(chance: random.Random, proto: ModelProto) -> None:
    names = (
        "axes", "axis", "auto_pad", "group", "keepdims", "mode", "pads", "perm", "strides", "to",
        "blocksize", "num_outputs", "odd", "",
    )  # fmt: skip
    numbers = [chance.choice(NUMBERS) for _ in range(chance.randint(1, 4))]
    values = [chance.choice(NUMBERS), numbers, chance.choice(TEXTS)]
    one = helper.make_attribute(chance.choice(names) or "x", chance.choice(values))
    _node(chance, proto).attribute.append(one)


def _operand_changes(chance: random.Random, proto: ModelProto) -> None:
    names = _node(chance, proto).input
    if names:
        names[chance.randrange(len(names))] = chance.choice(_names(proto))


def _operands_are_more_or_fewer(chance: random.Random, proto: ModelProto) -> None:
    names = _node(chance, proto).input
    if names and chance.random() < 0.5:
        del names[chance.randrange(len(names))]
    else:
        names.append(chance.choice(_names(proto)))


def _output_changes(chance: random.Random, proto: ModelProto) -> None:
    node = _node(chance, proto)
    if node.output and chance.random() < 0.5:
        node.output[chance.randrange(len(node.output))] = chance.choice(_names(proto))
    elif node.output and chance.random() < 0.5:
        del node.output[:]
    else:
        node.output.append(chance.choice(["another", *_names(proto)]))


def _operator_changes(chance: random.Random, proto: ModelProto) -> None:
    node = _node(chance, proto)
    if chance.random() < 0.2:
        node.domain = chance.choice(["ai.onnx", "ai.onnx.ml", "com.microsoft", "acme", "\n"])
    else:
        others = [other.op_type for other in proto.graph.node]
        node.op_type = chance.choice([*KINDS, *others, ""])


def _nodes_change_places(chance: random.Random, proto: ModelProto) -> None:
    nodes = proto.graph.node
    if nodes:
        moved = nodes.pop(chance.randrange(len(nodes)))
        if chance.random() < 0.6:
            nodes.insert(chance.randrange(len(nodes) + 1), moved)
        if chance.random() < 0.3:
            nodes.append(moved)


def _constant(chance: random.Random, proto: ModelProto) -> Any:
    weights = list(proto.graph.initializer)
    weights += [a.t for node in proto.graph.node for a in node.attribute if a.HasField("t")]
    return chance.choice(weights) if weights else TensorProto()


def _dims_change(chance: random.Random, proto: ModelProto) -> None:
    tensor = _constant(chance, proto)
    if tensor.dims and chance.random() < 0.7:
        tensor.dims[chance.randrange(len(tensor.dims))] = chance.choice(NUMBERS)
    else:
        tensor.dims.append(chance.choice([1, 1, *NUMBERS]))


def _type_changes(chance: random.Random, proto: ModelProto) -> None:
    _constant(chance, proto).data_type = chance.choice([*range(26), 99, -1])


def _data_change(chance: random.Random, proto: ModelProto) -> None:
    tensor = _constant(chance, proto)
    if tensor.raw_data and chance.random() < 0.5:
        tensor.raw_data = tensor.raw_data[: chance.randrange(len(tensor.raw_data))]
    elif tensor.data_type == TensorProto.INT64 and tensor.raw_data:
        count = len(tensor.raw_data) // 8
        numbers = [chance.choice(NUMBERS) for _ in range(count)]
        tensor.raw_data = b"".join(n.to_bytes(8, "little", signed=True) for n in numbers)
    elif chance.random() < 0.5:
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="../../etc/passwd")
    else:
        tensor.raw_data = chance.randbytes(chance.choice([1, 8, 64]))


def _initializer_is_there_twice(chance: random.Random, proto: ModelProto) -> None:
    if proto.graph.initializer:
        proto.graph.initializer.append(chance.choice(proto.graph.initializer))


def _input_changes(chance: random.Random, proto: ModelProto) -> None:
    if not proto.graph.input:
        return
    value = chance.choice(proto.graph.input)
    kind = chance.randrange(5)
    if kind == 0:
        value.type.tensor_type.elem_type = chance.choice([*range(26), 99])
    elif kind == 1:
        value.name = chance.choice(_names(proto))
    elif kind == 2:
        value.type.Clear()
    elif dims := value.type.tensor_type.shape.dim:
        one = chance.choice(dims)
        if chance.random() < 0.8:
            one.dim_value = chance.choice(NUMBERS)
        else:
            one.dim_param = chance.choice(TEXTS[:-1])


def _output_of_the_graph_changes(chance: random.Random, proto: ModelProto) -> None:
    outputs = proto.graph.output
    if outputs and chance.random() < 0.3:
        del outputs[:]
    elif outputs:
        chance.choice(outputs).name = chance.choice(_names(proto))


def _opset_changes(chance: random.Random, proto: ModelProto) -> None:
    version = chance.choice([*range(1, 29), 99, *NUMBERS])
    proto.opset_import.add(domain=chance.choice(["", "", "ai.onnx", "acme"]), version=version)
    if chance.random() < 0.8:
        del proto.opset_import[0]


def _nodes_become_a_function(chance: random.Random, proto: ModelProto) -> None:
    """Called by its first node, and perhaps by itself."""
    node = _node(chance, proto)
    inside = list(proto.graph.node)[: chance.randint(1, 3)]
    name = chance.choice(["F", node.op_type])
    function = helper.make_function(
        "acme", name, list(node.input), list(node.output), inside, list(proto.opset_import)
    )
    if chance.random() < 0.3:
        function.node.append(helper.make_node(name, list(node.input), ["z"], domain="acme"))
    proto.functions.append(function)
    if chance.random() < 0.7:
        proto.opset_import.add(domain="acme", version=1)
    node.op_type, node.domain = name, "acme"


MUTATIONS: tuple[Mutate, ...] = (
    _attribute_changes,
    _attribute_goes,
    _attribute_has_another_length,
    _attribute_has_another_type,
    _attribute_is_new,
    _data_change,
    _dims_change,
    _initializer_is_there_twice,
    _input_changes,
    _nodes_become_a_function,
    _nodes_change_places,
    _operand_changes,
    _operands_are_more_or_fewer,
    _operator_changes,
    _opset_changes,
    _output_changes,
    _output_of_the_graph_changes,
    _type_changes,
)
