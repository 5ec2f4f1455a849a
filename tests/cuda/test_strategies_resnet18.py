"""The convolutions, the dense layer, softmax and pooling of ResNet-18 at full size, emulated."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from answers import tolerance

from tilewright.strategies.strategy import Strategy

CONVOLUTIONS = """
conv2d(1x3x224x224, 64x3x7x7, strides=2, padding=3)
conv2d(1x64x56x56, 64x64x3x3, padding=1)
conv2d(1x64x56x56, 64x64x1x1)
conv2d(1x64x56x56, 128x64x3x3, strides=2, padding=1)
conv2d(1x64x56x56, 128x64x1x1, strides=2)
conv2d(1x128x28x28, 128x128x3x3, padding=1)
conv2d(1x128x28x28, 256x128x3x3, strides=2, padding=1)
conv2d(1x128x28x28, 256x128x1x1, strides=2)
conv2d(1x256x14x14, 256x256x3x3, padding=1)
conv2d(1x256x14x14, 512x256x3x3, strides=2, padding=1)
conv2d(1x256x14x14, 512x256x1x1, strides=2)
conv2d(1x512x7x7, 512x512x3x3, padding=1)
""".strip().splitlines()
OTHERS = """
max_pool2d(1x64x112x112, pool_size=3, strides=2, padding=1)
global_avg_pool2d(1x512x7x7)
dense(1x512, 1000x512) + add(1x1000:const)
softmax(1x1000)
""".strip().splitlines()


@pytest.mark.parametrize("number", range(len(CONVOLUTIONS)))
def test_a_convolution_of_resnet18_by_one_of_its_strategies(number: int, emulated: Any) -> None:
    """Every strategy has its turn; `full` has all of them."""
    text = CONVOLUTIONS[number]
    strategies = emulated.host.strategies(emulated.task(text))
    _check(emulated, text, [strategies[number % len(strategies)]], samples=0)


@pytest.mark.full
@pytest.mark.parametrize("text", CONVOLUTIONS)
def test_convolutions_of_resnet18_by_three_configs_of_each_strategy(
    text: str, emulated: Any
) -> None:
    _check(emulated, text, emulated.host.strategies(emulated.task(text)), samples=2)


@pytest.mark.parametrize("text", OTHERS)
def test_what_else_is_in_resnet18_by_three_configs_of_each_strategy(
    text: str, emulated: Any
) -> None:
    _check(emulated, text, emulated.host.strategies(emulated.task(text)), samples=2)


def _check(emulated: Any, text: str, strategies: Sequence[Strategy], *, samples: int) -> None:
    task, host, configs = emulated.task(text), emulated.host, []
    for name in (strategy.name for strategy in strategies):
        configs.append(host.implementation(name).fallback(task))
        configs += host.space(task, name).sample(random.Random(text), samples)
    allowed, errors = tolerance(task), emulated.relative_errors(task, configs)
    wrong = {
        c.text: error for c, error in zip(configs, errors, strict=True) if not error <= allowed
    }
    assert wrong == {}
