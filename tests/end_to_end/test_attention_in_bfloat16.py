"""A layer of a transformer in bfloat16: right answers, and nothing copied between its products."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.strategies.dispatch import Answer, DispatchContext
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_graph.compiled.compile import compile_network
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.network import Network
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.passes.graph_pass import apply_passes
from tilewright_graph.selection.dispatching import Best, dispatch_network
from tilewright_pipeline.context.run_setup import make_context
from tilewright_tensor.operators.operators import Operators
from tilewright_x86.machine.isa import available

HEADS, DEPTH = 2, 32
TARGETS = [("x86:isa=amx,threads=1", "emulated")]
if any(isa.name == "avx512_bf16" for isa in available()):
    TARGETS.append(("x86:isa=avx512_bf16,threads=2", "cpu"))


def attention(batch: int, rows: int) -> Network:
    """Normalised, mixed by heads under a mask, added, with a layer of gelu behind."""
    b, rng, width = NetworkBuilder("attention"), np.random.default_rng(0), HEADS * DEPTH

    def dense(x: str) -> str:
        weights = rng.standard_normal((width, width), np.float32) / np.float32(width) ** 0.5
        return b.add(b.matmul(x, weights), rng.standard_normal((1, 1, width), np.float32))

    def heads(x: str, axes: list[int]) -> str:
        return b.transpose(b.reshape(dense(x), shape=[batch, rows, HEADS, DEPTH]), axes=axes)

    scale, shift = rng.standard_normal((2, width), np.float32)
    x = b.layer_norm(b.input("x", (batch, rows, width)), scale, shift)
    query, key, value = (heads(x, axes) for axes in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    mask = b.input("mask", (batch, 1, 1, rows))
    scores = b.multiply(b.matmul(query, key), np.full((1, 1, 1, 1), 0.1, np.float32))
    mixed = b.transpose(b.matmul(b.softmax(b.add(scores, mask)), value), axes=[0, 2, 1, 3])
    mixed = b.reshape(mixed, shape=[batch, rows, width])
    return b.network([b.gelu(dense(b.add(dense(mixed), x)))])


class AsItLies(DispatchContext):
    """Transposes that move nothing: who reads and gives rows takes them outside of heads."""

    def __init__(self, host: PluginHost) -> None:
        self._host = host

    def find(self, task: Task, _node: str | None) -> Answer | None:
        space = self._host.space(task, "*bf16*")
        if task.workload.operator == "transpose":
            return Answer(ConfigEntity("transpose_bf16.x86", {"order": "operand"}), None, "test")
        if task.workload.operator == "attention":
            usual = self._host.fallback_config(task, space)
            return Answer(
                ConfigEntity(usual.strategy, {**usual.values, "order": "rows"}), None, "test"
            )
        if task.workload.operator != "matmul" or len(task.workload.inputs[1].shape) < 3:
            return None
        usual = self._host.fallback_config(task, space)
        is_scores = bool(task.workload.epilogue)
        outer = {"left_order": "rows" if is_scores else "batches"}
        outer["order"] = "batches" if is_scores else "rows"
        return Answer(ConfigEntity(usual.strategy, {**usual.values, **outer}), None, "test")


@pytest.mark.parametrize(("target", "device"), TARGETS)
@pytest.mark.parametrize("as_it_lies", [False, True])
@pytest.mark.parametrize(("batch", "rows"), [(1, 16), (3, 7)])
def test_attention_is_right_and_its_transposes_can_be_left_out(
    tmp_path: Path, target: str, device: str, as_it_lies: bool, batch: int, rows: int
) -> None:
    host = PluginHost.load().at_precision("bfloat16")
    operators = Operators.of(host)
    context = make_context(host, name="test", folder=tmp_path, target=target, device=device)
    network = attention(batch, rows)
    passed = apply_passes(network, host.hook_values("tilewright_graph_passes"), operators)
    extracted = extract(passed, context.target, operators)
    inputs = random_inputs(network, 1)
    (wanted,) = evaluate(network, inputs, operators).values()
    ways: tuple[Best, ...] = ("fallback", "graph")
    transposes = []
    for best in ways:
        with AsItLies(host) if as_it_lies else nullcontext():
            calls = dispatch_network(extracted, context, "default", best).assembly.calls
            compiled, _ = compile_network(extracted, context, best=best)
        (found,) = compiled.run(inputs).values()
        compiled.close()
        assert np.abs(found - wanted).max() < 3e-2 * np.abs(wanted).max()
        operators_called = [call.task.workload.operator for call in calls]
        assert operators_called.count("attention") == (rows >= 8)
        transposes.append(operators_called.count("transpose"))
    each_its_own, together = transposes
    assert together <= each_its_own == (0 if as_it_lies else 4)
