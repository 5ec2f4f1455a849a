"""What compiles of each CUDA space, how fast, and how well registers are foretold.

Prints a line of JSON a space as it is done, compiler and target before the first.

    uv run python benchmarks/cuda/compile_rate.py [--count 200] [--jobs 2] [--only gemm.cuda]

No GPU is needed, but NVRTC or nvcc. Random feasible configs of every alternative of a strategy are
lowered, emitted and compiled, nothing from a cache. Per space:

points             raw size of the space
feasible           points that satisfy its constraints; not counted where there are very many
refused_share      turned down before compiling: threads, shared memory, the model of registers
compiled_share     compiled, of those that were sampled
spill_share        registers spill, of those that compiled
emission_ms        lowering and emission of a config: median, 95th percentile, most
compile_s          one kernel's text: median, 95th percentile, most
compiles_per_core_s  candidates a second of processor time, emission and compiler together
registers          (model - compiler) by kernel, spilling ones left out: median and most of its size
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import mean, median
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

from result_data import Row
from saving import add_save_options, save

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task

TASKS = {
    "conv2d_igemm.cuda": (
        "conv2d(1x64x56x56, 64x64x3x3, padding=1) + add(1x64x1x1:const) + relu()",
        "conv2d(1x3x224x224, 64x3x7x7, strides=2, padding=3) + add(1x64x1x1:const) + relu()",
        "conv2d(1x512x7x7, 512x512x3x3, padding=1) + add(1x512x1x1:const) + relu()",
    ),
    "conv2d_winograd.cuda": ("conv2d(1x128x28x28, 128x128x3x3, padding=1)",),
    "conv2d_transpose.cuda": (
        "conv2d_transpose(1x512x18x8, 256x512x3x3, strides=2, padding=1, output_padding=1)",
    ),
    "conv2d_depthwise.cuda": ("conv2d(1x144x56x56, 144x1x3x3, padding=1, groups=144)",),
    "gemm.cuda": ("dense(1024x1024, 1024x1024)", "matmul(12x128x64, 12x64x128)"),
    "dense_small_batch.cuda": ("dense(1x512, 1000x512) + add(1x1000:const)",),
    "pool2d.cuda": ("max_pool2d(1x64x112x112, pool_size=3, strides=2, padding=1)",),
    "reduction.cuda": ("global_avg_pool2d(1x512x7x7)",),
    "softmax.cuda": ("softmax(64x1000)",),
    "derived.cuda": (
        "conv2d(1x64x56x56, 64x64x3x3, padding=1) + add(1x64x1x1:const) + relu()",
        "dense(1024x1024, 1024x1024)",
    ),
    "elementwise.cuda": ("add(1x64x56x56, 1x64x56x56) + relu()",),
    "layout_transform.cuda": ("layout_transform(1x64x56x56, src=NCHW, dst=NHWC)",),
}
"""Tasks of each strategy."""
COUNTED = 500_000
TARGET = Target.parse("cuda:arch=sm_90")


@cache
def host() -> PluginHost:
    return PluginHost.load()


def task_of(text: str) -> Task:
    operator = text.partition("(")[0]
    return Task(host().reference(operator).parse(text[len(operator) :], ""), TARGET)


def compiled(point: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """What became of one config."""
    from tilewright_cuda.compile.compile_error import CompileError
    from tilewright_cuda.compile.compiler import find_compiler
    from tilewright_cuda.program.arch import arch_of
    from tilewright_cuda.program.cubin import resources_of
    from tilewright_cuda.text.emit import emit_kernels
    from tilewright_cuda.text.generate import generate
    from tilewright_cuda.text.limits import expected_registers

    text, config = point
    task, arch = task_of(text), arch_of(TARGET)
    begin, busy = time.perf_counter(), processor_seconds()
    try:
        program = host().lower(task, ConfigEntity.from_json(config))
        made = generate(program, arch)
    except ValueError as error:
        return {"refused": str(error)}
    emitted = time.perf_counter()
    try:
        cubin, _ = find_compiler().compile(made.program.modules[0], arch.name)
    except CompileError as error:
        return {"emission": emitted - begin, "error": str(error)}
    seconds = time.perf_counter() - emitted
    busy = processor_seconds() - busy
    resources = resources_of(cubin)
    shapes = {kernel.name: kernel.shape for kernel in emit_kernels(program)}
    spills = {name: one.spills(made.local_bytes.get(name, 0)) for name, one in resources.items()}
    return {
        "emission": emitted - begin,
        "seconds": seconds,
        "busy": busy,
        "spills": any(spills.values()),
        "errors": [
            expected_registers(shapes[name]) - one.registers
            for name, one in resources.items()
            if not spills[name]
        ],
    }


def processor_seconds() -> float:
    """Of this process and the compilers that it has run."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in (getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN))
    )


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    emission = [one["emission"] * 1e3 for one in found if "emission" in one]
    good = [one for one in found if "seconds" in one]
    errors = [error for one in good for error in one["errors"]]
    return {
        "sampled": len(found),
        "refused_share": sum("refused" in one for one in found) / len(found),
        "compiled_share": len(good) / len(found),
        "spill_share": sum(one["spills"] for one in good) / max(1, len(good)),
        "emission_ms": spread(emission),
        "compile_s": spread([one["seconds"] for one in good]),
        "compiles_per_core_s": round(len(good) / sum(one["busy"] for one in good), 2),
        "registers": {
            "kernels": len(errors),
            "median_error": median(map(abs, errors)) if errors else None,
            "mean_error": round(mean(errors), 1) if errors else None,
            "largest_error": max(map(abs, errors), default=None),
        },
        "first_failures": [one["error"][-300:] for one in found if "error" in one][:3],
        "first_refusals": [one["refused"] for one in found if "refused" in one][:3],
    }


