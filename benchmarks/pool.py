"""What a parallel loop costs: one fork and join of the thread pool, called from native code.

    uv run python benchmarks/pool.py [--threads 2]

Every participant waits in the loop until all have come: without that, the caller would be done with
all of it before a worker is there, and nothing would be forked. Microseconds, median of rounds; and
of single loops after a rest in which the workers fell asleep.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable, Mapping
from statistics import median

import numpy as np
from result_data import Row
from saving import add_save_options, save

from tilewright_x86.kernel import jit
from tilewright_x86.kernel.loader import Loaded
from tilewright_x86.kernel.parallel import hold_pool
from tilewright_x86.machine.isa import ISAS

ROUNDS, LOOPS, RESTS, REST_SECONDS = 21, 5000, 50, 0.01
MEETING = """
declare void @tw_parallel_for(ptr, ptr, i64, i64)
declare void @llvm.x86.sse2.pause()

; operands: how many have come so far, how many a loop brings together
define internal void @meet(ptr %operands, i64 %begin, i64 %end) {
entry:
  %all_at = getelementptr i64, ptr %operands, i64 1
  %all = load i64, ptr %all_at
  %before = atomicrmw add ptr %operands, i64 1 acq_rel
  %loops = udiv i64 %before, %all
  %loop = add i64 %loops, 1
  %wanted = mul i64 %loop, %all
  br label %wait
wait:
  %come = load atomic i64, ptr %operands acquire, align 8
  %met = icmp uge i64 %come, %wanted
  br i1 %met, label %exit, label %pause
pause:
  call void @llvm.x86.sse2.pause()
  br label %wait
exit:
  ret void
}

define void @loops(ptr %operands, i64 %threads, i64 %times) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @tw_parallel_for(ptr @meet, ptr %operands, i64 %threads, i64 %threads)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %times
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
"""


def meetings(threads: int, symbols: Mapping[str, int]) -> Callable[[int], float]:
    """Microseconds that one of so many loops takes, on a pool that is held."""
    code = Loaded([jit.compile_object(MEETING, ISAS[-1])], symbols)
    types = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    loops = ctypes.CFUNCTYPE(None, *types)(code.address("loops"))
    operands = np.array([0, threads], np.int64)

    def run(times: int) -> float:
        start = time.perf_counter()
        loops(operands.ctypes.data, threads, times)
        assert operands[0] % threads == 0
        return (time.perf_counter() - start) / times * 1e6

    run.code = code  # type: ignore[attr-defined]
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=2, help="at most as many as there are CPUs")
    add_save_options(parser)
    options = parser.parse_args()
    symbols, _ = hold_pool(main)
    run = meetings(options.threads, symbols)
    run(LOOPS)
    found = [run(LOOPS) for _ in range(ROUNDS)]
    print(f"fork and join, {options.threads} threads: {median(found):.2f} us ({min(found):.2f})")
    rested = []
    for _ in range(RESTS):
        time.sleep(REST_SECONDS)
        rested.append(run(1))
    print(f"after {REST_SECONDS * 1e3:.0f} ms of rest: {median(rested):.1f} us ({min(rested):.1f})")
    row = Row(
        case=f"{options.threads} threads",
        ours=median(found),
        details={"least us": min(found), "after a rest us": median(rested)},
    )
    save(options, "pool", [row])


if __name__ == "__main__":
    main()
