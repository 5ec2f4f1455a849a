"""Runs every strategy of x86 with operands between pages that may not be touched.

A server: a line `TARGET SEED CONFIGS TASK` asks for the fallback and so many sampled configs of
every strategy; behind `bfloat16/` in front of the target, of those that compute in bfloat16. It
answers with each config before it runs, so that the last line before a crash names the culprit, and
at the end with `right`, or `wrong` and why. Given a library of `trapped_tiles`, it has AMX.
"""

from __future__ import annotations

import ctypes
import mmap
import random
import sys
from pathlib import Path

import numpy as np
from answers import expected, host, task_of
from trapped_tiles import trap_tiles

from tilewright.vocabulary.task import Task

_libc = ctypes.CDLL(None, use_errno=True)
_trapped = trap_tiles(Path(sys.argv[1])) if len(sys.argv) > 1 else None


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


def error_of(task: Task, config: object, precision: str) -> float:
    """Largest error over tolerance, both relative to the largest value; the worse of two places.

    Of one element or two the epilogue may leave next to nothing: values before it count as well.
    """
    reference, backend = host().reference(task.workload.operator), host().backend("x86")
    inputs, wanted = expected(task.workload, precision)
    layouts = host().layouts(task, config)
    packed = [reference.pack(a, text) for a, text in zip(inputs, layouts.inputs, strict=True)]
    anchor = task.workload.anchor
    (behind_anchor,) = reference.outputs(anchor, inputs[: len(anchor.inputs)])
    largest = max(np.abs(values.astype(np.float64)).max() for values in (wanted, behind_anchor))
    poison = reference.pack(wanted, layouts.outputs[0]).copy()
    poison.reshape(-1).view(np.uint8)[...] = 0xFF  # NaN, or -1
    artifact = backend.build(host().lower(task, config), task.target)
    emulated = task.target.get("emulated") == "yes"
    kernel = backend.load(artifact, backend.probe()[emulated])
    kernel.bind([*packed, poison], {})
    errors, before = [], _trapped() if _trapped else 0
    for at_end in (False, True):
        kept = [guarded(array, at_end=at_end) for array in (*packed, poison)]
        scratch = np.zeros(artifact.metadata["workspace_bytes"], np.uint8)
        for column, (_, copy) in enumerate([*kept, guarded(scratch, at_end=at_end)]):
            kernel.table[:, column] = copy.ctypes.data
        kernel.launch()
        got = reference.unpack(kept[-1][1], layouts.outputs[0], wanted.shape)
        difference = np.abs(got.astype(np.float64) - wanted.astype(np.float64)).max()
        errors.append(difference / max(largest, 1e-30))
    kernel.close()
    if _trapped and "tiles" in config.strategy:
        assert _trapped() > before
    unit = reference.rounding_unit(task.workload) / max(largest, 1e-30)
    error, tolerance = float(np.max(errors)), reference.tolerance(task.workload, precision) + unit
    return error / tolerance if tolerance else float("inf") * error if error else 0.0


def answer(target: str, seed: int, configs: int, text: str) -> str:
    """`right`, or `wrong` and the error."""
    lowered, _, target = target.rpartition("/")
    precision = lowered or "float32"
    running, task = host().at_precision(precision), task_of(text, target)
    for strategy in running.strategies(task):
        if strategy.precision != precision:
            continue
        space = running.space(task, strategy.name)
        fallback = running.implementation(strategy.name).fallback(task)
        sampled = space.sample(random.Random(seed), configs)
        for config in [*([fallback] if fallback else []), *sampled]:
            sys.stdout.write(f"{config.text}\n")
            sys.stdout.flush()
            error = error_of(task, config, precision)
            if not error <= 1:
                return f"wrong: {error:.3g} times the tolerance"
    return "right"


def main() -> None:
    host()
    for line in sys.stdin:
        target, seed, configs, text = line.strip().split(" ", 3)
        sys.stdout.write(answer(target, int(seed), int(configs), text) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
