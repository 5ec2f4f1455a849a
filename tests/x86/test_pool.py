"""The thread pool: every index once, whatever the numbers; never a hang."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tilewright_x86.kernel import jit
from tilewright_x86.kernel.loader import Loaded
from tilewright_x86.kernel.parallel import hold_pool
from tilewright_x86.machine.isa import ISAS

_CALLER = """
declare void @tw_parallel_for(ptr, ptr, i64, i64)

define internal void @count(ptr %counts, i64 %begin, i64 %end) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %at = getelementptr i32, ptr %counts, i64 %i
  %before = atomicrmw add ptr %at, i32 1 monotonic
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

define internal void @nest(ptr %counts, i64 %begin, i64 %end) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  call void @tw_parallel_for(ptr @count, ptr %counts, i64 5, i64 2)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

define void @fork(ptr %counts, i64 %extent, i64 %threads, i64 %times, i64 %nested) {
entry:
  %is_nested = icmp ne i64 %nested, 0
  %body = select i1 %is_nested, ptr @nest, ptr @count
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @tw_parallel_for(ptr %body, ptr %counts, i64 %extent, i64 %threads)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %times
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
"""


@pytest.fixture(scope="module")
def fork() -> Callable[[np.ndarray, int, int, int, int], None]:
    """fork(counts, extent, threads, times, nested): parallel loops that count the visits of each index."""
    symbols, _ = hold_pool(threading.current_thread())  # which outlives the tests
    code = Loaded([jit.compile_object(_CALLER, ISAS[-1])], symbols)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 4)(code.address("fork"))

    def call(counts: np.ndarray, extent: int, threads: int, times: int, nested: int = 0) -> None:
        function(counts.ctypes.data, extent, threads, times, nested)

    call.code = code  # type: ignore[attr-defined]
    return call


@pytest.mark.parametrize("extent", [0, 1, 2, 3, 13, 997])
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_index_is_visited_once(fork: Callable, extent: int, threads: int) -> None:
    counts = np.zeros(1000, np.int32)
    times = 2000 if threads <= 2 else 200
    fork(counts, extent, threads, times)
    assert (counts[:extent] == times).all()
    assert (counts[extent:] == 0).all()


def test_there_are_no_more_participants_than_cpus(fork: Callable) -> None:
    counts = np.zeros(997, np.int32)
    fork(counts, 997, 1, 1)
    before = len(list(Path("/proc/self/task").iterdir()))
    fork(counts, 997, 64, 3)
    after = len(list(Path("/proc/self/task").iterdir()))
    assert after - before < len(os.sched_getaffinity(0))
    assert (counts == 4).all()


def test_nested_loops_run_serially(fork: Callable) -> None:
    counts = np.zeros(5, np.int32)
    fork(counts, 7, 2, 10, 1)
    assert counts.tolist() == [70] * 5


def test_two_python_threads_may_call_at_once(fork: Callable) -> None:
    counts = [np.zeros(101, np.int32) for _ in range(2)]
    callers = [threading.Thread(target=fork, args=(c, 101, 2, 3000)) for c in counts]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert all((c == 3000).all() for c in counts)


def test_sleeping_workers_wake(fork: Callable) -> None:
    counts = np.zeros(4, np.int32)
    for _ in range(20):
        fork(counts, 4, 2, 1)
        threading.Event().wait(0.003)  # longer than a worker spins
    assert counts.tolist() == [20] * 4


def test_the_caller_keeps_its_affinity(fork: Callable) -> None:
    before = os.sched_getaffinity(0)
    fork(np.zeros(4, np.int32), 4, 2, 10)
    assert os.sched_getaffinity(0) == before


_SUM = """
import os, threading, time
from pathlib import Path
import numpy as np
from tilewright.vocabulary.target import Target
from tilewright_x86.backend import X86Backend
from tilewright_x86.device.peak import _sum
def a_kernel():
    program, backend = _sum(4, 1024), X86Backend()
    artifact = backend.build(program, Target("x86", {"threads": "2"}))
    kernel = backend.load(artifact, backend.probe()[0])
    kernel.bind([np.ones(b.shape, np.float32) for b in (*program.inputs, *program.outputs)], {})
    return kernel
def check(kernel):
    kernel.write(1, np.zeros((4, 16, 16), np.float32))
    kernel.launch()
    assert kernel.read(1).sum() == 4 * 1024, kernel.read(1).sum()
def threads():
    return len(list(Path("/proc/self/task").iterdir()))
def left(count):  # the system lists a thread that was joined a moment longer
    end = time.monotonic() + 60
    while threads() != count and time.monotonic() < end: time.sleep(0.01)
    return threads()
"""


def run(script: str) -> str:
    """What a process of its own prints after `_SUM`."""
    done = subprocess.run(
        [sys.executable, "-c", _SUM + script],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a pool of one has no workers")
def test_no_worker_is_left_without_a_kernel() -> None:
    script = """
before = threads()
first, second = a_kernel(), a_kernel()
check(first)
assert threads() == before + 1
first.close()
check(second)
assert threads() == before + 1
del second
assert left(before) == before, "the last one collected"
third = a_kernel()
check(third)
assert threads() == before + 1
third.close()
assert left(before) == before, "the last one closed"
print("ended")
"""
    assert run(script) == "ended"


def test_a_process_ends_while_kernels_are_alive() -> None:
    assert run("kernel = a_kernel(); check(kernel); print('ended')") == "ended"


def test_parent_and_forked_child_both_go_on() -> None:
    script = """
kernel = a_kernel()
check(kernel)
child = os.fork()
for _ in range(100):
    check(kernel)
kernel.close()
if child:
    assert os.waitpid(child, 0)[1] == 0
    print("both")
"""
    assert run(script) == "both"


def test_a_process_may_fork_while_another_thread_computes() -> None:
    script = """
kernel, other, stopping = a_kernel(), a_kernel(), threading.Event()
def computing():
    while not stopping.is_set():
        check(other)
thread = threading.Thread(target=computing)
thread.start()
for _ in range(20):
    child = os.fork()
    if not child:
        check(kernel)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stopping.set()
thread.join()
check(other)
print("forked")
"""
    assert run(script) == "forked"


def test_threads_of_the_host_compute_open_and_close_at_once() -> None:
    script = """
before = threads()
kept, failed = a_kernel(), []
def worker():
    try:
        for _ in range(20):
            kernel = a_kernel()
            for _ in range(20):
                check(kernel)
            kernel.close()
    except BaseException as error:
        failed.append(error)
hosts = [threading.Thread(target=worker) for _ in range(3)]
for host in hosts: host.start()
for _ in range(1000): check(kept)
for host in hosts: host.join()
assert not failed, failed
kept.close()
assert left(before) == before
print("all")
"""
    assert run(script) == "all"
