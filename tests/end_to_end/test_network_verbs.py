"""A saved network is shown, run, checked and timed from the command line."""

from __future__ import annotations

import json
import shutil
from functools import reduce
from operator import getitem

import numpy as np
import pytest
from forged_manifest import forged_manifest

import tilewright
from tilewright.errors import UsageError
from tilewright.roles import Artifact
from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.compiled.saved.saved_network import NetworkSignature, save


@pytest.fixture
def saved(folder):
    """A folder with `network`, compiled from `tiny.onnx`, as a run leaves it."""
    return tilewright.compile("tiny.onnx", target="x86:threads=1", out=folder / "made")


def test_show_tells_what_it_takes_and_gives_of_the_network_or_its_run(call, saved):
    told = json.loads(call("network", "show", "made", "--json")[1])
    assert told == json.loads(call("network", "show", "made/network", "--json")[1])
    assert told["inputs"] == [{"name": "x", "shape": [1, 8, 7, 7], "dtype": "float32"}]
    assert [out["name"] for out in told["outputs"] + told["observed"]] == ["y", "l"]
    assert told["target"] == str(saved.target)
    assert "inputs    float32[1, 8, 7, 7]  x" in call("network", "show", "made")[1]


def test_run_gives_the_answers_to_the_arrays_of_a_file(call, folder, saved):
    image = np.random.default_rng(3).standard_normal((1, 8, 7, 7)).astype(np.float32)
    np.savez("in.npz", x=image)
    run = ("network", "run", "made", "--inputs", "in.npz", "--out", "new/out.npz", "--observed")
    code, out, _ = call(*run, "--json")
    told = json.loads(out)
    assert (code, told["out"]) == (0, "new/out.npz")
    expected = saved.observe(image)
    with np.load("new/out.npz", allow_pickle=False) as answers:
        assert all((answers[name] == expected[name]).all() for name in ("y", "l"))
    (y,) = (answer for answer in told["outputs"] if answer["name"] == "y")
    assert y["max"] == pytest.approx(expected["y"].max())
    np.savez("bad.npz", x=image[0])
    code, _, err = call("network", "run", "made", "--inputs", "bad.npz")
    assert code == 2
    assert "array 'x': expected float32[1, 8, 7, 7], got float32[8, 7, 7]" in err
    np.savez("bad.npz", x=image.astype(np.float64))
    err = call("network", "run", "made", "--inputs", "bad.npz")[2]
    assert "got float64[1, 8, 7, 7]\n  convert it: .astype('float32')" in err


def test_run_without_a_file_draws_inputs_and_writes_nothing(call, folder, saved):
    before = sorted(folder.rglob("*"))
    code, out, _ = call("network", "run", "made")
    assert (code, out.split()[0]) == (0, "y")
    assert sorted(folder.rglob("*")) == before


def test_verify_asks_the_oracle_and_needs_the_right_model(call, folder, saved, make_model):
    code, _, err = call("network", "verify", "made")
    assert code == 2
    assert "a saved network does not hold its model" in err
    code, out, _ = call("network", "verify", "made", "--model", "tiny.onnx", "--json")
    told = json.loads(out)
    assert (code, told["oracle"], told["passed"]) == (0, "onnxruntime", True)
    (folder / "sigmoid.onnx").write_bytes(make_model("Sigmoid"))
    code, out, _ = call("network", "verify", "made", "--model", "sigmoid.onnx")
    assert (code, out.split()[0]) == (1, "failed")
    (folder / "batch.onnx").write_bytes(make_model(batch=2))
    code, _, err = call("network", "verify", "made", "--model", "batch.onnx")
    assert code == 2
    assert "compiled from another model: input 'x' is [2, 8, 7, 7], got [1, 8, 7, 7]" in err
    assert "give the one that it was compiled from" in err
    code, _, err = call("network", "verify", "made", "--model", "zoo:perceptron")
    assert code == 2
    assert "zoo:perceptron: the network was compiled from another model: no input" in err


