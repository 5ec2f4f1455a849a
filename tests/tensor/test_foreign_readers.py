"""Every line of the logs of TVM's tuners is a record, or says why it is none."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.json_object import BadLineError, UnknownLineError
from tilewright.vocabulary.record import Record
from tilewright_records.readers import read_log, recognised_format

pytestmark = pytest.mark.needs("records")

AUTOTVM = (
    '{"v":0.1,"r":[[0.0012],0,2.1,1530000000.5],"i":["llvm -mcpu=core-avx2",'
    '"topi_x86_conv2d_NCHWc",[["TENSOR",[1,64,56,56],"float32"],["TENSOR",[64,64,3,3],"float32"],'
    '[1,1],[1,1],[1,1],"NCHW","float32"],{},null,{"i":17,"t":"direct","c":null,"e":'
    '[["tile_ic","sp",[4,16]],["tile_oc","sp",[4,16]],["tile_ow","sp",[7,8]],'
    '["unroll_kw","ot",true]]}]}'
)
STEPS: list[Any] = [
    ["SP", 2, 0, 4, [1, 1, 1], 1], ["SP", 2, 4, 64, [2, 4, 4], 1], ["SP", 2, 8, 128, [16], 1],
    ["RE", 2, [0, 4, 1, 5, 8, 2, 6, 9, 3, 7]], ["AN", 2, 0, 3],
    ["PR", 2, 0, "auto_unroll_max_step$64"],
]  # fmt: skip
VERSIONS = {
    "v0.2": [],
    "v0.3": [[4, 64, 64, 0, 0, 0, 0, 0]],
    "v0.4": [[4, 64, 64, 0, 0, 0, 0, 0], ""],
    "v0.5": [[4, 64, 64, 0, 0, 0, 0, 0], "", 2],
    "v0.6": [[4, 64, 64, 0, 0, 0, 0, 0], "", 2, []],
}
SHAPED = '["0123456789abcdef0123456789abcdef", [4, 128], [64, 128], [4, 64]]'


def ansor(version: str, key: str = SHAPED, steps: Any = STEPS, costs: Any = (2e-5, 3e-5)) -> str:
    task = [key, "llvm -keys=cpu -mcpu=core-avx2", *VERSIONS.get(version, [])]
    return json.dumps({"i": [task, [[], steps]], "r": [costs, 0, 0.4, 1], "v": version})


def metaschedule(
    shapes: Any = ((4, 128), (64, 128), (4, 64)), seconds: Any = (1e-5,), dtype: str = "float32"
) -> str:
    loops = ["l0", "l1", "l2"]
    tiles = [[2, 1, 1, 2], [2, 2, 2, 8], [16, 8]]
    trace = [
        ["GetBlock", [], ["T_matmul_NT", "main"], ["b0"]],
        ["GetLoops", ["b0"], [], loops],
        *(
            ["SamplePerfectTile", [one], [len(t), 64], []]
            for one, t in zip(loops, tiles, strict=True)
        ),
    ]
    decisions = [[number + 2, tile] for number, tile in enumerate(tiles)]
    arguments = [["TENSOR", dtype, list(shape)] for shape in shapes]
    target = {"kind": "llvm", "mcpu": "skylake-avx512", "num-cores": 4}
    return json.dumps([0, [[trace, decisions], seconds, target, arguments]])


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return PluginHost.load()


@pytest.fixture
def read(tmp_path: Path, host: PluginHost) -> Callable[..., list[Any]]:
    """A function that reads lines from a file, what recognises it said to be right."""

    def read(*lines: str, name: str | None = None) -> list[Any]:
        path = tmp_path / "log"
        path.write_text("\n".join(lines))
        assert name in (None, recognised_format(path, host))
        return [found for _, found in read_log(path, host)]

    return read


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_of_ansors_logs_is_read(version: str, read: Callable[..., list[Any]]) -> None:
    (record,) = read(ansor(version), name="ansor")
    assert isinstance(record, Record)
    assert str(record.task.workload) == "dense(4x128, 64x128)"
    assert (record.device, record.seconds) == ("core-avx2", 2.5e-5)
    assert record.config.strategy == "ansor:dense"


def test_lines_of_ansor_that_are_no_records_here_say_why(
    read: Callable[..., list[Any]],
) -> None:
    own = '["f", [4, 128], [64, 128], [4, 65]]'
    convolution = '["f", [1, 8, 8, 8], [8, 8, 3, 3], [1, 8, 8, 8]]'
    good, *others = read(
        ansor("v0.6"),
        ansor("v0.7"),
        ansor("v0.6", own),
        ansor("v0.6", convolution),
        ansor("v0.6", steps=[*STEPS, ["XX", 2]]),
        ansor("v0.6", steps=[["SP", 99, 0]]),
        ansor("v0.6", SHAPED.replace("128", "9999999999")),
        ansor("v0.6", costs=[1e10]),
        ansor("v0.6")[:-40],
        AUTOTVM,
    )
    assert isinstance(good, Record)
    assert [type(one) for one in others] == [UnknownLineError] * 4 + [BadLineError] * 5
    for one, why in zip(
        others,
        ("v0.7", "no operator of ours", "the product is stage 2", "step 6, XX", "a stage numbered",
         "a shape of dense", "costs of", "no JSON", "no record of Ansor"),
        strict=True,
    ):  # fmt: skip
        assert why in str(one)


def test_the_loops_of_a_dense_layer_tell_its_shapes(read: Callable[..., list[Any]]) -> None:
    (record,) = read(ansor("v0.5", '["0abeaf8a7df88ad015de76910b5779a1"]'))
    assert str(record.task.workload) == "dense(4x128, 64x128)"


def test_metaschedules_tuning_records_are_read(read: Callable[..., list[Any]]) -> None:
    batches = (2, 4, 8), (2, 16, 8), (2, 4, 16)
    dense, batched, *others = read(
        metaschedule(),
        metaschedule(batches),
        metaschedule(seconds=None),
        metaschedule(((1,), (1,), (1,))),
        metaschedule(dtype="int8"),
        '["hash", "bW9kdWxl"]',
        "[1, 2]",
        name="metaschedule",
    )
    assert (str(dense.task.workload), dense.device) == ("dense(4x128, 64x128)", "skylake-avx512")
    assert dense.config["tiles"] == ((2, 1, 1, 2), (2, 2, 2, 8), (16, 8))
    assert str(batched.task.workload) == "matmul(2x4x8, 2x8x16)"
    assert others[0].trial.result.failure is not None
    assert [type(one) for one in others[1:]] == [UnknownLineError] * 3 + [BadLineError]


@pytest.mark.parametrize("line", [AUTOTVM, ansor("v0.6"), metaschedule()])
def test_a_pasted_line_with_curly_quotes_is_read(line: str, read: Callable[..., list[Any]]) -> None:
    sides = iter("“”" * line.count('"'))
    curly = "".join(next(sides) if one == '"' else one for one in line)
    plain, pasted = (read("# from a thread", "", text) for text in (line, curly))
    assert [one.config for one in pasted] == [one.config for one in plain]


def test_a_torn_first_line_does_not_hide_the_format(read: Callable[..., list[Any]]) -> None:
    torn, whole = read(AUTOTVM[40:], AUTOTVM, name="autotvm")
    assert isinstance(torn, BadLineError)
    assert isinstance(whole, Record)


HOSTILE: list[Any] = [
    None,
    True,
    -1,
    10**30,
    1e308,
    "x",
    "\udc80",
    [],
    [[]],
    {},
    [1, [2]],
    {"a": 1},
]


def _damaged(line: str, chance: random.Random) -> str:
    """With one value anywhere in it exchanged, or missing."""
    data = json.loads(line)
    owner, place = data, None
    while isinstance(owner, list | dict) and owner:
        place = chance.choice([*(owner if isinstance(owner, dict) else range(len(owner)))])
        if not isinstance(owner[place], list | dict) or not owner[place] or chance.random() < 0.2:
            break
        owner = owner[place]
    if chance.random() < 0.3:
        del owner[place]
    else:
        owner[place] = chance.choice(HOSTILE)
    return json.dumps(data)


@pytest.mark.parametrize("line", [ansor("v0.6"), metaschedule()], ids=["ansor", "metaschedule"])
def test_no_damaged_line_stops_the_reading(line: str, read: Callable[..., list[Any]]) -> None:
    chance = random.Random(1)
    found = read(line, *(_damaged(line, chance) for _ in range(500)))
    assert len(found) == 501
    assert all(isinstance(one, Record | BadLineError) for one in found)
    assert 501 > sum(isinstance(one, BadLineError) for one in found) > 100
