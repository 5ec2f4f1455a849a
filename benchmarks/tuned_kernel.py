"""A task tuned and its best config bound to random inputs, ready to be timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np

import tilewright
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.measure import Conditions


@dataclass(frozen=True)
class TunedKernel:
    """What tuning found, the direct algorithm's operations, and the kernel, loaded and bound.

    inputs   in logical layout, as they are bound
    answer   gives the output in logical layout, computed once more
    """

    found: Any
    operations: int
    kernel: Any
    inputs: Sequence[Any]
    answer: Callable[[], Any]

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
    host: PluginHost,
    task: str,
    *,
    target: str = "x86:threads=1",
    constants: Literal["cold", "warm"] = "warm",
    copies: int = 1,
    **options: Any,
) -> TunedKernel:
    """Tune a task with `tilewright.tune`'s options, and load the best config it finds.

    It is tuned with constants warm or cold, and bound to so many copies of them, which take turns.
    """
    Path(options["records"]).parent.mkdir(parents=True, exist_ok=True)
    conditions = Conditions(constants=constants)
    found = tilewright.tune(task, target=target, conditions=conditions, host=host, **options)
    chosen, config = found.task, found.config
    backend, reference = host.backend(chosen.target.kind), host.reference(chosen.workload.operator)
    layouts = host.layouts(chosen, config)
    inputs = reference.inputs(chosen.workload, seed=1)
    arrays = [reference.pack(a, text) for a, text in zip(inputs, layouts.inputs, strict=True)]
    ((shape, dtype),) = reference.output_shapes(chosen.workload)
    arrays.append(reference.pack(np.zeros(shape, dtype), layouts.outputs[0]))
    artifact = backend.build(host.lower(chosen, config), chosen.target)
    kernel = backend.load(artifact, backend.probe()[0])
    specs = enumerate(chosen.workload.inputs)
    kernel.bind(arrays, {i: copies for i, spec in specs if spec.role == "constant"})

    def answer() -> Any:
        kernel.launch()
        return reference.unpack(kernel.read(len(inputs)), layouts.outputs[0], shape)

    return TunedKernel(found, reference.operations(chosen.workload), kernel, inputs, answer)
