"""Operators that ONNX defines by others: the nodes that stand for one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tilewright_onnx.node_site import NodeSite

if TYPE_CHECKING:
    from tilewright.workload import TensorSpec


_DEFINED = 18
"""The opset that most definitions are of; what is older and has no reader means the same in it."""


def definition_of(
    node: Any, site: NodeSite, specs: Mapping[str, TensorSpec], known: Mapping[str, Any]
) -> tuple[Sequence[Any], int]:
    """(what ONNX's own definition makes of a node, of which opset); empty where it has none.

    They may have definitions themselves. Inner tensors get names of the node.
    """
    import numpy as np
    from onnx import NodeProto, ValueInfoProto, defs, helper
    from onnx.inliner import inline_selected_functions

    opset = max(site.opset, _DEFINED)
    if not defs.has(node.op_type, node.domain):
        return [], opset
    complete = NodeProto()
    complete.CopyFrom(node)
    given = {attribute.name for attribute in node.attribute}
    for name, one in defs.get_schema(node.op_type, opset, "").attributes.items():
        if name not in given and one.default_value.type:
            complete.attribute.append(one.default_value)
    values = []
    for tensor in dict.fromkeys(name for name in node.input if name):
        array = known.get(tensor)
        shape, dtype = (
            (specs[tensor].shape, specs[tensor].dtype)
            if array is None
            else (array.shape, array.dtype)
        )
        element_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        values.append(helper.make_tensor_value_info(tensor, element_type, shape))
    results = [ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([complete], "node", values, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    inlined = inline_selected_functions(model, [("", node.op_type)], inline_schema_functions=True)
    parts = list(inlined.graph.node)
    if [part.op_type for part in parts] == [node.op_type]:
        return [], opset
    outside = {*node.input, *node.output}
    for part in parts:
        for names in (part.input, part.output):
            names[:] = [n if not n or n in outside else f"{site.name}/{n}" for n in names]
    return parts, opset
