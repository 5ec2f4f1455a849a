"""Whether measured times are those of a plain loop: the runner beside a loop of calls in Python.

    uv run python benchmarks/direct_run.py [--rounds 7]

The fallback config of each task, warm, by the runner `local` in its worker and, on the same seeded
inputs, by a loop of launches in this process around which the clock of Python is read. In turn,
and medians of the rounds: also of `ratio`, runner over loop.
"""

from __future__ import annotations

import argparse
import time
from statistics import median

from result_data import Row
from saving import add_save_options, save

from tilewright.host.contexts import MeasureContext
from tilewright.host.plugin_host import PluginHost
from tilewright.roles import BuildResult
from tilewright.vocabulary.measure import Conditions, MeasureInput
from tilewright_pipeline.api.task_text import find_task

TASKS = (  # of a millisecond or so: the loop in Python costs some microseconds a launch
    "conv2d(1x64x56x56, 64x64x3x3, padding=1)",
    "conv2d(1x256x112x112, 256x1x3x3, padding=1, groups=256)",
    "dense(128x512, 1024x512)",
    "max_pool2d(1x256x112x112, pool_size=3, strides=2, padding=1)",
    "softmax(1024x1000)",
)
_LOOP_SECONDS = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--target", default="x86:threads=1")
    parser.add_argument("--rounds", type=int, default=7)
    add_save_options(parser)
    options = parser.parse_args()
    host = PluginHost.load()
    target = host.resolve_target(options.target)
    backend = host.backend(target.kind)
    device = backend.probe()[0]
    runner = host.make("runner", "local", {}, MeasureContext(host, device))
    rows = []
    print("| task | runner us | loop us | ratio |")
    print("|---|---|---|---|")
    for text in TASKS:
        task = find_task(text, target, host, None)
        config = host.fallback_config(task, host.space(task))
        artifact = backend.build(host.lower(task, config), target)
        asked = MeasureInput(task, config, Conditions(constants="warm"))
        reference, layouts = host.reference(task.workload.operator), host.layouts(task, config)
        inputs = reference.inputs(task.workload, 0)
        logical = [*inputs, *reference.outputs(task.workload, inputs)]
        texts = [*layouts.inputs, *layouts.outputs]
        kernel = backend.load(artifact, device)
        kernel.bind([reference.pack(a, t) for a, t in zip(logical, texts, strict=True)], {})
        pairs = []
        for _ in range(options.rounds):
            (future,) = runner.run([asked], [BuildResult(artifact)])
            pairs.append((future.result().seconds, looped(kernel.launch)))
        measured, plain = (median(times) * 1e6 for times in zip(*pairs, strict=True))
        ratio = median(first / second for first, second in pairs)
        print(f"| {text} | {measured:.1f} | {plain:.1f} | {ratio:.3f} |", flush=True)
        rows.append(Row(case=text, ours=measured, peer=plain, speedup=1 / ratio))
    runner.close()
    save(options, "direct_run", rows)


def looped(launch) -> float:
    """Seconds a launch."""
    start, launches = time.perf_counter(), 0
    while (spent := time.perf_counter() - start) < _LOOP_SECONDS:
        launch()
        launches += 1
    return spent / launches


if __name__ == "__main__":
    main()
