"""The text that a target generates for a config, and the corpus of configs whose text is guarded.

A corpus is a file of JSON lines, one a config: `target`, `task` (text form), `config` (as records
have it) and `sha256`, of the text. No processor, GPU, compiler or LLVM takes part.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from functools import cache
from itertools import chain, islice, product, zip_longest
from pathlib import Path
from typing import Any

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import Workload

FOLDER = Path(__file__).parent
KINDS = ("cuda", "x86")
TARGETS = {
    "x86": (
        "x86:isa=avx512,threads=1",
        "x86:isa=avx2,threads=2",
        "x86:isa=sse4,threads=1",
        "x86:isa=avx512_bf16,threads=2",
        "x86:isa=amx,threads=1",
    ),
    "cuda": ("cuda:arch=sm_90", "cuda:arch=sm_75"),
}
_CONFIGS = 150
_LOWEST = ("float16", "bfloat16")
"""Precisions that allow every other one between them."""

_TASKS = """
conv2d(1x16x7x7, 32x16x3x3, padding=1) + add(1x32x1x1:const) + add(1x32x7x7) + relu()
conv2d(1x3x23x23, 32x3x7x7, strides=2, padding=3) + add(1x32x1x1:const) + relu()
conv2d(2x17x5x11, 13x17x3x3, padding=[1,0,2,1]) + add(1x13x1x1:const) + tanh()
conv2d(1x64x14x14, 64x64x1x1)
conv2d(1x24x9x7, 16x24x3x3, padding=6, dilation=[5,6]) + relu()
conv2d(1x20x9x9, 21x20x1x1) + relu()
conv2d(1x32x9x9, 32x1x3x3, padding=1, groups=32) + add(1x32x1x1:const) + relu()
dense(7x64, 129x64) + add(1x129:const) + relu()
dense(1x37, 10x37)
matmul(2x19x24, 2x24x36)
matmul_integer(35x24:uint8, 24x36:int8)
max_pool2d(1x32x15x15, pool_size=3, strides=2, padding=1)
avg_pool2d(2x16x8x8, pool_size=3, strides=2, padding=1)
global_avg_pool2d(2x48x7x7) + relu()
softmax(37x300)
softmax(37x30) + relu()
softmax(3x5x17, axis=1)
attention(2x3x17x13, 2x3x37x13, 2x3x37x19, 2x1x17x37, scale=0.3)
reduce_max(37x30, axes=[1])
reduce_mean(3x5x17, axes=[0,2], keepdims=False) + relu()
layer_norm(3x5x17, 17, 17)
transpose(3x5x17, axes=[1,0,2])
layout_transform(1x64x3x20, src=NHWC, dst=NCHW) + relu()
layout_transform(1x32x7x7, src=NCHW, dst=NCHW16c)
layout_transform(1x2x32x32, src=NHCW:bfloat16, dst=NCWH16w2h:bfloat16)
concat(1x3x5x5, 1x7x5x5, axis=1)
add(1x32x7x7, 1x32x7x7) + relu()
add(2x7x5:int32, 2x7x1:int32) + relu()
gelu(3x17)
take(5x37, 13x3:int64, axis=1)
conv3d(1x3x4x6x5, 4x3x2x3x3, padding=1) + relu()
conv3d(1x16x3x5x7, 32x16x3x3x3, padding=1) + relu()
conv2d_transpose(1x16x5x7, 32x16x3x3, strides=2, padding=1, output_padding=1) + relu()
top_places(3x67x2, count=20, axis=1)
top_places(3x97, count=40)
resize(1x16x5x7, shape=[1,16,9,11], mode=linear, coordinates=half_pixel) + relu()
""".strip().splitlines()
_POINTS = 3


@cache
def host(precision: str = "bfloat16") -> PluginHost:
    """Every plugin that is installed, by default at the precision that allows most strategies."""
    return PluginHost.load().at_precision(precision)


def task_of(text: str, target: str) -> Task:
    """The task of a text form."""
    operator = text.partition("(")[0]
    workload: Workload = host().reference(operator).parse(text[len(operator) :], "")
    return Task(workload, Target.parse(target))


def strategies_of(kind: str) -> set[str]:
    """Names of all strategies that the kind's own plugin offers."""
    owners = host().owners("strategy")
    return {name for name, owner in owners.items() if owner.distribution == f"tilewright-{kind}"}


def text_of(task: Task, config: ConfigEntity) -> str:
    """All that the target's compiler is given."""
    program = host().lower(task, config)
    if task.target.kind == "x86":
        from tilewright_x86.kernel.program import as_x86_program
        from tilewright_x86.machine.isa import isa_of
        from tilewright_x86.text.emit import emit

        chosen = as_x86_program(program)
        kernel = emit(chosen.loops, isa_of(task.target), task.target.threads)
        passes = f"passes {chosen.passes}, joins {kernel.joins}"
        return f"; {passes}, workspace {kernel.workspace_bytes}\n{kernel.module}"
    from tilewright_cuda.program.arch import arch_of
    from tilewright_cuda.text.generate import generate

    made = generate(program, arch_of(task.target)).program
    return "\n".join([*made.modules, json.dumps(made.to_json(), sort_keys=True)])


def corpus(kind: str) -> list[dict[str, Any]]:
    """The lines of a kind of target."""
    return [json.loads(line) for line in _file(kind).read_text().splitlines()]


def sha256_of(line: dict[str, Any]) -> str:
    """The hash of the text that a line's config has today."""
    task = task_of(line["task"], line["target"])
    text = text_of(task, ConfigEntity.from_json(line["config"]))
    return hashlib.sha256(text.encode()).hexdigest()


def write(kind: str) -> None:
    """Write a corpus anew: its configs stay, strategies without any get some, hashes are today's."""
    lines = corpus(kind) if _file(kind).exists() else []
    known = {host().strategy(line["config"]["strategy"]).name for line in lines}
    drawn = _drawn(kind, strategies_of(kind) - known)
    written = [{**line, "sha256": sha256_of(line)} for line in (*lines, *drawn)]
    text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in written)
    _file(kind).write_text(text)


def _drawn(kind: str, strategies: set[str]) -> list[dict[str, Any]]:
    """What each strategy advises, and some points; of each alternative about the same number."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for text, target in product(_TASKS, TARGETS[kind]):
        task, chance = task_of(text, target), random.Random(text + target)
        allowing = {s.name: at for at in map(host, _LOWEST) for s in at.strategies(task)}
        for name in sorted(strategies & allowing.keys()):
            points = allowing[name].space(task, name).sample(chance, _POINTS, balanced=True)
            advised = allowing[name].implementation(name).fallback(task)
            for config in dict.fromkeys([*filter(None, [advised]), *points]):
                line = {"target": target, "task": text, "config": config.to_json()}
                found[config.strategy].append(line)
    for lines in found.values():
        random.Random(0).shuffle(lines)
    turns = chain.from_iterable(zip_longest(*(found[name] for name in sorted(found))))
    return sorted(islice(filter(None, turns), _CONFIGS), key=json.dumps)


def _file(kind: str) -> Path:
    return FOLDER / f"generated_text_{kind}.jsonl"
