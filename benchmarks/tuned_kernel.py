"""A task tuned and its best config bound to random inputs, ready to be timed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import tilewright
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.measure import Conditions


@dataclass(frozen=True)
class TunedKernel:
    """What tuning found, the direct algorithm's operations, and the kernel, loaded and bound."""

    found: Any
    operations: int
    kernel: Any

    def flops(self, number: int = 10) -> float:
        """Operations a second over `number` launches, after as many that warm the caches.

        One is not enough: megabytes that another kernel drove out settle in the last level only
        after several passes.
        """
        self.kernel.time(number)
        return self.operations * number / self.kernel.time(number)

    def seconds(self, runs: int) -> float:
        """Median time of a launch over `runs`, after as many that warm the caches."""
        self.kernel.time(runs)
        return median(self.kernel.time(1) for _ in range(runs))


def tuned_kernel(
    host: PluginHost, task: str, *, target: str = "x86:threads=1", **options: Any
) -> TunedKernel:
    """Tune a task, warm, with `tilewright.tune`'s options, and load the best config it finds."""
    Path(options["records"]).parent.mkdir(parents=True, exist_ok=True)
    warm = Conditions(constants="warm")
    found = tilewright.tune(task, target=target, conditions=warm, host=host, **options)
    chosen, config = found.task, found.config
    backend, reference = host.backend(chosen.target.kind), host.reference(chosen.workload.operator)
    layouts = host.layouts(chosen, config)
    inputs = reference.inputs(chosen.workload, seed=1)
    arrays = [reference.pack(a, text) for a, text in zip(inputs, layouts.inputs, strict=True)]
    ((shape, dtype),) = reference.output_shapes(chosen.workload)
    arrays.append(reference.pack(np.zeros(shape, dtype), layouts.outputs[0]))
    artifact = backend.build(host.lower(chosen, config), chosen.target)
    kernel = backend.load(artifact, backend.probe()[0])
    kernel.bind(arrays, {})
    return TunedKernel(found, reference.operations(chosen.workload), kernel)