def spread(values: list[float]) -> dict[str, float] | None:
    if not values:
        return None
    ordered = sorted(values)
    return {
        "median": round(median(ordered), 4),
        "p95": round(ordered[int(0.95 * (len(ordered) - 1))], 4),
        "most": round(ordered[-1], 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="random configs of each space")
    parser.add_argument("--jobs", type=int, default=2, help="processes that compile")
    parser.add_argument("--only", nargs="*", default=list(TASKS), help="strategies")
    add_save_options(parser)
    options = parser.parse_args()
    rows, times = [], []
    from tilewright_cuda.compile.compiler import REMEDY, find_compiler

    compiler = find_compiler()
    if compiler is None:
        sys.exit(f"no CUDA compiler: {REMEDY}")
    print(json.dumps({"compiler": compiler.version, "target": str(TARGET)}), flush=True)
    with ProcessPoolExecutor(options.jobs) as pool:
        for strategy in options.only:
            for text in TASKS[strategy]:
                space = host().space(task_of(text), f"{strategy}*")
                points = space.sample(random.Random(0), options.count)
                asked = [(text, point.to_json()) for point in points]
                few = space.size <= COUNTED
                entry = {
                    "strategy": strategy,
                    "task": text,
                    "points": space.size,
                    "feasible": sum(1 for _ in space.points()) if few else None,
                    **summary(list(pool.map(compiled, asked))),
                }
                print(json.dumps(entry), flush=True)
                case = f"{strategy}: {text}"
                rows.append(Row(case=case, ours=100 * entry["compiled_share"], details=told(entry)))
                if spent := entry["emission_ms"]:
                    most = {"most ms": spent["most"]}
                    times.append(Row(case=case, ours=spent["median"], details=most))
    save(options, "cuda_compile", rows, packages=["nvidia-cuda-nvrtc"])
    save(options, "cuda_emission", times)


def told(entry: dict[str, Any]) -> dict[str, float | str]:
    """What else the page may say of a space; what was not counted is left out."""
    found = {
        "feasible points": entry["feasible"],
        "sampled": entry["sampled"],
        "spill %": 100 * entry["spill_share"],
        "register model, median error": entry["registers"]["median_error"],
        "register model, largest error": entry["registers"]["largest_error"],
        "compiles a second and core": entry["compiles_per_core_s"],
    }
    return {name: value for name, value in found.items() if value is not None}


if __name__ == "__main__":
    main()
