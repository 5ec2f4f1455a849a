"""Models with named dimensions, compiled for ranges, and asked at sizes beside ONNX Runtime."""

from __future__ import annotations

from itertools import product

import numpy as np
import onnxruntime
from onnx import TensorProto

import tilewright

RNG = np.random.default_rng(5)


def array(*shape: int) -> np.ndarray:
    """Of numbers between -1 and 1."""
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def compiled(model, **sizes):
    """The network of a model for these ranges."""
    return tilewright.compile({"model": model, "dims": sizes}, target="x86:threads=1")


def given(model, **sizes):
    """Inputs at these sizes; a mask leaves out some tokens, never the first."""
    made = {}
    for value in model.graph.input:
        shape = [sizes.get(d.dim_param, d.dim_value) for d in value.type.tensor_type.shape.dim]
        whole = value.type.tensor_type.elem_type == TensorProto.INT64
        made[value.name] = RNG.integers(0, 9, shape) if whole else array(*shape)
        if value.name == "mask":
            made["mask"] = (made["mask"] > -0.5).astype(np.float32)
            made["mask"][:, 0] = 1
    return made


def assert_right(network, model, every):
    """Whether it answers as ONNX Runtime at each of these sizes."""
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for sizes in every:
        inputs = given(model, **sizes)
        answers = network.run(inputs)
        for name, expected in zip(answers, session.run([*answers], inputs), strict=True):
            assert answers[name].shape == expected.shape, sizes
            np.testing.assert_allclose(answers[name], expected, rtol=1e-4, atol=1e-5, err_msg=sizes)


def pairs(batches, sequences):
    """Sizes of both dimensions, in every combination."""
    return [
        dict(zip(("batch", "sequence"), pair, strict=True)) for pair in product(batches, sequences)
    ]
