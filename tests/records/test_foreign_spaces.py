"""Spaces that Kernel Tuner and BAT measured: caches, results in format T4, tables."""

from __future__ import annotations

import gzip
import json
import random

import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import FailureKind
from tilewright_records.readers import read_log, recognised_format
from tilewright_records.spaces.foreign_spaces import read_foreign_space

PARTS = {"compile_time": 600.0, "verification_time": 0, "benchmark_time": 100.0}
TIMES = {  # of block_size_x, tile: what is missing here was not allowed
    (32, 1): 4.0,
    (32, 2): 3.0,
    (64, 1): "CompilationFailedConfig",
    (64, 2): 2.0,
    (64, 4): "RuntimeFailedConfig",
    (128, 1): "InvalidConfig",
    (128, 4): 1e20,
    (256, 4): 2.5,
}


def cache():
    entries = {
        f"{x},{tile}": {"block_size_x": x, "tile": tile, "time": time, **PARTS}
        for (x, tile), time in TIMES.items()
    }
    entries["32,1"]["times"] = [4.5, 4.0, 3.5]
    entries["64,4"]["__error__"] = entries["64,4"].pop("time")  # as later versions write it
    return {
        "device_name": "A GPU",
        "kernel_name": "saxpy",
        "problem_size": [1024, 1],
        "tune_params_keys": ["block_size_x", "tile"],
        "tune_params": {"block_size_x": [32, 64, 128, 256], "tile": [1, 2, 4, 8]},
        "cache": entries,
    }


def t4():
    def result(x, tile, why="correct", unit="", value=None, runs=()):
        return {
            "configuration": {"block_size_x": float(x), "tile": tile, "mode": "fast"},
            "times": {"compilation_time": 600, "validation": 0, "runtimes": list(runs)},
            "invalidity": why,
            "correctness": 1,
            "measurements": []
            if value is None
            else [{"name": "time", "value": value, "unit": unit}],
            "objectives": ["time"],
        }

    return {
        "schema_version": "1.0.0",
        "results": [
            result(64, 1, runs=[4.0, 5.0, 4.5]),
            result(32, 2, value=3e-3, unit="seconds"),
            result(32, 4, value=2.0, unit="ms"),
            result(64, 2, "compile"),
            result(64, 4, "timeout"),
            result(128, 1, "correctness"),
            result(128, 2, "runtime"),
            result(128, 4, "constraints"),
        ],
    }


@pytest.fixture
def read(tmp_path):
    """A function that reads some data from a file of a name."""

    def read(data, name="gpu.json"):
        text = json.dumps(data).encode()
        (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return read_foreign_space(tmp_path / name)

    return read


@pytest.mark.parametrize("name", ["gpu.json", "gpu.json.gz"])
def test_a_cache_is_a_space_of_what_was_measured(read, name):
    space = read(cache(), name)
    assert (space.name, space.device) == ("saxpy@gpu", "A GPU")
    assert {(c["block_size_x"], c["tile"]) for c in space.space.points()} == set(TIMES)
    assert space.true_seconds(ConfigEntity("saxpy", {"block_size_x": 64, "tile": 2})) == 2e-3
    assert space.best_seconds == 2e-3
    costs = space.measure(ConfigEntity("saxpy", {"block_size_x": 32, "tile": 1})).result.costs
    assert costs == (4.5e-3, 4e-3, 3.5e-3)


def test_failures_of_a_cache_have_kinds(read):
    space = read(cache())
    kinds = {
        (config["block_size_x"], config["tile"]): result.failure.kind
        for config, result in space.results.items()
        if result.failure
    }
    assert kinds == {
        (64, 1): FailureKind.BUILD_ERROR,
        (64, 4): FailureKind.RUN_ERROR,
        (128, 1): FailureKind.INVALID_CONFIG,
        (128, 4): FailureKind.INVALID_CONFIG,
    }


def test_the_seconds_of_a_trial_are_known(read):
    space = read(cache())
    assert space.tells_trial_seconds
    assert {sum(result.timings.values()) for result in space.results.values()} == {0.7}


def test_results_in_format_t4_are_a_space(read):
    space = read(t4(), "bat.json")
    assert space.name == "bat"
    seconds = {
        (config["block_size_x"], config["tile"]): result.seconds
        for config, result in space.results.items()
    }
    assert seconds == {
        (64, 1): 4.5e-3, (32, 2): 3e-3, (32, 4): 2e-3,
        (64, 2): None, (64, 4): None, (128, 1): None, (128, 2): None,
    }  # fmt: skip
    kinds = [result.failure.kind for result in space.results.values() if result.failure]
    assert kinds == [
        FailureKind.BUILD_ERROR,
        FailureKind.RUN_TIMEOUT,
        FailureKind.WRONG_ANSWER,
        FailureKind.RUN_ERROR,
    ]
    (alternative,) = space.space.alternatives
    assert [knob.values for knob in alternative.knobs] == [(32, 64, 128), (1, 2, 4), ("fast",)]


BAT = """\
,timestamp,correctness,validity,objective,error,config.block_size_x,config.mode,times.total_time,\
times.compile_time,times.arg_time,times.runtimes,times.algorithm_time,times.framework_time
0,2023-01-01 00:00:00,1.0,Correct,0.003,no error,32,fast,0.9,0.5,0,"[0.002, 0.004, 0.003]",0,0
1,2023-01-01 00:00:01,1.0,Correct,0.0025,no error,64,fast,0.9,0.5,0,[0.0025],0,0
2,2023-01-01 00:00:02,0.0,Compile exception,10000.0,,64,exact,0.0,0.0,0,[0],0,0
3,2023-01-01 00:00:03,0.0,RuntimeError,10000.0,,128,fast,0.0,0.0,0,[0],0,0
4,2023-01-01 00:00:04,0.0,KnownConstraintsViolated,10000.0,,256,fast,0.0,0.0,0,[0],0,0
"""


def test_a_table_of_bat_is_a_space(tmp_path):
    path = tmp_path / "gemm-A100.csv"
    path.write_text(BAT)
    space = read_foreign_space(path)
    assert space.name == "gemm-A100"
    told = {(c["block_size_x"], c["mode"]): r for c, r in space.results.items()}
    assert told[32, "fast"].costs == pytest.approx((2e-3, 4e-3, 3e-3))
    assert told[32, "fast"].timings == pytest.approx({"compile": 0.5, "check": 0, "time": 9e-3})
    assert space.best_seconds == pytest.approx(2.5e-3)
    kinds = {config: result.failure.kind for config, result in told.items() if result.failure}
    assert kinds == {
        (64, "exact"): FailureKind.BUILD_ERROR,
        (128, "fast"): FailureKind.RUN_ERROR,
    }


@pytest.mark.parametrize(
    "text",
    [b"", b"a,b\n1,2\n3,4\n", BAT.replace("[0.0025]", "soon").encode(), BAT.encode("utf-16")],
)
def test_another_table_is_one_clear_line(tmp_path, text):
    path = tmp_path / "other.csv"
    path.write_bytes(text)
    with pytest.raises(UsageError, match="neither a cache of Kernel Tuner's nor results in format"):
        read_foreign_space(path)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"results": []},
        {"cache": {}, "tune_params_keys": []},
        {"results": [{"configuration": {}}]},
    ],
)
def test_other_files_are_one_clear_line(read, data):
    with pytest.raises(UsageError, match="neither a cache of Kernel Tuner's nor results in format"):
        read(data)


