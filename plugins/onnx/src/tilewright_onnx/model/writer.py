"""Any network as an ONNX model, so that it can be run elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import ceil, floor
from typing import Any

import numpy as np

from tilewright.errors import UsageError
from tilewright.options import NoOptions
from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.network.network import Network, Node

_OPSET, _IR_VERSION = 20, 9


def write_model(network: Network) -> Any:
    """The network as a ModelProto of opset 20; tensors keep their names, inner ones too.

    Raises UsageError for an operator that ONNX has none for.
    """
    from onnx import helper, numpy_helper

    sites = [_Site(node, network) for node in network.nodes]
    for node, site in zip(network.nodes, sites, strict=True):
        if node.operator not in WRITERS:
            raise site.error(f"ONNX has no operator for {node.operator!r}")
        WRITERS[node.operator](site)
    nodes = [node for site in sites for node in site.nodes]
    used = {*network.outputs, *(name for node in nodes for name in node.input)}
    constants = {name: array for name, array in network.constants.items() if name in used}
    constants |= {name: array for site in sites for name, array in site.constants.items()}
    rows = {node.output for node in network.nodes if node.operator == "non_max_suppression"}
    graph = helper.make_graph(
        nodes,
        network.name,
        [_value(name, network.specs[name]) for name in network.inputs],
        [_value(name, network.specs[name], name in rows) for name in network.outputs],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", _OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)


class OnnxWriter:
    """Writes ONNX files."""

    def __init__(self, options: NoOptions, host: Any) -> None:
        pass

    def write(self, network: Network) -> bytes:
        """As `write_model`, serialised."""
        return bytes(write_model(network).SerializeToString())


class _Site:
    """One node while it is written; `emit` makes its NodeProto, `step` one before it."""

    def __init__(self, node: Node, network: Network) -> None:
        self.attributes = node.attributes
        self.constants: dict[str, Any] = {}
        self.nodes: list[Any] = []
        self.shape = network.specs[node.output].shape
        self.inputs = [*node.inputs]
        self._known = network.constants
        self._node = node
        self.dtype = network.specs[node.output].dtype
        self._where = f"{network.name}: node {node.name!r}"

    def constant(self, values: Sequence[int], what: str) -> str:
        """A further operand of whole numbers."""
        return self._constant(np.asarray(values, np.int64), what)

    def float32(self, values: Sequence[float], what: str) -> str:
        """A further operand of float32."""
        return self._constant(np.asarray(values, np.float32), what)

    def scalar(self, value: float | None, what: str) -> str:
        """A further operand of the output's type; none where there is no value."""
        return "" if value is None else self._constant(np.asarray(value, self.dtype), what)

    def turned(self, position: int, turn: Callable[[Any], Any]) -> None:
        """A constant operand as ONNX has it. Raises UsageError where it is none."""
        name = self.inputs[position]
        if name not in self._known:
            raise self.error(f"ONNX needs operand {position} in another order: make it a constant")
        self.inputs[position] = self._constant(turn(self._known[name]), f"operand {position}")

    def step(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """The result of a node before the last one."""
        from onnx import helper

        made = f"{self._node.output}:{operator}"
        name = f"{self._node.name}:{operator}"
        self.nodes.append(helper.make_node(operator, inputs, [made], name=name, **attributes))
        return made

    def emit(
        self, operator: str, *operands: str, unused: Sequence[str] = (), **attributes: Any
    ) -> None:
        """The ONNX node, with further operands after the node's own.

        unused  words for outputs before it
        """
        from onnx import helper

        name, output = self._node.name, self._node.output
        inputs = [*self.inputs, *operands]
        outputs = [*(f"{output}:{word}" for word in unused), output]
        self.nodes.append(helper.make_node(operator, inputs, outputs, name=name, **attributes))

    def error(self, problem: str) -> UsageError:
        """An error that names the network and the node."""
        return UsageError(problem, where=self._where)

    def _constant(self, array: Any, what: str) -> str:
        name = f"{self._node.output}:{what}"
        self.constants[name] = array
        return name


def _value(name: str, spec: TensorSpec, is_counted: bool = False) -> Any:
    """An input or output; values decide how many rows one has that is counted."""
    from onnx import helper

    shape = [None, *spec.shape[1:]] if is_counted else spec.shape
    return helper.make_tensor_value_info(name, _element_type(spec.dtype), shape)


def _element_type(dtype: str) -> int:
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _same(operator: str, site: _Site) -> None:
    """Attributes of equal names and meaning."""
    site.emit(operator, **site.attributes)


def _convolution(site: _Site) -> None:
    given = site.attributes
    site.emit(
        "Conv",
        strides=given["strides"],
        pads=given["padding"],
        dilations=given["dilation"],
        group=given["groups"],
    )


def _transposed_convolution(site: _Site) -> None:
    given, groups = site.attributes, site.attributes["groups"]

    def inputs_first(weight: Any) -> Any:
        parts = weight.reshape(groups, -1, *weight.shape[1:]).swapaxes(1, 2)
        return np.ascontiguousarray(parts.reshape(-1, *parts.shape[2:]))

    site.turned(1, inputs_first)
    site.emit(
        "ConvTranspose",
        strides=given["strides"],
        pads=given["padding"],
        output_padding=given["output_padding"],
        group=groups,
    )


def _pooling(operator: str, site: _Site) -> None:
    given = site.attributes
    counted: Any = {"count_include_pad": int(given["count_include_pad"])} if "A" in operator else {}
    site.emit(
        operator,
        kernel_shape=given["pool_size"],
        strides=given["strides"],
        pads=given["padding"],
        ceil_mode=int(given["ceil_mode"]),
        **counted,
    )


def _reduction(operator: str, site: _Site) -> None:
    axes = site.attributes["axes"]
    operands = [site.constant(axes, "axes")] if axes else []
    site.emit(operator, *operands, keepdims=int(site.attributes["keepdims"]))


def _place_of_extreme(operator: str, site: _Site) -> None:
    given = site.attributes
    site.emit(
        operator,
        axis=given["axis"],
        keepdims=int(given["keepdims"]),
        select_last_index=int(given["last"]),
    )


def _clip(site: _Site) -> None:
    """Bounds of whole numbers are whole numbers of their type."""

    def bound(name: str, whole: Callable[[float], int]) -> str:
        value = site.attributes[name]
        if value is not None and "int" in site.dtype:
            limits = np.iinfo(site.dtype)
            value = min(max(whole(value), int(limits.min)), int(limits.max))
        return site.scalar(value, name)

    site.emit("Clip", bound("min", ceil), bound("max", floor))


def _reshape(site: _Site) -> None:
    site.emit("Reshape", site.constant(site.shape, "shape"))


def _resize(site: _Site) -> None:
    given = site.attributes
    site.emit(
        "Resize",
        "",
        "",
        site.constant(site.shape, "sizes"),
        mode=given["mode"],
        coordinate_transformation_mode=given["coordinates"],
        nearest_mode=given["rounding"],
        cubic_coeff_a=given.get("bend", -0.75),
    )


def _grid_sample(site: _Site) -> None:
    given = site.attributes
    site.emit(
        "GridSample",
        mode=given["mode"],
        padding_mode=given["padding"],
        align_corners=int(given["align_corners"]),
    )


def _transpose(site: _Site) -> None:
    axes = site.attributes["axes"] or list(reversed(range(len(site.shape))))
    site.emit("Transpose", perm=axes)


def _pad(site: _Site) -> None:
    given = site.attributes
    site.emit("Pad", site.constant(given["padding"], "pads"), site.scalar(given["value"], "value"))


def _slice(site: _Site) -> None:
    given, rank = site.attributes, len(site.shape)
    steps = given["strides"] or [1] * rank
    cuts = {"begin": given["begin"], "end": given["end"], "axes": range(rank), "steps": steps}
    site.emit("Slice", *(site.constant(list(cut), what) for what, cut in cuts.items()))


def _layer_norm(site: _Site) -> None:
    axis, last = site.attributes["axis"], len(site.shape) - 1
    if axis not in (-1, last):
        raise site.error(f"layer_norm over axis {axis}; ONNX has it over the last one only")
    site.emit("LayerNormalization", axis=-1, epsilon=site.attributes["epsilon"])


def _attention(site: _Site) -> None:
    queries, keys, values, mask = site.inputs
    *batch, rows, columns = range(len(site.shape))
    turned = site.step("Transpose", keys, perm=[*batch, columns, rows])
    products = site.step("MatMul", queries, turned)
    scores = site.step("Mul", products, site.scalar(site.attributes["scale"], "scale"))
    shares = site.step("Softmax", site.step("Add", scores, mask), axis=-1)
    site.inputs = [shares, values]
    site.emit("MatMul")


def _top_places(site: _Site) -> None:
    given = site.attributes
    count = site.constant([given["count"]], "count")
    site.emit("TopK", count, unused=["values"], axis=given["axis"], largest=int(given["largest"]))


def _modulo(site: _Site) -> None:
    """With the divisor's sign, which ONNX has for whole numbers only."""
    if "float" not in site.dtype:
        site.emit("Mod")
        return
    rest, divisor = site.step("Mod", *site.inputs, fmod=1), site.inputs[1]
    signs = site.step("Mul", site.step("Sign", rest), divisor)
    differ = site.step("Less", signs, site.scalar(0.0, "zero"))
    site.inputs = [differ, site.step("Add", rest, divisor), rest]
    site.emit("Where")


def _non_max_suppression(site: _Site) -> None:
    given = site.attributes
    most = site.constant([given["max_boxes"]], "max_boxes")
    thresholds = [
        "" if given[name] is None else site.float32([given[name]], name)
        for name in ("iou_threshold", "score_threshold")
    ]
    site.emit("NonMaxSuppression", most, *thresholds, center_point_box=int(given["centered"]))


def _cast(site: _Site) -> None:
    site.emit("Cast", to=_element_type(site.attributes["dtype"]))


_SAME = {
    "abs": "Abs",
    "add": "Add",
    "batch_norm": "BatchNormalization",
    "ceil": "Ceil",
    "concat": "Concat",
    "cos": "Cos",
    "divide": "Div",
    "elu": "Elu",
    "equal": "Equal",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "gelu": "Gelu",
    "global_avg_pool2d": "GlobalAveragePool",
    "hard_sigmoid": "HardSigmoid",
    "hard_swish": "HardSwish",
    "identity": "Identity",
    "leaky_relu": "LeakyRelu",
    "less": "Less",
    "less_equal": "LessOrEqual",
    "log": "Log",
    "logical_and": "And",
    "logical_not": "Not",
    "logical_or": "Or",
    "lrn": "LRN",
    "matmul": "MatMul",
    "matmul_integer": "MatMulInteger",
    "maximum": "Max",
    "minimum": "Min",
    "mish": "Mish",
    "multiply": "Mul",
    "neg": "Neg",
    "power": "Pow",
    "prelu": "PRelu",
    "relu": "Relu",
    "round": "Round",
    "sigmoid": "Sigmoid",
    "sign": "Sign",
    "sin": "Sin",
    "softmax": "Softmax",
    "softplus": "Softplus",
    "sqrt": "Sqrt",
    "subtract": "Sub",
    "tanh": "Tanh",
    "where": "Where",
}

WRITERS: Mapping[str, Callable[[_Site], None]] = {
    **{ours: partial(_same, theirs) for ours, theirs in _SAME.items()},
    "arg_max": partial(_place_of_extreme, "ArgMax"),
    "arg_min": partial(_place_of_extreme, "ArgMin"),
    "attention": _attention,
    "avg_pool2d": partial(_pooling, "AveragePool"),
    "bitwise_and": partial(_same, "BitwiseAnd"),
    "bitwise_not": partial(_same, "BitwiseNot"),
    "bitwise_or": partial(_same, "BitwiseOr"),
    "bitwise_xor": partial(_same, "BitwiseXor"),
    "shift_left": lambda site: site.emit("BitShift", direction="LEFT"),
    "shift_right": lambda site: site.emit("BitShift", direction="RIGHT"),
    "broadcast_to": lambda site: site.emit("Expand", site.constant(site.shape, "shape")),
    "cast": _cast,
    "clip": _clip,
    "conv1d": _convolution,
    "conv2d": _convolution,
    "conv3d": _convolution,
    "conv2d_transpose": _transposed_convolution,
    "dense": lambda site: site.emit("Gemm", transB=1),
    "flatten": _reshape,
    "gelu_tanh": lambda site: site.emit("Gelu", approximate="tanh"),
    "grid_sample": _grid_sample,
    "layer_norm": _layer_norm,
    "max_pool2d": partial(_pooling, "MaxPool"),
    "non_max_suppression": _non_max_suppression,
    "pad": _pad,
    "modulo": _modulo,
    "remainder": lambda site: site.emit("Mod", fmod=1),
    "reduce_max": partial(_reduction, "ReduceMax"),
    "reduce_mean": partial(_reduction, "ReduceMean"),
    "reduce_min": partial(_reduction, "ReduceMin"),
    "reduce_prod": partial(_reduction, "ReduceProd"),
    "reduce_sum": partial(_reduction, "ReduceSum"),
    "reshape": _reshape,
    "resize": _resize,
    "silu": lambda site: site.emit("Mul", site.step("Sigmoid", *site.inputs)),
    "slice": _slice,
    "take_elements": lambda site: site.emit("GatherElements", axis=site.attributes["axis"]),
    "top_places": _top_places,
    "take": lambda site: site.emit("Gather", axis=site.attributes["axis"]),
    "transpose": _transpose,
}
"""By our operator; all but `layout_transform`, which has no meaning outside."""
