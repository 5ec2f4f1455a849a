"""Operators that ONNX defines by others: the nodes that stand for one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tilewright_onnx.model.node_check import schema_of
from tilewright_onnx.model.node_site import NodeSite

if TYPE_CHECKING:
    from tilewright.vocabulary.workload import TensorSpec


_DEFINED = 18
"""The opset that most definitions are of; what is older and has no reader means the same in it."""

_DOMAIN = "tilewright.definition"
"""Where a definition stands as a function of a model, to be put in place of its node."""


def has_definition(node: Any, opsets: Mapping[str, int]) -> bool:
    """Whether ONNX defines the node's operator by others."""
    schema = schema_of(node, _later(opsets))
    return bool(schema and (schema.has_function or schema.has_context_dependent_function))


def definition_of(
    node: Any, site: NodeSite, specs: Mapping[str, TensorSpec], known: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, int]]:
    """(what ONNX's own definition makes of a node, of which opsets); empty where it has none.

    They may have definitions themselves. Inner tensors get names of the node.
    """
    from onnx import FunctionProto, NodeProto, helper
    from onnx.inliner import inline_local_functions

    opsets = _later(site.opsets)
    if not has_definition(node, opsets):
        return [], opsets
    schema = schema_of(node, opsets)
    call = NodeProto()
    call.CopyFrom(node)
    given = {attribute.name for attribute in node.attribute}
    for name, one in schema.attributes.items():
        if name not in given and one.default_value.type:
            call.attribute.append(one.default_value)
    if schema.has_function:
        version = _version(schema.function_opset_versions, opsets[""])
        body = schema.get_function_with_opset_version(version)
    else:
        version = _version(schema.context_dependent_function_opset_versions, opsets[""])
        types = [_type(tensor, specs, known).SerializeToString() for tensor in node.input]
        body = schema.get_context_dependent_function_with_opset_version(
            version, call.SerializeToString(), types
        )
    function = FunctionProto.FromString(body)
    if not function.node or [part.op_type for part in function.node] == [node.op_type]:
        return [], opsets
    call.domain = function.domain = _DOMAIN
    function.name = call.op_type
    opsets |= {one.domain: one.version for one in function.opset_import}
    imports = [helper.make_opsetid(*pair) for pair in (*opsets.items(), (_DOMAIN, 1))]
    del function.opset_import[:]
    function.opset_import.extend(imports)
    inputs, outputs = (
        [helper.make_empty_tensor_value_info(tensor) for tensor in some if tensor]
        for some in (node.input, node.output)
    )
    graph = helper.make_graph([call], "node", inputs, outputs)
    model = helper.make_model(graph, opset_imports=imports, functions=[function])
    parts = list(inline_local_functions(model).graph.node)
    outside = {*node.input, *node.output}
    for part in parts:
        for names in (part.input, part.output):
            names[:] = [n if not n or n in outside else f"{site.name}/{n}" for n in names]
    return parts, opsets


def _later(opsets: Mapping[str, int]) -> dict[str, int]:
    return {**opsets, "": max(opsets[""], _DEFINED)}


def _version(known: Sequence[int], opset: int) -> int:
    """The latest definition that the opset has, or else the first."""
    return max((version for version in known if version <= opset), default=min(known))


def _type(tensor: str, specs: Mapping[str, TensorSpec], known: Mapping[str, Any]) -> Any:
    """As ONNX says it; of an operand that is left out nothing is known."""
    import numpy as np
    from onnx import TypeProto, helper

    if not tensor:
        return TypeProto()
    one = known[tensor] if tensor in known else specs[tensor]
    element_type = helper.np_dtype_to_tensor_dtype(np.dtype(one.dtype))
    return helper.make_tensor_type_proto(element_type, one.shape)
