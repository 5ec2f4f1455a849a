"""TVM's MetaSchedule tunes one task from nothing; run by a Python that has apache-tvm.

Prints one JSON object: {"task", "layout", "trials", "failures", "seconds", "gflops"}, where seconds
are those of the whole tuning and gflops are of the best candidate as MetaSchedule timed it.

Its settings are its own defaults (evolutionary search, XGBoost cost model, rules for llvm), save

  * one thread (`num-cores` of the target and TVM_NUM_THREADS): the comparison is of one thread;
  * the processor by name, so that LLVM may use vectors of 512 bits;
  * shorter timings (20 ms a candidate, not 100), which only lower its wall time;
  * constants whose layout it may rewrite (`layout_free_placeholders`), as our constants may be;
  * batches of 16 candidates, so that the cost model, which starts with nothing, learns three times
    before 64 trials are over: its best is then better than with one batch of 64, and comes later.

The convolution is channels last, the layout that was measured; `--layout` has others.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import sys
import tempfile
import time
from math import inf
from statistics import median

os.environ["TVM_NUM_THREADS"] = "1"

import tvm
from tvm import te, topi
from tvm.s_tir import meta_schedule

LAYOUTS = ("NHWC", "NCHW", "NCHW16c")


def conv2d(layout: str) -> tuple[list, int]:
    """64 filters of 3x3 over 64 channels of 56x56 pixels: (operands and result, operations)."""
    operations = 2 * 64 * 56 * 56 * 64 * 9
    if layout == "NHWC":
        image, filters = te.placeholder((1, 56, 56, 64)), te.placeholder((3, 3, 64, 64))
        made = topi.nn.conv2d_nhwc(image, filters, 1, 1, 1)
    elif layout == "NCHW":
        image, filters = te.placeholder((1, 64, 56, 56)), te.placeholder((64, 64, 3, 3))
        made = topi.nn.conv2d_nchw(image, filters, 1, 1, 1)
    else:
        image, filters = te.placeholder((1, 4, 56, 56, 16)), te.placeholder((4, 4, 3, 3, 16, 16))
        made = topi.nn.conv2d_NCHWc(image, filters, 1, 1, 1, layout, layout)
    return [image, filters, made], operations


def matmul(size: int = 1024) -> tuple[list, int]:
    """Square matrices: (operands and result, operations)."""
    left, right = te.placeholder((size, size)), te.placeholder((size, size))
    return [left, right, topi.nn.matmul(left, right)], 2 * size**3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=["conv2d", "matmul"])
    parser.add_argument("--layout", choices=LAYOUTS, default=LAYOUTS[0])
    parser.add_argument("--processor", default=tvm.target.codegen.llvm_get_system_cpu())
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--strategy", default="evolutionary")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    logging.disable(logging.INFO)
    operands, operations = conv2d(options.layout) if options.task == "conv2d" else matmul()
    target = tvm.target.Target({"kind": "llvm", "mcpu": options.processor, "num-cores": 1})
    start = time.perf_counter()
    # TVM prints its tables to standard output
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        found = meta_schedule.tune_tir(
            te.create_prim_func(operands),
            target,
            folder,
            options.trials,
            num_trials_per_iter=options.batch,
            runner=meta_schedule.runner.LocalRunner(
                evaluator_config=meta_schedule.runner.EvaluatorConfig(
                    number=1, repeat=3, min_repeat_ms=7
                )
            ),
            strategy=options.strategy,
            num_tuning_cores="logical",
            seed=options.seed,
        )
        seconds = time.perf_counter() - start
        costs = [
            median(float(cost) for cost in record.run_secs) if record.run_secs else inf
            for record in found.get_all_tuning_records()
        ]
    print(
        json.dumps(
            {
                "task": options.task,
                "layout": options.layout if options.task == "conv2d" else None,
                "trials": len(costs),
                "failures": sum(cost > 1e6 for cost in costs),
                "seconds": seconds,
                "gflops": operations / min(costs) / 1e9,
            }
        )
    )


if __name__ == "__main__":
    main()
