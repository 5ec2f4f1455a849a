"""A network whose kernels nobody measured takes what a plugin advises, and says so; records come first."""

from __future__ import annotations

import json

import pytest

GUESS = """
import random

from tilewright import hookimpl
from tilewright_pipeline.dispatch.unmeasured import Advice, Advised


@hookimpl
def tilewright_advise(asked, host):
    if asked.task.workload.operator != "dense":
        return None
    layouts = host.layouts(asked.task, asked.fallback).signature
    found = next(
        config
        for config in asked.space.sample(random.Random(0), 200)
        if config != asked.fallback and host.layouts(asked.task, config).signature == layouts
    )
    return Advice(Advised(found, None, "guess: a config of a test"), (), "guess")
"""


@pytest.fixture
def plugin(folder):
    path = folder / "guess.py"
    path.write_text(GUESS)
    return path


def kernels_of(folder):
    report = json.loads((folder / "here/run.json").read_text())
    return {kernel["text"].partition("(")[0]: kernel for kernel in report["compile"]["kernels"]}


def test_what_is_advised_is_compiled_and_told(folder, plugin, call):
    assert call("compile", "tiny.yaml", "--out", "here")[0] == 0
    before = kernels_of(folder)
    assert call("compile", "tiny.yaml", "--plugin", plugin, "--out", "here")[0] == 0
    now = kernels_of(folder)
    assert (before["dense"]["source"], now["dense"]["source"]) == ("fallback", "advice")
    assert before["dense"]["config"] != now["dense"]["config"]
    assert now["softmax"]["source"] == "fallback"
    asked = ("explain", "tiny.yaml", now["dense"]["nodes"][0], "--plugin", plugin, "--out", "here")
    assert "guess: a config of a test" in call(*asked)[1]


def test_records_come_before_advice(folder, plugin, call):
    assert call("graph-tune", "tiny.yaml", "--out", "tuned")[0] == 0
    named = ["--plugin", plugin, "--out", "here", "--set", "records=tuned/records.jsonl"]
    assert call("compile", "tiny.yaml", *named)[0] == 0
    assert kernels_of(folder)["dense"]["source"] == "graph choice"
