"""The model that is installed knows the strategies of now, and says something of a network's layers."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from tilewright import PluginHost
from tilewright.strategies.strategy import strategy_of
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_models.advisor import Advisor
from tilewright_models.cost_model import CostModel
from tilewright_models.installed import PACKAGED
from tilewright_pipeline.dispatch.unmeasured import UnmeasuredTask
from tilewright_search.models.knob_features import ALTERNATIVE, KnobTable

pytestmark = pytest.mark.needs("x86")
LAYERS = (
    "conv2d(1x64x56x56, 64x64x3x3, padding=1)",
    "conv2d(1x64x56x56, 256x64x1x1)",
    "dense(1x512, 1000x512)",
    "max_pool2d(1x64x112x112, pool_size=3, strides=2, padding=1)",
)


@pytest.fixture(scope="module")
def data():
    return json.loads(gzip.decompress(PACKAGED.read_bytes()))


@pytest.fixture(scope="module")
def host():
    return PluginHost.load()


def task_of(layer, target, host):
    operator, rest = layer.split("(", 1)
    return Task(host.reference(operator).parse(f"({rest}", ""), Target.parse(target))


def test_every_strategy_that_it_names_is_there(data, host):
    named = {name.removeprefix(ALTERNATIVE) for name in data["columns"] if ALTERNATIVE in name}
    named |= {config["strategy"] for each in data["examples"] for config in each["configs"]}
    present = {strategy_of(host.revisions.present(name)) for name in named}
    assert present
    assert present <= {*host.revisions}


@pytest.mark.parametrize("layer", LAYERS)
def test_it_says_something_of_a_networks_layers(host, layer):
    model = CostModel.read(PACKAGED.read_bytes(), str(PACKAGED))
    for machine in model.examples:
        task = task_of(layer, machine.target, host)
        space = host.space(task)
        attributes = {"l1_bytes": machine.l1_bytes, "l2_bytes": machine.l2_bytes}
        device = Device("cpu", {"model": machine.model, **attributes})
        asked = UnmeasuredTask(task, space, host.fallback_config(task, space), device)
        advice = Advisor(model, machine, host).advice(asked)
        assert advice.starts
        assert np.isfinite(advice.prior(list(advice.starts))).all()


@pytest.mark.parametrize("layer", LAYERS)
def test_it_has_learned_the_knobs_of_what_it_advises(data, host, layer):
    task = task_of(layer, "x86:isa=avx512,threads=1", host)
    fallback = host.fallback_config(task, host.space(task))
    columns = {}
    KnobTable(columns).rows(task, [fallback])
    knobs = {name for name in columns if name.startswith("knob.")}
    assert len(knobs & {*data["columns"]}) > len(knobs) / 2
