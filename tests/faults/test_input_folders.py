"""D-28: names that lead out of a folder, links, and archives that unpack to more than fits."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.host.contexts import MeasureContext
from tilewright.host.plugin_host import PluginHost
from tilewright.roles import Artifact
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.record import GraphRecord
from tilewright_cli.terminal.group import run
from tilewright_graph.compiled.saved.saved_network import NetworkSignature, load, save
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.stages.values import branch_context
from tilewright_records.encoding import record_json
from tilewright_records.store.store import JsonlRecordStore

OUT = "../../outside"


def tree(folder):
    """Everything below a folder with its content."""
    paths = (path for path in folder.rglob("*") if not path.is_dir())
    return {
        str(path): path.readlink() if path.is_symlink() else path.read_bytes() for path in paths
    }


def test_d28_merging_writes_into_its_file_and_nowhere_else(tmp_path, samples, capsys):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    device = Device(OUT, {"model": OUT})
    choice = GraphRecord(
        OUT, samples.task, samples.config(1, f"{OUT}/x"), OUT, device.fingerprint, 1
    )
    JsonlRecordStore(inner / "source.jsonl").append(
        [samples.record(1, device=device, strategy=OUT), choice]
    )
    (inner / "link.jsonl").symlink_to(inner / "source.jsonl")
    before = tree(tmp_path)
    into = inner / "all.jsonl"
    assert run(["records", "merge", str(inner / "link.jsonl"), "--into", str(into)]) == 0
    assert run(["records", "ls", str(into)]) == 0
    after = tree(tmp_path)
    assert len(JsonlRecordStore(into).records()) == 1
    assert after.pop(str(into))
    assert after == before


@pytest.mark.parametrize("name", [OUT, "..", ".", "", "/outside", "a/b", "nul\0"])
def test_d28_a_network_whose_name_is_a_path_gets_no_folder(tmp_path, name):
    context = object.__new__(RunContext)
    with pytest.raises(UsageError, match="names no folder"):
        branch_context(context, name)


@pytest.fixture
def saved(tmp_path):
    folder = tmp_path / "network"
    keep(folder)
    return folder


def keep(folder):
    save(
        folder,
        Artifact("t", "f", b"code", {}),
        np.arange(8, dtype=np.uint8),
        NetworkSignature("n", {}, {}, {}),
    )


def test_d28_a_manifest_cannot_name_other_files(saved, tmp_path):
    (tmp_path / "outside").write_bytes(b"secret")
    manifest = json.loads((saved / "manifest.json").read_text())
    manifest["sha256"]["../outside"] = manifest["sha256"].pop("code")
    (saved / "manifest.json").write_text(json.dumps(manifest))
    before = tree(tmp_path)
    with pytest.raises(UsageError, match="manifest was changed"):
        load(saved)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("member", ["code", "constants", "manifest.json"])
def test_d28_a_link_in_a_saved_network_is_never_written_through(saved, tmp_path, member):
    outside = tmp_path / "outside"
    outside.write_bytes((saved / member).read_bytes())
    (saved / member).unlink()
    (saved / member).symlink_to(outside)
    before = outside.read_bytes()
    keep(saved)
    assert outside.read_bytes() == before
    assert not (saved / member).is_symlink()
    (saved / member).unlink()
    (saved / member).symlink_to("/dev/null")
    with pytest.raises(UsageError):
        load(saved)


@pytest.mark.parametrize("depth", [100, 100_000])
def test_d28_a_deep_manifest_is_one_clear_line(saved, depth):
    (saved / "manifest.json").write_text('{"version": ' + "[" * depth + "]" * depth + "}")
    with pytest.raises(UsageError):
        load(saved)


@pytest.mark.parametrize("member", ["code", "constants", "manifest.json"])
def test_d28_a_pipe_in_a_saved_network_is_not_waited_for(saved, member):
    (saved / member).unlink()
    os.mkfifo(saved / member)
    with pytest.raises(UsageError, match="it is a pipe or a device"):
        load(saved)


@pytest.mark.parametrize(
    "command",
    [
        ("run", "pipe.yaml"),
        ("run", "pipe.onnx"),
        ("explain", "pipe.json"),
        ("tune", "pipe.json"),
        ("tasks", "pipe.yaml"),
        ("tune", "dense(1x8, 8x8)", "--records", "pipe.jsonl"),
        ("tune", "dense(1x8, 8x8)", "--runner", "{replay: {records: pipe.jsonl}}"),
        ("tune", "dense(1x8, 8x8)", "--tuner", "{xgb: {pretrained: pipe.json}}"),
        ("tune", "dense(1x8, 8x8)", "--tuner", "{xgb: {pretrained: pipe.json, cost_model: ridge}}"),
        ("records", "ls", "pipe.jsonl"),
        ("records", "merge", "pipe.jsonl", "--into", "all.jsonl"),
        ("records", "import", "pipe.jsonl"),
        ("records", "verify", "pipe.jsonl"),
        ("plugins", "--plugin", "pipe.py"),
    ],
    ids=" ".join,
)
def test_d28_no_command_waits_for_a_pipe(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    os.mkfifo(pipe := next(word for word in _words(command) if word.startswith("pipe.")))
    assert run(list(command)) == 2
    assert "error: " in capsys.readouterr().err.lower()
    assert {path.name for path in tmp_path.iterdir()} - {"cache"} == {pipe}


def _words(command):
    return (word for text in command for word in text.replace("}", " ").replace(",", " ").split())


@pytest.fixture
def replay(tmp_path):
    """A function that makes the runner that replays a packed file with this content."""

    def make(data):
        path = tmp_path / "recording.jsonl.gz"
        path.write_bytes(data)
        host = PluginHost.load()
        context = MeasureContext(host, Device("cpu"), 0)
        return host.make("runner", "replay", {"records": path}, context)

    return make


@pytest.mark.parametrize("content", [b"\0", b"x" * 63 + b"\n"], ids=["one line", "many lines"])
def test_d28_a_bomb_is_not_unpacked_to_its_end(replay, monkeypatch, content):
    monkeypatch.setattr("tilewright_records.recording.MAX_BYTES", 2**22)
    with pytest.raises(UsageError, match="more than 4194304 bytes when unpacked"):
        replay(gzip.compress(content * (2**23 // len(content)), 1))


@pytest.mark.full
def test_d28_a_bomb_of_four_gibibytes_is_not_unpacked_to_its_end(replay):
    part = gzip.compress(bytes(2**26), 1)
    with pytest.raises(UsageError, match="when unpacked"):
        replay(part * 64)


def test_d28_an_archive_that_is_none_or_cut_is_one_clear_line(replay, samples):
    line = json.dumps(record_json(replace(samples.record(1)))).encode()
    for data in (b"no archive", gzip.compress(line * 100)[:-20], b""):
        if data:
            with pytest.raises(UsageError, match="cannot read the file"):
                replay(data)
        else:
            replay(data)