def test_verify_reads_the_model_by_the_frontend_that_it_was_compiled_with(call, folder):
    small = {"model": "zoo:resnet-18", "frontend": {"zoo": {"size": 32}}}
    tilewright.compile(small, target="x86:threads=1", out=folder / "small")
    asked = ("network", "verify", "small", "--model", "zoo:resnet-18", "--oracle", "reference")
    assert "--frontend" in call(*asked)[2]
    assert call(*asked, "--frontend", "zoo:size=32")[0] == 0


def test_benchmark_times_it_alone_and_beside_a_peer(call, saved):
    alone = json.loads(call("network", "benchmark", "made", "--runs", 3, "--json")[1])
    assert (alone["threads"], alone["tilewright"]["runs"], alone["peers"]) == (1, 3, {})
    beside = ("--runs", 3, "--peer", "onnxruntime", "--model", "tiny.onnx")
    both = json.loads(call("network", "benchmark", "made", *beside, "--json")[1])
    assert both.keys() == alone.keys()
    assert both["peers"]["onnxruntime"].keys() == alone["tilewright"].keys()
    assert "tilewright   float32   median" in call("network", "benchmark", "made", *beside)[1]
    code, _, err = call("network", "benchmark", "made", "--peer", "onnxruntime")
    assert code == 2
    assert "a peer needs the model" in err


@pytest.mark.parametrize("verb", ["show", "run", "verify", "benchmark"])
def test_what_is_no_saved_network_is_told(call, folder, saved, verb):
    shutil.rmtree("made")
    code, _, err = call("network", verb, "made", *(["--model", "x"] if verb == "verify" else []))
    assert code == 2
    assert "made: no saved network: No such file or directory (manifest.json)" in err
    long = "n" * 300
    code, _, err = call("network", verb, long, *(["--model", "x"] if verb == "verify" else []))
    assert (code, f"{long}: no saved network: File name too long" in err) == (2, True)


def test_the_folder_of_a_run_is_told_which_of_it_holds_the_network(saved):
    with pytest.raises(UsageError, match="no saved network") as told:
        CompiledNetwork.load("made")
    assert told.value.remedy == "name the folder `network` in it"


FORGED = {
    **{
        f"input {spec}": (("signature", "inputs", 0), ["x", *spec, "activation"])
        for spec in (
            ([1, 3, 5], "float32"), ([2**20, 2**20], "float32"), ([2**62], "float32"),
            ([-1, -392], "float32"), ([1, 8, 7, 7], "float33"), ("392", "float32"),
            ([392], "float32"),
        )
    },
    "a number for a target": (("target",), 5),
    "another target": (("target",), "x86:threads=many"),
    "a number for a name": (("signature", "name"), 5),
    "a list for metadata": (("metadata",), []),
    "no outputs": (("signature", "outputs"), []),
    "a number for outputs": (("signature", "outputs"), 5),
}  # fmt: skip


@pytest.mark.parametrize(("place", "value"), FORGED.values(), ids=FORGED)
def test_a_manifest_that_was_forged_is_held_against_the_code(folder, saved, place, value):
    """Its hashes may be made anew."""
    network = folder / "made" / "network"
    *above, last = place
    with forged_manifest(network) as manifest:
        reduce(getitem, above, manifest)[last] = value
    with pytest.raises(UsageError):
        CompiledNetwork.load(network)


def test_a_strangers_name_makes_no_line_of_its_own(call, folder):
    """Showing a network needs no target, and runs nothing of it."""
    specs = {"x\nforged  line\x1b[2J" + "y" * 5000: TensorSpec((1, 2))}
    artifact = Artifact("unknown", "text", b"code", {})
    save(
        folder / "odd", artifact, np.zeros(8, np.uint8), NetworkSignature("n\nm", specs, specs, {})
    )
    code, out, _ = call("network", "show", "odd")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()][1:] == [
        "inputs", "outputs", "code", "constants",
    ]  # fmt: skip
    assert "\x1b" not in out
    assert len(out) < 500
