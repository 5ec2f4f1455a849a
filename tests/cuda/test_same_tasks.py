"""A network's workloads are the same on every target and in every layout of its image."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tilewright_cli.terminal.group import run
from tilewright_pipeline.pipeline import Pipeline
from tilewright_pipeline.yaml.yaml_source import YamlSource

TARGETS = ("x86:isa=avx2,threads=1", "cuda:arch=sm_90")


def tasks(target: str, layout: str) -> dict[str, tuple[float, str]]:
    """{key: (weight, JSON of the workload)}."""
    stages = [
        {"import": {"model": "zoo:resnet-18", "frontend": {"zoo": {"layout": layout}}}},
        {"extract": {}},
    ]
    text = json.dumps({"version": 1, "name": "tasks", "stages": stages})
    _, found = Pipeline.load(YamlSource.parse(text, "resnet18"), target=target).tasks()
    return {
        entry.task.workload.key: (entry.weight, json.dumps(entry.task.workload.to_json()))
        for entry in found
    }


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_resnet18_has_equal_workloads_on_x86_and_cuda(layout: str) -> None:
    x86, cuda = (tasks(target, layout) for target in TARGETS)
    assert x86 == cuda
    assert sum(weight for weight, _ in cuda.values()) >= 21


def test_the_layout_of_the_image_changes_no_convolution() -> None:
    nchw, nhwc = (tasks(TARGETS[1], layout) for layout in ("NCHW", "NHWC"))
    assert nchw.items() <= nhwc.items()
    assert all("layout_transform" in nhwc[key][1] or "transpose" in nhwc[key][1]
               for key in nhwc.keys() - nchw.keys())  # fmt: skip


def test_the_command_line_shows_them_side_by_side(capsys: Any) -> None:
    arguments = [part for target in TARGETS for part in ("--target", target)]
    assert run(["tasks", "zoo:resnet-18", *arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["equal"] is True
    assert told["targets"] == list(TARGETS)
    for row in told["tasks"]:
        assert set(row["weights"]) == set(row["configs"]) == set(TARGETS)
        ours, theirs = (set(row["strategies"][target]) for target in TARGETS)
        assert ours and theirs and ours.isdisjoint(theirs)
    known = {(use["target"], use["name"]) for use in told["strategies"]}
    assert (TARGETS[1], "conv2d_igemm.cuda") in known
    assert all(use["what"] and use["serves"] for use in told["strategies"])


def test_they_are_compared_under_the_strategies_of_the_file(capsys: Any) -> None:
    arguments = [part for target in TARGETS for part in ("--target", target)]
    named = ("--set", "strategies=default*", "--json")
    assert run(["tasks", "zoo:resnet-18", *arguments, *named]) == 0
    told = json.loads(capsys.readouterr().out)
    found = {name for row in told["tasks"] for own in row["strategies"].values() for name in own}
    assert found == {use["name"] for use in told["strategies"]} == {"default.x86", "default.cuda"}
    assert all(count < 10 for row in told["tasks"] for count in row["configs"].values())


def test_people_are_told_why_strategies_differ(capsys: Any) -> None:
    arguments = [part for target in TARGETS for part in ("--target", target)]
    assert run(["tasks", "zoo:resnet-18", *arguments]) == 0
    told = capsys.readouterr().out
    assert "the same workloads, as often" in told
    assert "layouts are the choice of strategies" in told
