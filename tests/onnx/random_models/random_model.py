"""Random ONNX models, grown node by node: whatever ONNX Runtime runs by itself is taken.

Every node is run when it is drawn, so the generator knows each tensor's values: it leaves out what
overflows or is ill-conditioned, and draws what jumps (comparisons, rounding, places of extremes)
only over tensors that every right implementation computes to the last bit.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import elementwise_nodes  # noqa: F401  it registers its rules, and so do the next three
import layer_nodes  # noqa: F401
import movement_nodes  # noqa: F401
import numpy as np
import onnxruntime
import reduction_nodes  # noqa: F401
from drawing import RULES, Drawn
from onnx import ValueInfoProto, checker, helper, numpy_helper

onnxruntime.set_default_logger_severity(4)

DTYPES = ["float32"] * 8 + ["float64", "float16", "int32", "int64", "bool", "uint8"]
LARGEST = 1e3
IR_VERSION = 9
SETTINGS = onnxruntime.SessionOptions()
SETTINGS.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
SETTINGS.intra_op_num_threads = 1


@dataclass(frozen=True)
class Tensor:
    """A tensor of the model on the way.

    exact     any right implementation gives these very bits
    coarsest  of the dtypes that it was computed in, the float of the least precision, if any
    """

    name: str
    value: np.ndarray
    exact: bool
    coarsest: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def dtype(self) -> str:
        return str(self.value.dtype)

    @property
    def is_float(self) -> bool:
        return self.value.dtype.kind == "f"


@dataclass
class RandomModel:
    """A model drawn from a seed, with inputs and the answers of ONNX Runtime.

    shapes   sizes of the inputs whose first axis is dynamic
    exact    the outputs that have to agree in every bit
    """

    seed: int
    random: random.Random = field(init=False)
    opset: int = field(init=False)
    tensors: list[Tensor] = field(default_factory=list)
    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    shapes: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.opset = self.random.randint(11, 22)
        batch = self.random.choice([1, 1, 2, 3])
        for number in range(self.random.randint(1, 3)):
            self._add_input(f"input{number}", batch)
        tries, wanted = 0, self.random.randint(2, 9)
        while len(self.nodes) < wanted and tries < 60:
            tries += 1
            self._grow()
        names = {name for node in self.nodes for name in node.input}
        made = [t for t in self.tensors if t.name not in self.inputs]
        loose = [t for t in made if t.name not in names]
        self.outputs = loose + [t for t in made if t not in loose and self.random.random() < 0.1]
        self.proto = self._model()

    # --- what rules draw from --------------------------------------------------------------------

    def constant(self, array: np.ndarray) -> Tensor:
        """A constant of the model."""
        tensor = Tensor(f"constant{len(self.constants)}", np.asarray(array), True)
        self.constants[tensor.name] = tensor.value
        return tensor

    def values(self, shape: Sequence[int], dtype: str = "float32") -> np.ndarray:
        """Random values; floats are multiples of an eighth, so that sums and products are exact."""
        entropy = np.random.default_rng(self.random.getrandbits(32))
        kind = np.dtype(dtype).kind
        if kind == "b":
            return np.asarray(entropy.integers(0, 2, shape), dtype)
        low = 0 if kind == "u" else -16
        whole = entropy.integers(low, 17, shape)
        return np.asarray(whole / 8 if kind == "f" else whole, dtype)

    def pick(self, *conditions: Any) -> Tensor | None:
        """One of the tensors that meet the conditions, later ones more often; None without any."""
        found = [t for t in self.tensors if all(condition(t) for condition in conditions)]
        return self.random.choice(found[-self.random.choice([1, 2, 4, 8]) :]) if found else None

    # --- growing ---------------------------------------------------------------------------------

    def _add_input(self, name: str, batch: int) -> None:
        rank = self.random.choice([0, 1, 2, 2, 3, 3, 4, 4, 4, 5])
        rest = [self.random.choice([1, 2, 3, 4, 5, 7, 8]) for _ in range(rank - 1)]
        shape = [batch, *rest] if rank else []
        value = self.values(shape, self.random.choice(DTYPES))
        self.inputs[name] = value
        self.tensors.append(Tensor(name, value, True))
        if rank and self.random.random() < 0.5:
            self.shapes[name] = shape

    def _grow(self) -> None:
        kept = dict(self.constants)
        drawn = self.random.choice(RULES)(self)
        if drawn is None or not self._take(drawn):
            self.constants = kept

    def _take(self, drawn: Drawn) -> bool:
        """Run a node by itself and keep it, unless ONNX Runtime refuses or values run away."""
        number = len(self.nodes)
        outputs = [f"tensor{number}_{place}" for place in range(drawn.outputs)]
        node = helper.make_node(
            drawn.kind,
            [tensor.name if tensor else "" for tensor in drawn.operands],
            outputs,
            name=f"{drawn.kind.lower()}{number}" if self.random.random() < 0.8 else "",
            **drawn.attributes,
        )
        given = {tensor.name: tensor.value for tensor in drawn.operands if tensor}
        values = _run_alone(node, given, self.opset)
        if values is None or not all(map(_is_tame, values)):
            return False
        exact = drawn.exact and all(tensor.exact for tensor in drawn.operands if tensor)
        before = [tensor.coarsest or tensor.dtype for tensor in drawn.operands if tensor]
        self.nodes.append(node)
        self.tensors += [
            Tensor(name, value, exact and _is_coarse(value), _coarsest([*before, str(value.dtype)]))
            for name, value in zip(outputs, values, strict=True)
        ]
        return True

    def _model(self) -> Any:
        inputs = []
        for name, value in self.inputs.items():
            dims: list[Any] = list(value.shape)
            if name in self.shapes:
                dims[0] = "batch"
            inputs.append(helper.make_tensor_value_info(name, _code(value), dims))
        read = {name for node in self.nodes for name in node.input}
        graph = helper.make_graph(
            self.nodes,
            "random",
            inputs,
            [helper.make_tensor_value_info(t.name, _code(t.value), None) for t in self.outputs],
            [numpy_helper.from_array(v, n) for n, v in self.constants.items() if n in read],
        )
        return _model_of(graph, self.opset)

    def expected(self) -> dict[str, np.ndarray]:
        """What ONNX Runtime makes of the whole model."""
        session = _session(self.proto)
        names = [tensor.name for tensor in self.outputs]
        given = {i.name: self.inputs[i.name] for i in session.get_inputs()}
        return dict(zip(names, session.run(names, given), strict=True))

    def __str__(self) -> str:
        shown = (f"{n.op_type}({', '.join(n.input)}) -> {', '.join(n.output)}" for n in self.nodes)
        shapes = {t.name: f"{t.dtype}{list(t.shape)}" for t in self.tensors}
        return "\n".join([f"seed {self.seed}, opset {self.opset}", *shown, str(shapes)])


def _code(value: np.ndarray) -> int:
    return helper.np_dtype_to_tensor_dtype(value.dtype)


def _model_of(graph: Any, opset: int) -> Any:
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION
    )


def _session(proto: Any) -> Any:
    return onnxruntime.InferenceSession(
        proto.SerializeToString(), SETTINGS, providers=["CPUExecutionProvider"]
    )


def _run_alone(node: Any, given: dict[str, np.ndarray], opset: int) -> list[np.ndarray] | None:
    """The node's outputs; None where ONNX Runtime does not run it."""
    inputs = [helper.make_tensor_value_info(n, _code(v), v.shape) for n, v in given.items()]
    outputs = [ValueInfoProto(name=name) for name in node.output]
    constants = []
    for place, name in enumerate(node.input):
        if name.startswith("constant") and place:
            constants.append(numpy_helper.from_array(given[name], name))
    known = {constant.name for constant in constants}
    inputs = [value for value in inputs if value.name not in known]
    graph = helper.make_graph([node], "one", inputs, outputs, constants)
    proto = _model_of(graph, opset)
    try:
        checker.check_node(node, _checker_context(opset))
        session = _session(proto)
        read = {i.name: given[i.name] for i in session.get_inputs()}
        return [np.asarray(output) for output in session.run(None, read)]
    except Exception:
        return None


def _checker_context(opset: int) -> Any:
    context = checker.C.CheckerContext()
    context.ir_version, context.opset_imports = IR_VERSION, {"": opset}
    return context


def _coarsest(dtypes: Sequence[str]) -> str:
    return max(
        (one for one in dtypes if "float" in one), key=lambda one: np.finfo(one).eps, default=""
    )


def _is_tame(value: np.ndarray) -> bool:
    if value.size == 0 or value.size > 20_000 or str(value.dtype) == "object":
        return False
    return bool((np.abs(value.astype("float64")) <= LARGEST).all())  # so none is NaN either


def _is_coarse(value: np.ndarray) -> bool:
    """Whether sums and products of such values are exact in float16, too."""
    scaled = value.astype("float64") * 64
    return bool((scaled == np.round(scaled)).all() and np.abs(scaled).max() <= 2048)
