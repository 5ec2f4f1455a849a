"""TopHub's and AutoTVM's records for CUDA become first proposals of our strategies."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tilewright
from tilewright.host.plugin_host import PluginHost
from tilewright.json_object import BadLineError
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.record import Record
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_cli.terminal.group import run
from tilewright_cuda.emulation.compile import compiler_version
from tilewright_pipeline.tuning.history import translated
from tilewright_records.merging import merge_logs
from tilewright_records.readers import find_reader
from tilewright_records.store.store import JsonlRecordStore

DATA = Path(__file__).with_name("data")
TOPHUB = DATA / "tophub-cuda-sample.log"
THREAD = DATA / "autotvm-v0.1-resnet18-cuda.jsonl"
SM_90 = Target.parse("cuda:arch=sm_90")


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return PluginHost.load()


def records(path: Path, host: PluginHost) -> list[Record]:
    found = [line for _, line in find_reader(path, host).read(path)]
    return [one for one in found if isinstance(one, Record)]


def test_every_line_is_a_record_or_says_why_not(host: PluginHost) -> None:
    lines = [line for _, line in find_reader(TOPHUB, host).read(TOPHUB)]
    assert len(lines) == sum(line.startswith("{") for line in TOPHUB.read_text().splitlines())
    (reason,) = (str(line) for line in lines if isinstance(line, BadLineError))
    assert "conv1d_transpose_nchw" in reason


def test_a_record_says_what_was_measured_where(host: PluginHost) -> None:
    first = records(TOPHUB, host)[0]
    assert first.device == "titanx"
    assert first.task.workload.operator == "conv2d"
    assert [spec.shape for spec in first.task.workload.inputs] == [
        (1, 2048, 8, 8),
        (192, 2048, 1, 1),
    ]
    assert first.seconds == pytest.approx(5.69732536806342e-05)
    assert first.config["tile_f"] == (-1, 1, 32, 1)


def test_transposed_filters_are_given_as_ours_are(host: PluginHost) -> None:
    found = [r for r in records(TOPHUB, host) if r.task.workload.operator == "conv2d_transpose"]
    told = {record.task.workload.inputs[1].shape[:2] for record in found}
    logged = {
        tuple(arguments[1][1][:2])
        for line in TOPHUB.read_text().splitlines()
        if "conv2d_transpose_nchw" in line
        for arguments in [json.loads(line)["input"][2]]
    }
    assert told == {(filters, channels) for channels, filters in logged} != set()


def test_the_twelve_tasks_of_a_public_thread_are_those_of_resnet18(host: PluginHost) -> None:
    found = records(THREAD, host)
    names = Counter(record.config.strategy for record in found)
    assert names == {"autotvm:conv2d_nchw.cuda": 8, "autotvm:conv2d_nchw_winograd.cuda": 4}
    assert sum(record.seconds or 0 for record in found) == pytest.approx(388.15e-6, rel=1e-3)


@pytest.mark.parametrize("path", [TOPHUB, THREAD])
def test_records_are_adopted_by_the_strategy_of_their_template(
    path: Path, host: PluginHost
) -> None:
    for record in records(path, host):
        task = Task(record.task.workload, SM_90)
        (config,) = translated(task, [record], host)
        assert host.space(task).is_valid(config), config.text
        for word in ("winograd", "transpose"):
            assert (word in record.config.strategy) == (word in config.strategy)


def test_tiles_have_their_counterparts(host: PluginHost) -> None:
    task = host.reference("conv2d").parse("(1x64x56x56, 128x64x3x3, strides=2, padding=1)", "")
    foreign = ConfigEntity(
        "autotvm:conv2d_nchw.cuda",
        {
            "tile_f": (-1, 2, 8, 2),
            "tile_y": (-1, 1, 4, 2),
            "tile_x": (-1, 1, 4, 1),
            "tile_rc": (-1, 8),
            "tile_ry": (-1, 1),
            "tile_rx": (-1, 1),
        },
    )
    config = host.implementation("conv2d_igemm.cuda").adopt_config(Task(task, SM_90), foreign)
    assert config.strategy == "conv2d_igemm.cuda/NCHW"
    # 2*8*2 filters by 1*4*2 x 1*4*1 pixels in a block, 2*2 by 1*2 x 1*1 in a thread
    assert {name: config[name] for name in ("bm", "bn", "bk", "tm", "tn")} == {
        "bm": 32, "bn": 32, "bk": 8, "tm": 4, "tn": 2,
    }  # fmt: skip


def test_merged_records_are_found_for_tasks_with_an_epilogue(
    host: PluginHost, tmp_path: Path
) -> None:
    store = JsonlRecordStore(tmp_path / "records.jsonl")
    assert merge_logs([THREAD], store, host).added == 12
    text = "(1x64x56x56, 64x64x3x3, padding=1) + add(1x64x1x1:const) + relu()"
    task = Task(host.reference("conv2d").parse(text, ""), SM_90)
    (config,) = translated(task, JsonlRecordStore(store.path).records(), host)
    assert config.strategy == "conv2d_winograd.cuda/F4-NCHW"


_PATIENT = {"local": {"timeout_seconds": 100}}  # compilers are slow on a busy machine


@pytest.mark.skipif(compiler_version() is None, reason="emulation needs g++")
@pytest.mark.needs("measure", "search")
def test_what_is_adopted_is_measured_first_behind_the_fallback(
    host: PluginHost, tmp_path: Path
) -> None:
    store = JsonlRecordStore(tmp_path / "records.jsonl")
    merge_logs([THREAD], store, host)
    found = tilewright.tune(
        "conv2d(1x256x14x14, 512x256x1x1, strides=2) + relu()",
        target=str(SM_90), device="emulated", records=store.path, budget="2", tuner="random",
        builder=_PATIENT, runner=_PATIENT, host=host,
    )  # fmt: skip
    mine = [one for one in JsonlRecordStore(store.path).records() if one.device == "emulated"]
    (adopted,) = translated(found.task, JsonlRecordStore(store.path).records(), host)
    assert [one.config for one in mine] == [
        host.implementation("conv2d_igemm.cuda").fallback(found.task),
        adopted,
    ]
    assert all(one.seconds for one in mine)


def test_the_command_line_counts_what_is_adopted(capsys: Any) -> None:
    arguments = [str(TOPHUB), "--target", "cuda:arch=sm_90", "--dry-run", "--json"]
    assert run(["records", "import", *arguments]) == 0
    fates = Counter(line["fate"] for line in json.loads(capsys.readouterr().out)["lines"])
    assert set(fates) == {"first proposal", "not known here"}
