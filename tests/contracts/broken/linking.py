"""The paper target, and what can be wrong with how it links networks."""

from __future__ import annotations

import json
import runpy
from functools import cache
from itertools import count
from pathlib import Path

import pytest

from tilewright import Component, Strategy, hookimpl
from tilewright.host.plugin_host import PluginHost
from tilewright.roles import Artifact
from tilewright_graph.testing.linking import LinkContract

PAPER = runpy.run_path(str(Path(__file__).parents[2] / "graph" / "paper_target.py"))
ANSWER = "test_the_answers_of_a_network_are_those_of_its_definition"
AGAIN = "test_every_run_of_a_network_sees_its_own_inputs"


class Good(PAPER["PaperBackend"]):
    fails = frozenset()
    Kernel = PAPER["PaperKernel"]

    def load(self, artifact, device):
        return self.Kernel(json.loads(artifact.data), self.host)


class LeavesOutTheLastCall(Good):
    fails = {ANSWER, AGAIN}

    def link(self, network, target):
        made = super().link(network, target)
        data = json.loads(made.data)
        data["calls"].pop()
        return Artifact(made.target, made.format, json.dumps(data).encode(), made.metadata)


class GivesEqualKernelsEqualConstants(Good):
    fails = {ANSWER, AGAIN}

    class Kernel(Good.Kernel):
        def bind(self, arrays, copies):
            super().bind(arrays, copies)
            first, second = (b for b in self.data["buffers"] if b["kind"] == "constant")
            second["offset"] = first["offset"]


class RunsOnce(Good):
    fails = {AGAIN}

    class Kernel(Good.Kernel):
        ran = False

        def launch(self):
            if not self.ran:
                super().launch()
            self.ran = True


class PutsItsArenaIntoAnInput(Good):
    fails = {"test_a_network_writes_nothing_but_its_outputs"}

    class Kernel(Good.Kernel):
        def launch(self):
            super().launch()
            self.operands[0][:] = 0


class NumbersItsNetworks(Good):
    fails = {"test_networks_become_plain_data_and_equal_ones_equal_data"}

    numbers = count()

    def link(self, network, target):
        made = super().link(network, target)
        return Artifact(made.target, made.format, made.data, {"number": next(self.numbers)})


class Plugin:
    """What a plugin file of the variant would say."""

    def __init__(self, variant):
        self.variant = variant

    @hookimpl
    def tilewright_targets(self):
        return [Component("paper", "a variant", lambda: self.variant)]

    @hookimpl
    def tilewright_strategies(self):
        return [Strategy("paper", 1, ("paper",), (), PAPER["Paper"])]


@cache
def loaded(variant):
    return PluginHost.load(extra=[Plugin(variant)])


class TestLinking(LinkContract):
    target = "paper"

    @pytest.fixture(
        params=[
            Good,
            LeavesOutTheLastCall,
            GivesEqualKernelsEqualConstants,
            RunsOnce,
            PutsItsArenaIntoAnInput,
            NumbersItsNetworks,
        ]
    )
    def variant(self, request):
        return request.param

    @pytest.fixture
    def host(self, variant):
        return loaded(variant)
