"""Levels that differ in tensor instructions alone: the same code in float32, and one history."""

from __future__ import annotations

import json
import logging
import random
from dataclasses import replace

import pytest

import tilewright
from tilewright.host.plugin_host import PluginHost
from tilewright.space.config_space import ConfigSpace
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task_set import TaskSet, WeightedTask
from tilewright_pipeline.api.task_text import find_task
from tilewright_pipeline.context.run_setup import make_context, open_store
from tilewright_pipeline.tuning.history import known_trials
from tilewright_x86.backend import X86Backend
from tilewright_x86.kernel.build import build
from tilewright_x86.machine.isa import ISAS, available

LEVELS = {isa.name: isa for isa in ISAS}
LEVELS_HERE = {isa.name for isa in available()}
TEXTS = (
    "conv2d(1x8x9x9, 16x8x3x3, padding=1) + relu()",
    "conv2d(1x8x9x9, 8x1x3x3, groups=8)",
    "matmul(5x33, 33x17)",
    "dense(2x32, 20x32)",
    "softmax(3x40)",
    "max_pool2d(1x16x8x8, pool_size=2, strides=2)",
)
LOWER = (
    "matmul(5x33:bfloat16, 33x17:bfloat16)",
    "matmul_integer(5x33:uint8, 33x17:int8)",
    "layout_transform(1x16x8x8, src=NCHW, dst=NCHW16c:bfloat16)",
    "relu(5x33:float16)",
)


@pytest.fixture(scope="module")
def host():
    return PluginHost.load()


def task_of(text, level, host):
    return find_task(text, Target("x86", {"isa": level, "threads": "1"}), host, None)


def families():
    widths = {isa.vector_bits for isa in ISAS}
    return [[isa for isa in ISAS if isa.vector_bits == width] for width in sorted(widths)]


def test_equal_targets_are_mutual_and_of_the_same_vectors(host):
    backend = X86Backend()
    for family in families():
        names = {isa.name for isa in family}
        for name in names:
            task = task_of(TEXTS[0], name, host)
            others = backend.equal_targets(task)
            assert {other.get("isa") for other in others} == names - {name}
            assert {other.threads for other in others} <= {1}
            assert all(
                task.target in backend.equal_targets(replace(task, target=other))
                for other in others
            )


@pytest.mark.parametrize("text", LOWER)
def test_what_has_to_do_with_lower_precision_has_no_equal_targets(host, text):
    assert not X86Backend().equal_targets(task_of(text, "avx512", host))


@pytest.mark.parametrize("text", TEXTS)
def test_strategies_of_float32_generate_the_same_code_for_equal_targets(host, text):
    lower = host.at_precision("bfloat16")
    for isa in (LEVELS["avx512"], LEVELS["avx2"]):
        task = task_of(text, isa.name, host)
        space = host.space(task)
        for target in X86Backend().equal_targets(task):
            other = replace(task, target=target)
            exact = [
                alternative
                for alternative in lower.space(other).alternatives
                if host.strategy(alternative.name).precision == "float32"
            ]
            assert ConfigSpace(exact).hash == space.hash
            for config in space.sample(random.Random(5), 6, balanced=True):
                assert code_of(host, other, config) == code_of(host, task, config)


def code_of(host, task, config):
    return built(host, task, config).data


def built(host, task, config):
    program = host.implementation(config.strategy).lower(task, config)
    return build(program, task.target)


@pytest.mark.parametrize(
    ("precision", "strategy", "needed"),
    [
        ("float32", "derived.x86", "avx512"),
        ("bfloat16", "products_of_dots_bf16.x86", "avx512_bf16"),
        ("bfloat16", "products_in_tiles_bf16.x86", "amx"),
    ],
)
def test_an_artefact_names_the_lowest_level_that_runs_its_code(precision, strategy, needed, host):
    task = task_of("matmul(16x64, 64x32)", "amx", host)
    config = host.at_precision(precision).space_within(task, strategy).first()
    made = built(host, task, config)
    assert (made.metadata["isa"], made.target) == (needed, str(task.target))


