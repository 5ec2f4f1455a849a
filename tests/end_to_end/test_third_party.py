"""A whole network by the third party's tuner, task scheduler and target, from a pipeline file."""

from __future__ import annotations

import json
import shutil

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright_records.store.store import JsonlRecordStore

pytestmark = pytest.mark.usefixtures("acme")
PIPELINE = """\
version: 1
name: tiny
target: {kind: acme-c}
measure: {repeat: 3, min_repeat_ms: 0}
stages:
  - import:     {model: tiny.onnx}
  - extract:    {}
  - tune:       {tuner: {acme-climber: {patience: 4}}, scheduler: acme-costliest, budget: 12}
  - graph-tune: {graph_tuner: pbqp}
  - compile:    {}
  - verify:     {oracle: onnxruntime}
  - benchmark:  {runs: 5}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_network_is_tuned_compiled_and_checked_by_what_a_third_party_wrote(folder, call):
    (folder / "acme.yaml").write_text(PIPELINE)
    code, out, err = call("run", "acme.yaml", "--json")
    assert code == 0, err
    report = json.loads(out)
    assert report["verify"]["passed"]
    records = JsonlRecordStore(folder / "runs/tiny/records.jsonl").records()
    assert {str(record.task.target) for record in records} == {"acme-c"}


def test_every_contribution_bears_its_owner():
    host = PluginHost.load()
    for role, name in (
        ("tuner", "acme-climber"),
        ("scheduler", "acme-costliest"),
        ("target", "acme-c"),
        ("strategy", "acme-derived"),
    ):
        assert host.owners(role)[name].distribution == "tilewright-acme"
