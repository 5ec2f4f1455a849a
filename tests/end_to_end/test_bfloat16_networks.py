"""Networks whose products are bfloat16, on a processor that has the instruction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright_cli.terminal.group import run
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_pipeline.yaml.yaml_source import YamlSource
from tilewright_x86.machine.isa import ISAS, available

THERE = any(isa.name == "avx512_bf16" for isa in available())
MODEL = {"model": "onnx-light:squeezenet", "weights": {"seed": 0}}


def compiled(folder: Path, precision: str) -> Any:
    return tilewright.compile(
        MODEL, target="native", precision=precision, records=folder / "none.jsonl", out=folder
    )


@pytest.mark.skipif(not THERE, reason="needs AVX-512 BF16")
def test_a_network_in_bfloat16_is_near_the_one_in_float32_and_says_what_it_is(
    tmp_path: Path,
) -> None:
    exact, rounded = (compiled(tmp_path / name, name) for name in ("float32", "bfloat16"))
    (name,) = exact.inputs
    image = np.random.default_rng(0).standard_normal(exact.inputs[name].shape, np.float32)
    (expected,), (found,) = (one.run({name: image}).values() for one in (exact, rounded))
    error = np.abs(found - expected).max() / np.abs(expected).max()
    assert 1e-5 < error < 5e-2, "rounded, but no worse than that"
    assert (exact.precision, rounded.precision) == ("float32", "bfloat16")
    again = CompiledNetwork.load(tmp_path / "bfloat16" / "network")
    assert again.precision == "bfloat16"
    np.testing.assert_array_equal(next(iter(again.run({name: image}).values())), found)


@pytest.mark.skipif(not THERE, reason="needs AVX-512 BF16")
def test_a_saved_network_is_refused_only_where_its_own_instructions_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("float32", "bfloat16"):
        assert str(compiled(tmp_path / name, name).target).startswith(
            f"x86:isa={available()[0].name}"
        )
    without = tuple(isa for isa in ISAS if isa.name in ("avx512", "avx2", "sse4"))
    monkeypatch.setattr("tilewright_x86.machine.isa.available", lambda: without)
    network = CompiledNetwork.load(tmp_path / "float32" / "network")
    inputs = {name: np.zeros(spec.shape, np.float32) for name, spec in network.inputs.items()}
    assert all(np.isfinite(one).all() for one in network.run(inputs).values())
    with pytest.raises(
        UsageError, match=r"isa=(amx|avx512_bf16): this machine runs avx512, avx2, sse4"
    ):
        CompiledNetwork.load(tmp_path / "bfloat16" / "network")


def test_a_network_for_amx_runs_emulated_on_any_machine(tmp_path: Path) -> None:
    target = "x86:isa=amx,threads=1"
    tiled = tilewright.compile(
        MODEL,
        target=target,
        device="emulated",
        precision="bfloat16",
        records=tmp_path / "none.jsonl",
        out=tmp_path,
    )
    exact = compiled(tmp_path / "exact", "float32")
    (name,) = exact.inputs
    image = np.random.default_rng(0).standard_normal(exact.inputs[name].shape, np.float32)
    (expected,), (found,) = (one.run({name: image}).values() for one in (exact, tiled))
    assert np.abs(found - expected).max() < 5e-2 * np.abs(expected).max()
    with pytest.raises(UsageError, match="runs on 'emulated'"):
        CompiledNetwork.load(tmp_path / "network", device="cpu")


def test_verify_tells_how_often_the_best_classes_agree(tmp_path: Path) -> None:
    stages = [{"import": {"frontend": "onnx", **MODEL}}, {"extract": {}}, {"compile": {}}]
    stages.append({"verify": {"oracle": "onnxruntime", "samples": 3}})
    file = {"version": 1, "name": "few", "target": {"kind": "x86"}, "stages": stages}
    pipeline = tilewright.Pipeline.load(YamlSource.parse(json.dumps(file), "few"))
    told = pipeline.run(out=tmp_path).report["verify"]["agreement"]
    assert told == {"samples": 3, "top1": 1.0, "top1_decided": 1.0, "top5": 1.0}


def test_a_precision_that_there_is_not_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"precision 'bfloat61'\n.*bfloat16"):
        PluginHost.load().at_precision("bfloat61")


def test_strategies_of_lower_precision_are_offered_where_they_are_allowed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = "x86:isa=avx512_bf16,threads=1"
    task = "conv2d(1x16x9x9, 16x16x3x3, padding=1)"
    offered = []
    for precision in ("float32", "bfloat16"):
        assert run(["space", task, "--target", target, "--precision", precision, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        offered.append({alternative["name"] for alternative in told["alternatives"]})
    derived = {f"derived_bf16.x86/fused-{level}" for level in (1, 2)}
    assert offered[1] - offered[0] == {"conv2d_direct_bf16.x86", *derived}
    assert offered[0] < offered[1]
