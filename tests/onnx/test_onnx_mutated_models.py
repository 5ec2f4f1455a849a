"""Random models made bad in seeded ways: what is read is right, what is not is refused in a line.

No traceback comes out of a reader either: its own checks, not the last resort, refuse.
"""

from __future__ import annotations

from functools import cache
from math import prod

import numpy as np
import onnxruntime
import pytest
from mutation import mutated
from random_model import SETTINGS, RandomModel

from tilewright.errors import UsageError
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_onnx.model.model_file import load_model
from tilewright_onnx.reader import read_model
from tilewright_tensor.operators.operators import builtin_operators

GOOD, DEFAULT, WHOLE = 200, 200, 10_000
MOST_EVALUATED = 2**20
"""Elements of all tensors of a network; larger ones are read, not run."""
LONGEST = 20_000
"""Letters of a message: of a few problems, each of at most 2,000."""
LAST_RESORT = "as it stands here is not read"
TOLERANCES = {"float16": 2e-2, "float32": 2e-4, "float64": 1e-6}
JUMPS = {
    "arg_max", "arg_min", "cast", "ceil", "equal", "floor", "less", "less_equal", "modulo",
    "remainder", "round", "sign", "take",
}  # fmt: skip
"""A last bit of what they read may change their result by any amount."""
MOVES = {
    "abs", "broadcast_to", "clip", "concat", "flatten", "identity", "max_pool2d", "maximum",
    "minimum", "neg", "pad", "reduce_max", "reduce_min", "relu", "reshape", "slice", "transpose",
    "where", *JUMPS,
}  # fmt: skip
"""They round nothing."""

good = cache(RandomModel)


def network_of(seed):
    """What is read of the seed's model; None where it is refused."""
    model = good(seed % GOOD)
    try:
        _, proto = load_model(mutated(model.proto, seed))
        return read_model(proto, NetworkBuilder("bad"), model.shapes)
    except UsageError as error:
        text = str(error)
        assert text.startswith(("bad: ", "the model given: ")), text[:200]
        assert LAST_RESORT not in text
        assert len(text) < LONGEST
        assert text.replace("\n", "").isprintable()
        return None


def inputs_of(network, seed):
    """Those of the good model where they fit, else multiples of an eighth."""
    inputs, entropy = good(seed % GOOD).inputs, np.random.default_rng(seed)
    found = {}
    for name in network.inputs:
        spec, value = network.specs[name], inputs.get(name, np.array(None))
        if (value.shape, str(value.dtype)) != (spec.shape, spec.dtype):
            value = (entropy.integers(0, 17, spec.shape) / 8).astype(spec.dtype)
        found[name] = value
    return found


def answers_of(network, inputs):
    """ONNX Runtime's; None where it refuses the model."""
    try:
        session = onnxruntime.InferenceSession(
            network.source, SETTINGS, providers=["CPUExecutionProvider"]
        )
        read = {one.name: inputs[one.name] for one in session.get_inputs() if one.name in inputs}
        return dict(zip(network.outputs, session.run(list(network.outputs), read), strict=True))
    except Exception:
        return None


def jumping(network):
    """The tensors behind an operator that jumps over values that were rounded."""
    rounded, jumped = set(), set()
    for node in network.nodes:
        read = set(node.inputs)
        if node.operator not in MOVES or read & rounded:
            rounded.add(node.output)
        if read & jumped or (node.operator in JUMPS and read & rounded):
            jumped.add(node.output)
    return jumped


def check(seed):
    """Whether a model is read and its answers were compared."""
    network = network_of(seed)
    if network is None or sum(prod(s.shape) for s in network.specs.values()) > MOST_EVALUATED:
        return False
    inputs = inputs_of(network, seed)
    expected = answers_of(network, inputs)
    if expected is None:
        return False
    found, jumped = evaluate(network, inputs, builtin_operators()), jumping(network)
    for name, answer in expected.items():
        spec, place = network.specs[name], f"{name} of seed {seed}"
        assert (answer.shape, str(answer.dtype)) == (spec.shape, spec.dtype), place
        if name in jumped:
            continue
        if spec.dtype not in TOLERANCES:
            np.testing.assert_array_equal(found[name], answer, place)
            continue
        largest = np.abs(answer[np.isfinite(answer)], dtype="float64").max(initial=1.0)
        bound = TOLERANCES[spec.dtype] * largest
        np.testing.assert_allclose(found[name], answer, rtol=0, atol=bound, err_msg=place)
    return True


def test_two_hundred_bad_models_are_right_or_refused_in_a_line():
    assert sum(map(check, range(DEFAULT))) > DEFAULT / 20


@pytest.mark.full
@pytest.mark.parametrize("group", range(10))
def test_ten_thousand_bad_models_are_right_or_refused_in_a_line(group):
    assert sum(map(check, range(group, WHOLE, 10))) > WHOLE / 10 / 20
