"""Runs that were really run, small ones, and their pages."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from page_reader import Page

import tilewright
from tilewright.host.plugin_host import PluginHost
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_onnx.model.writer import write_model

PIPELINE = """\
version: 1
name: tiny
target: {{kind: x86, threads: 1}}
seed: {seed}
measure: {{repeat: 3, min_repeat_ms: 0}}
stages:
  - import:     {{model: {model}}}
  - extract:    {{}}
  - tune:       {{tuner: random, budget: 90}}
  - graph-tune: {{graph_tuner: greedy, transform_budget: 6}}
  - compile:    {{}}
  - verify:     {{oracle: onnxruntime}}
  - benchmark:  {{peers: [onnxruntime], runs: 12}}
  - report:     {{}}
"""


def model():
    """Bytes of a residual block with a classifier, its sizes no powers of two."""
    random = np.random.default_rng(0)
    builder = NetworkBuilder.of("tiny", PluginHost.load())

    def weight(*shape):
        return builder.constant(random.standard_normal(shape).astype(np.float32) / 9)

    x = builder.input("x", (1, 8, 7, 7))
    hidden = builder.relu(builder.conv2d(x, weight(16, 8, 3, 3), padding=1, name="conv1"))
    added = builder.add(builder.conv2d(hidden, weight(8, 16, 1, 1), name="conv2"), x)
    pooled = builder.reshape(builder.global_avg_pool2d(added), shape=(1, 8))
    network = builder.network([builder.softmax(builder.dense(pooled, weight(11, 8)))])
    return write_model(network).SerializeToString()


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """made(seed): the folder of a run; each seed is run once a session."""
    top = tmp_path_factory.mktemp("reported")
    (top / "tiny.onnx").write_bytes(model())
    known = {}

    def run(seed=0):
        if seed not in known:
            file = top / f"tiny-{seed}.yaml"
            file.write_text(PIPELINE.format(seed=seed, model=top / "tiny.onnx"))
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("XDG_CACHE_HOME", str(top / "cache"))
                result = tilewright.Pipeline.load(file).run(out=top / f"run-{seed}")
            assert result.exit_code == 0
            known[seed] = result
        return known[seed]

    return run


@pytest.fixture(scope="session")
def result(made):
    """The result of a run."""
    return made()


@pytest.fixture
def copied(result, tmp_path):
    """A copy of the run's folder, to be changed."""
    folder = tmp_path / "copy"
    shutil.copytree(result.folder, folder)
    return folder


@pytest.fixture
def changed(copied):
    """changed(f): the page of the run after f(report) has changed its run.json."""

    def page(change):
        report = json.loads((copied / "run.json").read_text())
        change(report)
        (copied / "run.json").write_text(json.dumps(report))
        return Page(tilewright.report.html(copied))

    return page
