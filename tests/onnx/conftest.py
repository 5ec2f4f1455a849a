"""ONNX models of one node, read and compared with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, checker, helper, numpy_helper

from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice, NoOptions
from tilewright.vocabulary.measure import Conditions
from tilewright_graph.compiled.compile import compile_network
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.network import Network
from tilewright_graph.stages.extract_stage import ExtractOptions, ExtractStage
from tilewright_graph.stages.verify_stage import VerifyOptions, VerifyStage
from tilewright_onnx.model.writer import write_model
from tilewright_onnx.reader import OnnxFrontend, read_model
from tilewright_onnx.runtime.runtime import OnnxRuntime
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.stages.stage import StageResult
from tilewright_records.store.store import JsonlRecordStore
from tilewright_tensor.operators.operators import builtin_operators


@pytest.fixture(scope="session")
def make_model() -> Callable[..., Any]:
    return _make_model


def _make_model(
    nodes: Sequence[Any],
    inputs: dict[str, Sequence[Any]],
    constants: dict[str, Any] | None = None,
    *,
    outputs: Sequence[str] = ("y",),
    opset: int = 13,
) -> Any:
    """A ModelProto of float inputs and numpy constants; output shapes are left to inference."""
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.fixture(scope="session")
def oracle() -> OnnxRuntime:
    return OnnxRuntime(NoOptions(), None)


@pytest.fixture
def assert_agrees(oracle: OnnxRuntime) -> Callable[[Any], Any]:
    """Checks that the network read from a model computes what ONNX Runtime makes of the model.

    And that ONNX Runtime makes the same of the network written as a model. Returns the network.
    """

    def check(model: Any) -> Any:
        network = read_model(model, NetworkBuilder("model"), {})
        rng = np.random.default_rng(11)
        inputs = {
            name: rng.uniform(-2, 2, network.specs[name].shape).astype(np.float32)
            for name in network.inputs
        }
        expected = oracle.run(network.source, inputs, ())
        found = evaluate(network, inputs, builtin_operators())
        written = write_model(network)
        checker.check_model(written, full_check=True)
        again = oracle.run(written.SerializeToString(), inputs, network.observed)
        for name, answer in expected.items():
            for other in (found[name], again[name]):
                assert other.shape == answer.shape
                np.testing.assert_allclose(other, answer, rtol=1e-4, atol=1e-5)
        return network

    return check


@pytest.fixture(scope="session")
def host() -> PluginHost:
    return PluginHost.load()


@pytest.fixture(scope="session")
def x86(host: PluginHost, tmp_path_factory: pytest.TempPathFactory) -> RunContext:
    """A run on this machine without any record; skips where there is no x86 device."""
    pytest.importorskip("tilewright_x86")
    devices = host.backend("x86").probe()
    if not devices:
        pytest.skip("no x86 device")
    folder = tmp_path_factory.mktemp("x86")
    return RunContext(
        name="test",
        folder=folder,
        target=host.resolve_target("x86:threads=2"),
        device=devices[0],
        host=host,
        store=JsonlRecordStore(folder / "records.jsonl"),
        conditions=Conditions(),
        seed=0,
        runner=("local", {}),
        builder=("local", {}),
    )


@pytest.fixture(scope="session")
def compiled_on_x86(x86: RunContext) -> Callable[[Network], CompiledNetwork]:
    """Compiles a network with fallback configs."""

    def compile_on_x86(network: Network) -> CompiledNetwork:
        extracted = ExtractStage(ExtractOptions(), x86).run({Network: network}).values[0]
        assert isinstance(extracted, ExtractedNetwork)
        return compile_network(extracted, x86)[0]

    return compile_on_x86


@pytest.fixture(scope="session")
def verified_on_x86(
    x86: RunContext,
) -> Callable[[CompiledNetwork, Network, float | None], StageResult]:
    """Runs the stage `verify` against ONNX Runtime."""

    def verify(compiled: CompiledNetwork, network: Network, rtol: float | None) -> StageResult:
        stage = VerifyStage(VerifyOptions(oracle=Choice("onnxruntime"), rtol=rtol), x86)
        return stage.run({CompiledNetwork: compiled, Network: network})

    return verify


@pytest.fixture
def frontend(host):
    return OnnxFrontend(NoOptions(), host)
