"""Whatever a line of another system's log says, it is read or counted as bad."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.json_object import BadLineError
from tilewright.vocabulary.record import Record
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_cli.terminal.group import run
from tilewright_pipeline.tuning.history import translated
from tilewright_records.merging import merge_logs
from tilewright_records.readers import read_log
from tilewright_records.store.store import JsonlRecordStore

DATA = Path(__file__).with_name("data")
LOGS = ("tophub-cuda-sample.log", "autotvm-v0.1-resnet18-cuda.jsonl")
HUGE = "1e400, which is a word here and a number in the line"
HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 1e308, 4e-320, 10**30, 2**62, HUGE, float("nan"), -float("inf"),
    "", "x", "x" * 2000, "\udc80", [], [[]], {}, {"a": 1}, [1, 2, 3], [None],
)  # fmt: skip


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else ()
    inner = enumerate(value) if isinstance(value, list) else inner
    return [path, *(p for key, item in inner for p in _places(item, (*path, key)))]


def mutated(line: str, chance: random.Random) -> str:
    """Bytes changed, dropped or added; or members of the JSON missing, added or exchanged."""
    if chance.random() < 0.25:
        text = list(line)
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(text))
            text[place : place + chance.randint(0, 1)] = chance.choice(["", "\x00", "9", '"', "e9"])
        return "".join(text)
    data = json.loads(line)
    for _ in range(chance.choice((1, 1, 1, 2))):
        *path, last = chance.choice(_places(data)[1:] or [("",)])
        owner = data
        for key in path:
            owner = owner[key]
        act = chance.random()
        if act < 0.25 and owner:
            del owner[last]
        elif act < 0.35 and isinstance(owner, list):
            owner.insert(last, copy.deepcopy(chance.choice(HOSTILE)))
        else:
            owner[last] = copy.deepcopy(chance.choice(HOSTILE))
    return json.dumps(data).replace(json.dumps(HUGE), "1e400")


def _damaged(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    lines = [line for log in LOGS for line in (DATA / log).read_text().splitlines()]
    good = [line for line in lines if line.startswith("{")]
    return [mutated(chance.choice(good), chance) for _ in range(count)]


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return PluginHost.load()


@pytest.mark.parametrize(
    "count", [1500, pytest.param(60_000, marks=pytest.mark.full)], ids=["some", "many"]
)
def test_no_damaged_line_stops_a_merge_and_each_is_read_or_bad(
    count: int, tmp_path: Path, host: PluginHost
) -> None:
    lines = _damaged(count, seed=count)
    log, into = tmp_path / "tvm.log", JsonlRecordStore(tmp_path / "ours.jsonl")
    log.write_text("\n".join(["# a log", *lines]), "utf-8", "surrogatepass")
    found = [line for _, line in read_log(log, host)]
    records = [line for line in found if isinstance(line, Record)]
    bad = [line for line in found if isinstance(line, BadLineError)]
    assert len(records) + len(bad) == len(found) == sum(bool(line.strip()) for line in lines)
    assert len(records) > count // 10 < len(bad)
    done = merge_logs([log], into, host)
    assert done.left_behind == len(bad)
    assert len(into.records()) == done.added > 0
    assert into.bad_lines == 0


def test_a_config_that_no_template_writes_is_not_adopted(tmp_path: Path, host: PluginHost) -> None:
    log = tmp_path / "tvm.log"
    log.write_text("\n".join(["# a log", *_damaged(400, seed=3)]), "utf-8", "surrogatepass")
    target = Target.parse("cuda:arch=sm_90")
    records = [line for _, line in read_log(log, host) if isinstance(line, Record)]
    adopted = [
        config
        for record in records
        for config in translated(Task(record.task.workload, target), [record], host)
    ]
    assert adopted


@pytest.mark.parametrize("number", ["1e400", "NaN"])
def test_a_number_that_is_none_costs_its_line_on_the_command_line_too(
    number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = (DATA / LOGS[0]).read_text().splitlines()[1]
    bad = [good.replace(at, f"{at}{number}, ") for at in ('"tile_f", "sp", [', '"result": [[')]
    assert good not in bad
    log = tmp_path / "tvm.log"
    log.write_text("\n".join([good, *bad]))
    assert run(["records", "merge", str(log), "--into", str(tmp_path / "ours.jsonl")]) == 0
    told = capsys.readouterr()
    assert ("1 records added" in told.out, "2 lines left behind" in told.err) == (True, True)
    assert run(["records", "import", str(log), "--target", "cuda:arch=sm_90", "--dry-run"]) == 0
    assert "1 of 3 lines" in capsys.readouterr().out