@pytest.fixture
def tuned(tmp_path, monkeypatch):
    """A function that tunes a task for a few trials into one records file: the result."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = tmp_path / "records.jsonl"

    def tune(level, budget, **options):
        return tilewright.tune(
            "matmul(16x16, 16x16)",
            target=f"x86:isa={level},threads=1",
            budget=budget,
            records=file,
            **options,
        )

    return tune


@pytest.mark.skipif("avx512_bf16" not in LEVELS_HERE, reason="no AVX-512 BF16")
def test_records_of_float32_are_hits_in_a_run_at_bfloat16(tuned, tmp_path, caplog):
    measured = tuned("avx512", 4)
    with caplog.at_level(logging.WARNING):
        again = tuned("avx512_bf16", 2, precision="bfloat16", strategies="*_bf16.x86")
    assert "none of its" not in caplog.text
    assert again.summary["trials"] >= 2
    host = PluginHost.load().at_precision("bfloat16")
    records = tmp_path / "records.jsonl"
    context = make_context(
        host,
        name="look",
        folder=tmp_path,
        target="x86:isa=avx512_bf16,threads=1",
        records=records,
        writes=False,
        saves=False,
    )
    task = replace(measured.task, target=context.target)
    every = known_trials(context, TaskSet((WeightedTask(task, 1.0, "it"),)))
    own = [trial for trial in every if trial.input.task == task]
    by_precision = {host.strategy(trial.input.config.strategy).precision for trial in own}
    assert by_precision == {"float32", "bfloat16"}
    assert len(own) == len(every) == context.history.count(task).trials
    ranked = list(context.history.ranked(task))
    assert [one.seconds for one in ranked] == sorted(one.seconds for one in ranked)
    assert {one.record.config for one in ranked} == {
        t.input.config for t in own if t.result.seconds
    }
    assert context.history.best(task) == ranked[0].record
    assert measured.config in {one.record.config for one in ranked}


@pytest.mark.skipif("avx512_bf16" not in LEVELS_HERE, reason="no AVX-512 BF16")
def test_records_of_bfloat16_do_not_count_where_there_is_no_such_instruction(tuned, tmp_path):
    lower = tuned("avx512_bf16", 3, precision="bfloat16", strategies="*_bf16.x86")
    context = make_context(
        PluginHost.load(),
        name="look",
        folder=tmp_path,
        target="x86:isa=avx512,threads=1",
        records=tmp_path / "records.jsonl",
        writes=False,
        saves=False,
    )
    task = replace(lower.task, target=context.target)
    assert lower.config is not None
    assert context.history.best(task) is None
    assert context.history.count(task).trials == 0
    every = known_trials(context, TaskSet((WeightedTask(task, 1.0, "it"),)))
    assert not [one for one in every if one.input.task == task]


@pytest.mark.skipif("avx512_bf16" not in LEVELS_HERE, reason="no AVX-512 BF16")
def test_what_was_measured_in_float32_is_not_measured_again(tuned, tmp_path):
    tuned("avx512", 3, strategies="derived.*")
    tuned("avx512_bf16", 6, precision="bfloat16", strategies="derived.*")
    once = {}
    for record in open_store(tmp_path / "records.jsonl", PluginHost.load()).records():
        if record.trial.input.conditions.turns == 1:
            once.setdefault(record.task.target.get("isa"), []).append(record.config)
    assert len(once["avx512"]) == 3
    assert once["avx512_bf16"]
    assert not {*once["avx512"]} & {*once["avx512_bf16"]}


@pytest.mark.skipif("avx512_bf16" not in LEVELS_HERE, reason="no AVX-512 BF16")
def test_what_cannot_beat_the_best_at_its_peak_gets_no_trial(tuned, tmp_path):
    """By peaks as they are kept: float32 would take years, so that only incumbents try it."""
    (cpu,) = (device for device in X86Backend().probe() if device.name == "cpu")
    kept = {"x86:isa=avx512_bf16,threads=1": [1.0, 1e12, {"bfloat16/vdpbf16ps": 1e15}]}
    (tmp_path / "tilewright").mkdir()
    (tmp_path / "tilewright" / "peaks.json").write_text(json.dumps({cpu.fingerprint: kept}))
    found = tuned("avx512_bf16", 8, precision="bfloat16")
    host = PluginHost.load().at_precision("bfloat16")
    space = host.space(found.task)
    slow = [one for one in space.alternatives if host.strategy(one.name).precision == "float32"]
    assert found.summary["spared"] == len(slow) > 0
    assert host.strategy(found.config.strategy).precision == "bfloat16"
    tried = {
        record.config.strategy for record in open_store(tmp_path / "records.jsonl", host).records()
    }
    assert {host.strategy(name).precision for name in tried} == {"bfloat16"}