def test_a_time_that_is_none_is_one_clear_line(read):
    data = cache()
    data["cache"]["32,2"]["time"] = -1
    with pytest.raises(UsageError, match="a time of"):
        read(data)


class TestListedAlternative:
    """A space of listed points does what tuners ask of any space."""

    @pytest.fixture
    def space(self, read):
        return read(cache()).space

    def test_its_points_are_the_listed_ones(self, space):
        assert space.valid_count() == len(list(space.indexes())) == len(TIMES)
        assert space.size == 4 * 3  # 8 does not occur
        assert all(map(space.is_valid, space.points()))
        gone = ConfigEntity("saxpy", {"block_size_x": 256, "tile": 1})
        assert space.find(gone) is not None
        assert gone not in space

    def test_indexes_of_a_part(self, space):
        every = list(space.indexes())
        assert every == sorted(every)
        assert list(space.indexes(every[2], every[5])) == every[2:5]

    def test_samples_are_distinct_and_feasible(self, space):
        drawn = space.sample(random.Random(0), 5)
        assert len(set(drawn)) == 5
        assert all(map(space.is_valid, drawn))
        assert set(space.sample(random.Random(1), 99)) == set(space.points())

    def test_neighbours_differ_in_one_knob(self, space):
        chance = random.Random(2)
        for config in space.points():
            near = space.neighbour(config, chance)
            assert space.is_valid(near)
            assert sum(near[name] != value for name, value in config.values.items()) == 1

    def test_mixes_are_feasible(self, space):
        chance, points = random.Random(3), list(space.points())
        mixed = {space.crossover(a, b, chance) for a in points for b in points}
        assert mixed <= set(points)

    def test_spaces_of_other_points_are_others(self, read):
        data = cache()
        before = read(data).space.hash
        del data["cache"]["64,4"]
        assert read(data).space.hash != before


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(("data", "kernel"), [(cache, "saxpy"), (t4, "gpu")])
def test_entries_are_records_and_damage_costs_one(tmp_path, host, data, kernel, indent):
    content = data()
    entries = content["cache"].values() if "cache" in content else content["results"]
    (*_, last) = entries
    last.clear()
    path = tmp_path / "gpu.json"
    path.write_text(json.dumps(content, indent=indent))
    assert recognised_format(path, host) == "kernel-tuner"
    *records, broken = [found for _, found in read_log(path, host)]
    assert {one.config.strategy for one in records} == {f"kernel_tuner:{kernel}"}
    assert len([one for one in records if one.seconds is not None]) == 3
    assert str(broken).startswith("no member")
