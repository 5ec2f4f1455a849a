"""A network on the records of a pack: each kernel says which pack its config is from."""

from __future__ import annotations

import json

import jsonschema
import pytest

from tilewright_pipeline.run.run_report import SCHEMA_FILE


@pytest.fixture
def pack(folder, call):
    """A function that packs those of a network's records that a text is in: the plugin file."""
    assert call("graph-tune", "tiny.yaml", "--out", "tuned")[0] == 0

    def packed(text):
        lines = (folder / "tuned/records.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "some.jsonl").write_bytes(b"".join(line for line in lines if text in line))
        named = ["--name", "theirs", "--licence", "CC0-1.0"]
        assert call("records", "pack", "some.jsonl", *named)[0] == 0
        return folder / "tilewright-records-theirs/src/tilewright_records_theirs/plugin.py"

    return packed


def test_each_kernel_says_which_pack_its_config_is_from(folder, pack, call):
    named = ["--plugin", pack(b""), "--out", "here"]
    assert call("compile", "tiny.yaml", "--frozen", *named)[0] == 0
    report = json.loads((folder / "here/run.json").read_text())
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    kernels = report["compile"]["kernels"]
    assert {kernel["pack"] for kernel in kernels} == {"theirs"}
    chosen = next(kernel for kernel in kernels if kernel["source"] == "graph choice")

    asked = ["explain", "tiny.yaml", chosen["nodes"][0], *named]
    assert "by graph choice, on records of the pack theirs" in call(*asked)[1]
    (told,) = json.loads(call(*asked, "--json")[1])["nodes"]
    assert (told["source"], told["pack"]) == ("graph choice", "theirs")
    told = call("explain", chosen["text"], "--target", report["target"], *named)[1]
    assert "from the pack theirs" in told

    assert call("report", "here", "--output", "page.html")[0] == 0
    page = (folder / "page.html").read_text()
    assert "graph choice, pack theirs" in page
    assert f"theirs ({report['setup']['packs'][0]['source']})" in page


def test_what_is_in_the_runs_own_records_is_from_no_pack(folder, pack, call):
    plugin = pack(b'"kind":"trial"')
    lines = (folder / "some.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "few.jsonl").write_bytes(b"".join(one for one in lines if b'"softmax"' in one))
    named = ["--plugin", plugin, "--out", "here", "--set", "records=few.jsonl"]
    assert call("compile", "tiny.yaml", *named)[0] == 0
    kernels = json.loads((folder / "here/run.json").read_text())["compile"]["kernels"]
    packs = {kernel["text"].partition("(")[0]: kernel.get("pack") for kernel in kernels}
    assert (packs["softmax"], packs["conv2d"], packs["dense"]) == (None, "theirs", "theirs")
