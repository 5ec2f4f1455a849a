"""Configs that AutoTVM and Ansor found for processors become first proposals of ours."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from answers import host, task_of, tolerance, x86_error

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.record import Record
from tilewright.vocabulary.task import Task
from tilewright_cli.terminal.group import run
from tilewright_pipeline.tuning.history import translated
from tilewright_records.readers import read_log

pytestmark = pytest.mark.needs("cli", "pipeline", "records")

DATA = Path(__file__).with_name("data")
LOGS = sorted(DATA.iterdir())


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_each_line_that_has_a_time_is_a_first_proposal(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(path), "--target", "x86:isa=avx2,threads=1", "--dry-run", "--json"]
    assert run(["records", "import", *arguments]) == 0
    told = json.loads(capsys.readouterr().out)
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    fates = Counter(one["fate"] for one in told["lines"])
    failed = sum("1000000000.0" in line for line in lines)
    assert (fates["first proposal"], fates.total()) == (len(lines) - failed, len(lines))


def adopted(text: str, template: str, **values: Any) -> ConfigEntity:
    task = task_of(text, "x86:isa=avx512,threads=1")
    foreign = ConfigEntity(f"autotvm:{template}.x86", values)
    found = (s for s in host().strategies(task) if s.name in OF_TEMPLATE[template])
    (config,) = (host().implementation(s.name).adopt_config(task, foreign) for s in found)
    assert host().space(task).is_valid(config)
    return config


OF_TEMPLATE = {
    "conv2d_NCHWc": ["conv2d_direct.x86"],
    "depthwise_conv2d_NCHWc": ["conv2d_depthwise.x86"],
    "dense_pack": ["dense_packed.x86"],
    "dense_nopack": ["dense_packed.x86"],
    "batch_matmul": ["derived.x86"],
}


def test_tiles_have_their_counterparts() -> None:
    config = adopted(
        "conv2d(1x64x56x56, 64x64x3x3, padding=1)", "conv2d_NCHWc",
        tile_ic=(-1, 64), tile_oc=(-1, 32), tile_ow=(-1, 7), unroll_kw=True,
    )  # fmt: skip
    wanted = {"block_ic": 64, "block_oc": 32, "vectors": 2, "unroll_kw": True}
    assert {name: config[name] for name in wanted} == wanted
    assert (config["tile_ow"][-1], config["tile_oh"][-1]) == (7, 1)
    config = adopted(
        "conv2d(1x32x28x28, 32x1x3x3, padding=1, groups=32)", "depthwise_conv2d_NCHWc",
        tile_ic=(-1, 16), tile_oc=(-1, 32), tile_ow=(-1, 7), unroll_kw=False,
    )  # fmt: skip
    assert (config["block_c"], config["tile_ow"][-1], config["unroll_kh"]) == (32, 7, False)
    config = adopted(
        "dense(16x256, 512x256)", "dense_pack",
        tile_y=(-1, 2, 4), tile_x=(-1, 2, 64), tile_k=(-1, 8), tile_inner=(-1, 4),
    )  # fmt: skip
    assert (config["vectors"], config["tile_n"][-1], config["unroll_k"]) == (4, 4, 8)
    config = adopted(
        "matmul(12x128x64, 12x64x128)", "batch_matmul",
        tile_y=(-1, 8), tile_x=(-1, 32), tile_k=(-1, 16),
    )  # fmt: skip
    assert (config["tile_c"][-1], config["tile_w"][-1]) == (8, 32)


def test_single_pixels_of_several_rows_are_one_row() -> None:
    config = adopted(
        "conv2d(1x64x56x56, 64x64x1x1)", "conv2d_NCHWc",
        tile_ic=(-1, 16), tile_oc=(-1, 16), tile_ow=(-1, 7), tile_oh=2,
    )  # fmt: skip
    assert (config["tile_ow"][-1], config["tile_oh"][-1]) == (14, 1)


@pytest.mark.parametrize(
    "name", ["autotvm-v0.1-resnet18-llvm.jsonl", "ansor-v0.5-mobilenetv2.jsonl"]
)
def test_what_is_adopted_computes_the_answer(name: str) -> None:
    record = next(one for _, one in read_log(DATA / name, host()) if isinstance(one, Record))
    task = Task(record.task.workload, task_of("dense(1x8, 8x8)", "x86:isa=avx2,threads=1").target)
    (config,) = translated(task, [record], host())
    assert x86_error(task, config) <= tolerance(task)
