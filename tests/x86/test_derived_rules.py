"""A plugin that adds a rule: its sketches are alternatives beside those of the shared rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task

PLUGIN = """
from tilewright import hookimpl
from tilewright.strategies.strategy import Strategy


def load(host):
    from tilewright_tensor.sketches.rules import RULES, Rule
    from tilewright_tensor.operators.operators import Operators
    from tilewright_x86.strategies.derived import make

    (tile,) = (rule for rule in RULES if rule.name == "MultiLevelTiling")
    never_fuse = Rule(
        "NeverFuse",
        lambda problem, state: state.schedule.stages[state.stage].combiner is not None,
        tile.apply,
    )
    return make(Operators(host.hook_values("tilewright_operators")), [never_fuse], "apart")


@hookimpl
def tilewright_strategies():
    return [Strategy("apart", 1, ("x86",), (), load, 1)]
"""


@pytest.fixture
def host(tmp_path: Path) -> PluginHost:
    file = tmp_path / "apart.py"
    file.write_text(PLUGIN, encoding="utf-8")
    return PluginHost.load([file])


def test_a_plugin_adds_a_rule_before_the_shared_ones(host: PluginHost) -> None:
    workload = host.reference("matmul").parse("(64x64, 64x64) + relu()", "")
    task = Task(workload, Target.parse("x86:isa=avx2,threads=1"))
    alternatives = {one.name for one in host.space(task).alternatives}
    assert {"derived.x86/fused-1", "derived.x86/fused-2", "derived.x86/tiled"} <= alternatives
    assert {name for name in alternatives if name.startswith("apart/")} == {"apart/tiled"}
    config = host.space(task, "apart/*").first()
    assert len(host.lower(task, config).outputs) == 1
