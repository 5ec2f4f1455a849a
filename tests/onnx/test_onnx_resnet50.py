"""ResNet-50 as the onnx package has it: what becomes of it before it is compiled."""

from __future__ import annotations

from collections import Counter

import pytest

from tilewright.options import NoOptions
from tilewright.vocabulary.target import Target
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.passes.builtin import BUILTIN_PASSES
from tilewright_graph.passes.graph_pass import apply_passes
from tilewright_graph.verification.verification import check_fit, compare
from tilewright_onnx.reader import OnnxFrontend
from tilewright_tensor.operators.operators import builtin_operators

CONVOLUTIONS = 53


@pytest.fixture(scope="module")
def network(host):
    return OnnxFrontend(NoOptions(), host).read("onnx-light:resnet50", {}, 0)


@pytest.fixture(scope="module")
def passed(network):
    return apply_passes(network, BUILTIN_PASSES, builtin_operators())


@pytest.fixture(scope="module")
def answers(network, oracle):
    """(inputs, ONNX Runtime's answers with the logits)."""
    inputs = random_inputs(network, 0)
    return inputs, oracle.run(network.source, inputs, network.observed)


def test_it_becomes_57_kernels_and_31_tasks(passed):
    extracted = extract(passed, Target("x86"), builtin_operators())
    operators = Counter(kernel.task.workload.operator for kernel in extracted.kernels)
    assert operators == {
        "conv2d": CONVOLUTIONS, "max_pool2d": 1, "global_avg_pool2d": 1, "dense": 1, "softmax": 1,
    }  # fmt: skip
    tasks = extracted.task_set()
    assert len(tasks) == 31
    assert sum(entry.weight for entry in tasks) == 57


def test_every_epilogue_is_bias_residual_and_relu(passed):
    extracted = extract(passed, Target("x86"), builtin_operators())
    epilogues = Counter(
        tuple(op.operator for op in kernel.task.workload.epilogue)
        for kernel in extracted.kernels
        if kernel.task.workload.operator == "conv2d"
    )
    assert epilogues == {("add", "relu"): 33, ("add", "add", "relu"): 16, ("add",): 4}


def test_the_passes_keep_its_answers(passed, answers):
    inputs, expected = answers
    found = evaluate(passed, inputs, builtin_operators())
    assert compare(found, expected).max_rel_error < 1e-5


def test_its_logits_tell_answers_apart(network, answers):
    check_fit("onnxruntime", answers[1], network.observed, 1e-4)


def test_without_new_weights_its_logits_do_not(oracle, network):
    """Every weight 0.02: what the file says is unfit for verification."""
    from tilewright.errors import UsageError
    from tilewright_onnx.model.model_file import load_model

    source = load_model("onnx-light:resnet50")[1].SerializeToString()
    flat = oracle.run(source, random_inputs(network, 0), network.observed)
    with pytest.raises(UsageError, match="unfit"):
        check_fit("onnxruntime", flat, network.observed, 1e-4)
