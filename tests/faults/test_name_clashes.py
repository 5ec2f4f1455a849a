"""D-31: two plugins of one name hurt only who uses that name, and `OWNER/NAME` chooses."""

from __future__ import annotations

import json
import sys

import pytest

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.task import Task
from tilewright_cli.terminal.group import run
from tilewright_testing.support.bound_kernel import bound_kernel

pytestmark = pytest.mark.needs("tensor", "search", "x86", "graph", "measure")

LISTINGS = [
    ("--help",),
    ("plugins", "--json"),
    ("targets", "--json"),
    ("schema",),
    ("space", "dense(8x8, 8x8)", "--target", "x86:threads=1", "--json"),
    ("tune", "--help"),
]
# Offered twice: by the distribution, and by what the role's own plugin has under that name.
COMPONENT = """
from tilewright import Component, hookimpl

@hookimpl
def tilewright_{hook}():
    return [Component("{name}", "a rival", lambda: None)]
"""
STRATEGY = """
from tilewright import hookimpl
from tilewright.strategies.strategy import strategy

@strategy("dense_packed.x86", operator="dense", target="x86")
class Rival:
    def alternatives(self, task):
        from tilewright.space.knobs import Knobs
        return [Knobs("dense_packed.x86").alternative()]

@hookimpl
def tilewright_strategies():
    return [Rival]
"""
OPERATOR = """
from tilewright import hookimpl
from tilewright_tensor.ir.dag import compute
from tilewright_tensor.operators.operator import operator

@operator(elementwise=True)
def {name}(data):
    return compute("{name}", data.shape, lambda i, j: data[i, j] * {factor})

@hookimpl
def tilewright_operators():
    return [{name}]
"""
ROLES = {
    "tuner": ("tuners", "random"),
    "scheduler": ("task_schedulers", "gradient"),
    "cost_model": ("cost_models", "ridge"),
    "runner": ("runners", "replay"),
    "builder": ("builders", "replay"),
    "stage": ("stages", "benchmark"),
    "record_store": ("record_stores", "odd"),
    "record_reader": ("record_readers", "odd"),
    "oracle": ("oracles", "onnxruntime"),
    "frontend": ("frontends", "zoo"),
    "graph_tuner": ("graph_tuners", "pbqp"),
    "target": ("targets", "cuda"),
}
BODIES = {role: COMPONENT.format(hook=hook, name=name) for role, (hook, name) in ROLES.items()}
BODIES |= {"strategy": STRATEGY, "operator": OPERATOR.format(name="swirl", factor=2.0)}


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """A function that installs a distribution with one plugin, and other entry points."""

    def install(name, body="", points=""):
        module = name.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(body)
        folder = tmp_path / f"{module}-2.3.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.3\n")
        (folder / "entry_points.txt").write_text(f"[tilewright]\n{module} = {module}\n{points}")
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        monkeypatch.delitem(sys.modules, module, raising=False)

    return install


def listed(capsys, *arguments):
    code = run(arguments)
    told = capsys.readouterr()
    return code, told.out, told.err


@pytest.mark.parametrize("role", BODIES)
def test_a_clash_leaves_every_listing_and_all_other_names_as_they_are(role, distribution, capsys):
    distribution("rival-one", BODIES[role])
    distribution("rival-two", BODIES[role])
    for arguments in LISTINGS:
        code, out, err = listed(capsys, *arguments)
        assert (code, "Traceback" in err) == (0, False), (arguments, err)
        if "--help" not in arguments:
            json.loads(out)
    host = PluginHost.load()
    names = list(host.components(role))
    owners = [name for name in names if name.startswith(("rival-one", "rival-two"))]
    assert len(owners) == 2
    for name in names:
        host.component(role, name)
    clashing = owners[0].removeprefix("rival-one")[1:]
    with pytest.raises(UsageError) as error:
        host.component(role, clashing)
    for word in (
        "rival-one 2.3",
        "rival-two 2.3",
        f"'rival-one/{clashing}'",
        "BLOCK_PLUGINS=rival",
    ):
        assert word in str(error.value)
    for owner in ("rival-one", "rival_two"):  # a distribution, or its plugin
        assert host.owner(role, f"{owner}/{clashing}").plugin == owner.replace("-", "_")


