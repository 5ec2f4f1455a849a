"""The light models of the onnx package, compiled for x86 without records, agree with ONNX Runtime."""

from __future__ import annotations

import pytest

from tilewright.options import NoOptions
from tilewright_onnx.reader import OnnxFrontend

SMALL = ("squeezenet", "shufflenet")
LARGE = ("alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "vgg19", "zfnet512")


@pytest.mark.parametrize(
    "name", [*SMALL, *(pytest.param(name, marks=pytest.mark.full) for name in LARGE)]
)
def test_it_compiles_and_verifies(name, host, compiled_on_x86, verified_on_x86):
    network = OnnxFrontend(NoOptions(), host).read(f"onnx-light:{name}", {}, 0)
    compiled = compiled_on_x86(network)
    verdict = verified_on_x86(compiled, network, 1e-3)
    compiled.close()
    assert verdict.ok, verdict.report
