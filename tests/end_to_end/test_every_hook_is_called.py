"""Every hook is exercised: a plugin that implements all of them, as specified, goes through a run."""

from __future__ import annotations

import sys

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright_cli.reference.hook_specification import hook_specifications

HEAD = "from tilewright import hookimpl\n\nCALLED = {}\n"
HOOK = """
@hookimpl{options}
def {name}({arguments}):
    CALLED["{name}"] = [{arguments}]
    return {result}
"""


@pytest.fixture
def hooks():
    return hook_specifications(PluginHost.load())


@pytest.fixture
def plugin(folder, hooks):
    """A plugin file that implements every hook with its exact arguments, and offers nothing."""
    path = folder / "every_hook.py"
    path.write_text(
        HEAD
        + "".join(
            HOOK.format(
                name=hook.name,
                arguments=", ".join(hook.arguments),
                options="" if hook.module.startswith("tilewright.") else "(optionalhook=True)",
                result="[]" if hook.mode == "collect" else "None",
            )
            for hook in hooks
        )
    )
    return path


def test_a_run_calls_every_hook_with_the_arguments_specified(call, folder, plugin, hooks):
    pipeline = folder / "tiny.yaml"
    text = pipeline.read_text()
    pipeline.write_text(
        text.replace(
            "tuner: random, budget: 10",
            "tuner: {xgb: {batch: 1, sample: 16, features: loops}}, budget: 9",
        )
    )
    # The second time there are records, whose format somebody has to recognise.
    for budget in ("9", "10"):
        arguments = ("--set", f"tune.budget={budget}", "--plugin", plugin)
        code, _, err = call("run", "tiny.yaml", *arguments)
        assert code == 0, err
    called = dict(sys.modules["tilewright_plugin_file_every_hook"].CALLED)
    # A network made in Python is written for a peer that reads files.
    raced = (
        "run",
        "zoo:perceptron",
        "--set",
        "benchmark.peers=[openvino]",
        "--set",
        "tune.budget=1",
    )
    for verb in (("explain", "tiny.yaml"), ("targets",), raced):
        code, _, err = call(*verb, "--plugin", plugin)
        assert code == 0, err
        called |= sys.modules["tilewright_plugin_file_every_hook"].CALLED
    assert {hook.name for hook in hooks} <= set(called)
    for hook in hooks:
        assert len(called[hook.name]) == len(hook.arguments)
    code, out, _ = call("plugins", "--check", "--plugin", plugin)
    assert (code, "every_hook ok" in out) == (0, True)
