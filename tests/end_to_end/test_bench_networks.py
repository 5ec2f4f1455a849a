"""`tilewright bench networks`: a row for each network and number of threads, whatever befalls others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright_graph.cli.network_race import NetworkRace, RaceRow, equally_precise

FAST = ("--set", "benchmark.runs=3", "--set", "benchmark.warmup=0", "--quiet")


def test_a_row_for_each_network_and_number_of_threads(call, folder):
    verb = ("bench", "networks", "--networks", "zoo:perceptron,tiny.onnx", "--threads", "1,2")
    code, out, err = call(*verb, "--against", "onnxruntime", *FAST, "--json", "rows.json")
    assert code == 0, err
    rows = json.loads(Path("rows.json").read_text())["rows"]
    found = [(row["network"], row["threads"]) for row in rows]
    assert found == [("perceptron", 1), ("tiny", 1), ("perceptron", 2), ("tiny", 2)]
    for row in rows:
        peer = row["peers_ms"]["onnxruntime"]
        assert row["speedup_over_best_peer"] == pytest.approx(peer / row["tilewright_ms"])
        assert (row["precision"], row["peers_precision"]) == ("float32", {"onnxruntime": "float32"})
        assert row["sum_of_kernels_ms"] > 0
        assert row["max_rel_error"] < 1e-4
        assert row["passed"] is True
    assert [line.split(" | ")[0] for line in out.splitlines()[2:6]] == [f"| {n}" for n, _ in found]
    assert "geometric mean, 2 threads" in out


def test_it_tunes_once_and_goes_on_from_its_records(call, folder):
    verb = ("bench", "networks", "--networks", "tiny.onnx", "--tune", "2", *FAST)
    assert call(*verb, "--records", "own.jsonl")[0] == 0
    before = Path("own.jsonl").read_text()
    assert before.count('"trial"') >= 2
    assert call(*verb, "--records", "own.jsonl")[0] == 0
    assert Path("own.jsonl").read_text().count('"trial"') == before.count('"trial"')


def test_models_of_one_file_name_have_names_of_their_own(call, folder, monkeypatch):
    def row(_race, name, model, target):
        raced[name] = model["model"]
        return RaceRow(name, target.threads, "float32", 2.0, {}, {}, 1.9, 0.0, passed=True)

    raced = {}
    monkeypatch.setattr(NetworkRace, "row", row)
    models = ("old/net.onnx", "new/net.onnx", "net-2.onnx", "one.onnx")
    assert call("bench", "networks", "--networks", ",".join(models), *FAST)[0] == 0
    assert raced == dict(zip(("net", "net-2", "net-2-2", "one"), models, strict=True))


def test_what_cannot_be_read_is_told_once_and_the_others_have_their_rows(call, folder):
    verb = ("bench", "networks", "--networks", "zoo:nothing,zoo:perceptron", "--threads", "1,2")
    code, _, err = call(*verb, *FAST, "--json", "rows.json")
    assert code == 2
    assert err.count("the zoo has no network 'nothing'") == 1
    rows = json.loads(Path("rows.json").read_text())["rows"]
    assert [row["threads"] for row in rows] == [1, 2]
    assert {row["speedup_over_best_peer"] for row in rows} == {None}


def test_a_wrong_option_of_a_peer_is_told_once_and_nothing_runs(call, folder):
    verb = ("bench", "networks", "--networks", "tiny.onnx,zoo:perceptron", "--json", "rows.json")
    code, out, err = call(*verb, "--against", "onnxruntime:optimisation=none", *FAST)
    assert (code, out) == (2, "")
    assert err.count("optimisation") == 1
    assert "oracle 'onnxruntime'" in err
    assert not Path("rows.json").exists()


def test_a_wrong_answer_has_its_row_and_fails(call, folder, monkeypatch):
    wrong = RaceRow("tiny", 1, "float32", 2.0, {"one": 3.0, "two": 1.0}, {}, 1.9, 0.5, passed=False)
    monkeypatch.setattr(NetworkRace, "row", lambda *_: wrong)
    verb = ("bench", "networks", "--networks", "tiny.onnx", *FAST)
    code, out, _ = call(*verb, "--json", "rows.json")
    assert code == 1
    (row,) = json.loads(Path("rows.json").read_text())["rows"]
    assert (row["passed"], row["speedup_over_best_peer"]) == (False, 0.5)
    assert "5.0e-01, too large" in out


@pytest.mark.parametrize("threads", ["0", "1,", "two"])
def test_numbers_of_threads_are_whole_and_above_zero(call, folder, threads):
    code, _, err = call("bench", "networks", "--networks", "zoo:perceptron", "--threads", threads)
    assert code == 2
    assert "expected whole numbers from 1 with commas between" in err


@pytest.mark.needs("openvino")
def test_a_peer_takes_the_precision_unless_it_has_one_or_has_none_to_choose():
    host = PluginHost.load()
    asked = equally_precise(Choice("openvino"), "bfloat16", host)
    assert asked == Choice("openvino", {"precision": "bfloat16"})
    for peer in (Choice("openvino", {"precision": "default"}), Choice("onnxruntime")):
        assert equally_precise(peer, "bfloat16", host) == peer


@pytest.mark.needs("openvino")
@pytest.mark.parametrize(
    ("text", "peers"),
    [
        ("reference,onnxruntime", ["reference", "onnxruntime"]),
        (
            "reference,openvino:precision=bfloat16",
            ["reference", {"openvino": {"precision": "bfloat16"}}],
        ),
        ("{openvino: {precision: bfloat16}}", [{"openvino": {"precision": "bfloat16"}}]),
    ],
)
def test_the_last_of_several_peers_may_have_options(call, monkeypatch, text, peers):
    raced = []
    monkeypatch.setattr(NetworkRace, "__init__", lambda _, *given: raced.extend(given[2]))
    monkeypatch.setattr(NetworkRace, "row", lambda *_: None)
    call("bench", "networks", "--networks", "zoo:perceptron", "--against", text)
    assert raced == [Choice.parse(peer) for peer in peers]