def test_an_owner_may_be_named_where_there_is_no_clash(toy):
    host = PluginHost.load([toy])
    for name in ("toy", "toy_plugin/toy", "toy_plugin.py/toy", f"{toy}/toy"):
        assert host.component("tuner", name) is host.components("tuner")["toy"]
    assert host.component("tuner", "tilewright-search/grid") is host.component("tuner", "grid")
    with pytest.raises(UsageError, match="no tuner named 'tilewright-graph/grid'"):
        host.component("tuner", "tilewright-graph/grid")


def test_a_tuner_that_clashes_is_chosen_by_its_owner(toy, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "mine.py"
    mine.write_text(COMPONENT.format(hook="tuners", name="toy"))
    parts = ("--scheduler", "toy", "--runner", "toy", "--builder", "toy", "--budget", "4", "--json")
    task = ("tune", "toyadd(8)", "--target", "toy", "--plugin", str(toy), "--plugin", str(mine))
    assert listed(capsys, *task, *parts, "--tuner", "toy_plugin.py/toy")[0] == 0
    code, _, err = listed(capsys, *task, *parts, "--tuner", "toy")
    assert code == 2
    assert all(f"'{file.name}/toy'" in err for file in (mine, toy))
    assert f", or rename that of {mine}" in err
    assert "BLOCK_PLUGINS" not in err


def test_operators_that_clash_are_two_operators_by_their_owners(distribution):
    for name, factor in (("rival-one", 2.0), ("rival-two", 3.0)):
        distribution(name, OPERATOR.format(name="swirl", factor=factor))
    host = PluginHost.load()
    target = host.resolve_target("x86:threads=1")
    for owner, factor in (("rival-one", 2.0), ("rival_two", 3.0)):
        text = f"{owner}/swirl(4x5)".replace("_", "-")
        workload = host.reference(f"{owner}/swirl").parse("(4x5) + rival-one/swirl()", "")
        assert workload.operator == text.partition("(")[0]
        assert host.reference(workload.operator).format(workload) == f"{text} + rival-one/swirl()"
        task = Task(workload, target)
        space = host.space(task)
        assert space.size >= 1
        config = host.fallback_config(task, space)
        with bound_kernel(host, Device("cpu"), task, config) as kernel:
            kernel.kernel.launch()
            kernel.check()
        reference = host.reference(workload.operator)
        (data,) = reference.inputs(workload, 0)
        (answer,) = reference.outputs(workload, [data])
        assert answer == pytest.approx(data * 2.0 * factor)
    with pytest.raises(UsageError, match="two plugins offer the operator 'swirl'"):
        host.reference("swirl")
    with pytest.raises(UsageError, match="two plugins offer the operator 'swirl'"):
        host.reference("dense").parse("(4x5, 3x5) + swirl()", "")
    assert host.reference("tilewright-tensor/dense").parse("(4x5, 3x5)", "").operator == "dense"


def test_strategies_that_clash_are_both_searched_and_one_can_be_chosen(distribution):
    distribution("rival-one", STRATEGY)
    host = PluginHost.load()
    task = Task(
        host.reference("dense").parse("(8x8, 8x8)", ""), host.resolve_target("x86:threads=1")
    )
    both = {"tilewright-x86:dense_packed.x86", "rival-one:dense_packed.x86"}
    assert both <= {strategy.name for strategy in host.strategies(task)}
    (rival,) = host.space(task, "rival-one/dense_packed.x86").alternatives
    assert rival.name == "rival-one:dense_packed.x86"
    names = {each.name for each in host.space(task, "tilewright-x86/dense_*").alternatives}
    assert {name.partition("/")[0] for name in names} == {"tilewright-x86:dense_packed.x86"}
    config = host.fallback_config(task, host.space(task, "x86/dense_packed.x86"))
    assert config.strategy.startswith("tilewright-x86:dense_packed.x86")
    assert host.selects("dense_*", config.strategy)
    assert not host.selects("rival-one/*", config.strategy)
    host.lower(task, ConfigEntity.from_json(config.to_json()))
    host.layouts(task, config)
    with pytest.raises(UsageError, match=r"the strategy 'dense_packed\.x86'"):
        host.space(task, "dense_packed.x86")


def test_a_target_that_clashes_is_chosen_with_the_strategies_of_its_plugin(distribution):
    distribution("rival-one", COMPONENT.format(hook="targets", name="x86"))
    host = PluginHost.load()
    with pytest.raises(UsageError, match="two plugins offer the target 'x86'"):
        host.resolve_target("x86:threads=1")
    target = host.resolve_target("tilewright-x86/x86:threads=1")
    assert str(target).startswith("tilewright-x86/x86:isa=")
    assert host.resolve_target(str(target)) == target
    assert host.resolve_target("native").kind == target.kind
    task = Task(host.reference("dense").parse("(8x8, 8x8)", ""), target)
    config = host.fallback_config(task, host.space(task))
    host.backend(target.kind).build(host.lower(task, config), target)


def test_a_verb_that_clashes_is_chosen_by_its_owner_and_blocked_with_its_plugin(
    distribution, capsys, monkeypatch
):
    distribution(
        "rival-one", points="[tilewright.commands]\ntune = tilewright_cli.verbs.schema:schema\n"
    )
    code, out, _ = listed(capsys, "--help")
    assert code == 0
    assert {"rival-one/tune", "tilewright-cli/tune"} <= set(out.split())
    assert "stages" in json.loads(listed(capsys, "rival-one/tune")[1])["properties"]
    assert listed(capsys, "tilewright-cli/tune", "--help")[0] == 0
    code, _, err = listed(capsys, "tune", "--help")
    assert code == 2
    assert "choose 'rival-one/tune' or 'tilewright-cli/tune', or block one" in err
    for blocked in ("rival-one", "rival_one"):
        monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", blocked)
        assert "rival" not in listed(capsys, "--help")[1]
        assert listed(capsys, "tune", "--help")[0] == 0


def test_a_template_that_clashes_is_chosen_by_its_owner(
    distribution, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    own = "[tilewright.templates]\ntuner = tilewright_cli.templates.tuner\n"
    distribution("rival-one", points=own)
    code, _, err = listed(capsys, "new", "plugin", "climber", "--kind", "tuner")
    assert code == 2
    assert "choose 'rival-one/tuner' or 'tilewright-cli/tuner'" in err
    assert listed(capsys, "new", "plugin", "climber", "--kind", "tilewright-cli/tuner")[0] == 0


def test_a_glob_of_a_strategy_that_clashes_is_refused_before_anything_is_chosen(distribution):
    """Else the tasks that it leaves nothing would take any strategy."""
    distribution("rival-one", STRATEGY)
    host = PluginHost.load()
    target = host.resolve_target("x86:threads=1")
    with pytest.raises(UsageError, match=r"the strategy 'dense_packed\.x86'") as error:
        host.check_strategies("dense_packed.x86", target, "mine.yaml:3:1: strategies")
    assert error.value.where == "mine.yaml:3:1: strategies"
    host.check_strategies("rival-one/dense_packed.x86", target, "")
    host.check_strategies("dense_*", target, "")


def test_a_clash_of_more_than_two_counts_them(distribution):
    for name in ("rival-one", "rival-two"):
        distribution(name, BODIES["tuner"])
    with pytest.raises(UsageError, match=r"^3 plugins offer the tuner"):
        PluginHost.load().component("tuner", "random")
