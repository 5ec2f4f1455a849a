"""Runs every hand-written strategy with operands between pages that may not be touched.

`python guarded_operands.py ISA CONFIGS TASK...`: prints each config before it runs, so that the
last line of a crash names the culprit; "done" at the end.
"""

from __future__ import annotations

import ctypes
import mmap
import random
import sys

import numpy as np

from tilewright.host import PluginHost
from tilewright.target import Target
from tilewright.task import Task

_libc = ctypes.CDLL(None, use_errno=True)


def guarded(array: np.ndarray, *, at_end: bool) -> tuple[mmap.mmap, np.ndarray]:
    """A copy on whole pages between two forbidden ones: against the one behind it, as close as
    64-byte alignment allows, or against the one before it.
    """
    page = mmap.PAGESIZE
    inside = -(-array.nbytes // page) * page
    memory = mmap.mmap(-1, inside + 2 * page)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for forbidden in (base, base + page + inside):
        assert _libc.mprotect(ctypes.c_void_p(forbidden), ctypes.c_size_t(page), 0) == 0
    start = page + ((inside - array.nbytes) // 64 * 64 if at_end else 0)
    copy = np.frombuffer(memory, array.dtype, array.size, start).reshape(array.shape)
    copy[...] = array
    return memory, copy


def run(host: PluginHost, task: Task, config: object) -> None:
    reference, backend = host.reference(task.workload.operator), host.backend("x86")
    inputs = reference.inputs(task.workload, seed=1)
    layouts = host.layouts(task, config)
    packed = [reference.pack(a, text) for a, text in zip(inputs, layouts.inputs, strict=True)]
    (expected,) = reference.outputs(task.workload, inputs)
    output = np.zeros_like(reference.pack(expected, layouts.outputs[0]))
    kernel = backend.load(backend.build(host.lower(task, config), task.target), backend.probe()[0])
    for at_end in (False, True):
        kernel.bind([*packed, output], {})
        kept = [guarded(array, at_end=at_end) for array in (*packed, output)]
        for column, (_, copy) in enumerate(kept):
            kernel._table[:, column] = copy.ctypes.data
        kernel.launch()
        got = reference.unpack(kept[-1][1], layouts.outputs[0], expected.shape)
        error = float(np.abs(got - expected).max()) / max(float(np.abs(expected).max()), 1e-30)
        assert error <= reference.tolerance(task.workload), error
    kernel.close()


def main(isa: str, configs: int, texts: list[str]) -> None:
    host = PluginHost.load()
    for text in texts:
        operator = text.partition("(")[0]
        workload = host.reference(operator).parse(text[len(operator) :], "")
        task = Task(workload, Target.parse(f"x86:isa={isa},threads=1"))
        for strategy in host.strategies(task):
            if strategy.name == "derived":
                continue
            space = host.space(task, strategy.name)
            fallback = host.schedule(strategy.name).fallback(task)
            for config in [fallback, *space.sample(random.Random(1), configs)]:
                sys.stdout.write(f"{text} {config.text}\n")
                sys.stdout.flush()
                run(host, task, config)
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
