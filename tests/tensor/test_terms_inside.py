"""Terms of convolutions that are not zeros of the margins are counted right."""

from __future__ import annotations

from math import prod

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright_tensor.algorithms.terms_inside import terms_inside


@pytest.mark.parametrize(
    "text",
    [
        "(1x1x28x28, 1x1x3x3, padding=24, dilation=24)",
        "(1x1x5x7, 1x1x3x3, padding=9, dilation=9)",
        "(1x1x9x4, 1x1x3x5, strides=[2,3], padding=[1,7,0,11], dilation=[3,4])",
        "(1x1x1x13, 1x1x5x1, padding=[2,0,3,4])",
        "(1x1x6x6, 1x1x3x3, strides=2)",
    ],
)
def test_they_are_those_that_no_kernel_can_do_without(text: str) -> None:
    reference = PluginHost.load().reference("conv2d")
    workload = reference.parse(text, "")
    (data, weight), attributes = workload.inputs, workload.attributes
    ((shape, _),) = reference.output_shapes(workload)
    axes = zip(
        weight.shape[2:],
        data.shape[2:],
        shape[2:],
        attributes["padding"][:2],
        attributes["dilation"],
        attributes["strides"],
        strict=True,
    )
    found = prod(
        terms_inside(taps, extent, outputs, before=before, dilation=step, stride=stride)
        for taps, extent, outputs, before, step, stride in axes
    )
    assert 2 * found == reference.least_operations(workload)
