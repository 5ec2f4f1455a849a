"""The thread pool that kernels call: a pinned spin-then-futex pool in LLVM IR, one a process.

`tw_parallel_for(fn, context, extent, threads)` calls `fn(context, begin, end)` over pieces that
cover [0, extent) once.
* The caller takes part. Every participant has a range of its own, taken in four chunks by an atomic
  counter, and takes chunks of others when it is done: data stays with its core from kernel to
  kernel, yet a core that is disturbed, or a worker that sleeps, delays nobody for more than a
  chunk.
* Joining is by a gate: a worker that comes after the gate has closed does nothing and is not waited
  for.
* There are as many participants as asked for, but no more than the affinity mask has CPUs: further
  ones would spin where others work.
* A worker spins for about a millisecond after its last work, then waits in a futex.
* Workers are pinned, each to its own CPU of the process's affinity mask; unpinned ones are woken on
  the waker's CPU, which costs half a millisecond. The caller is not pinned: threads made later
  would inherit its mask. Where the system has moved the caller to a worker's CPU, that worker is
  pinned to the one that became free.
* Workers start when they are first needed and block all signals. They end with the last kernel that
  holds the pool, and with the interpreter. Nested calls, and calls while another thread of the
  process is in a parallel loop, run serially. After fork the child starts workers of its own.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

from tilewright_x86.kernel.loader import Loaded
from tilewright_x86.machine.isa import ISAS

_PARALLEL_FOR = "tw_parallel_for"
_lock = threading.RLock()  # a holder may be collected while another takes hold
_holds: set[object] = set()
_loaded: list[_Pool] = []  # one at most


def parallel_for(function: int, context: int, extent: int, threads: int) -> None:
    """Call native code at an address over pieces of [0, extent), while the pool is held."""
    _pool().run(function, context, extent, threads)


def hold_pool(
    holder: object, compiled: bytes | None = None
) -> tuple[Mapping[str, int], Callable[[], object]]:
    """(functions of the pool by name, for code that calls them; what ends the hold).

    It ends with the holder too. No worker is left when the last hold has ended.

    compiled  the pool's object code, for the first who holds it; LLVM makes it where it is None
    """
    pool, hold = _pool(compiled), object()
    with _lock:
        _holds.add(hold)
    released = weakref.finalize(holder, _release, hold, pool.stop)
    released.atexit = False
    return pool.symbols, released


def pool_hash() -> str:
    """Of the pool's text: object code that was made of another is not this pool's."""
    return sha256(_text()).hexdigest()


@cache
def compiled_pool() -> bytes:
    """The pool's object code, for any x86 machine."""
    from tilewright_x86.kernel import jit

    return jit.compile_object(_text().decode(), ISAS[-1], "O2")


def _text() -> bytes:
    return files("tilewright_x86").joinpath("pool.ll").read_bytes()


def _release(hold: object, stop: Callable[[], None]) -> None:
    with _lock:
        _holds.discard(hold)
        if not _holds:
            stop()


class _Pool(NamedTuple):
    """`stop` ends the workers, until they are needed again; `run` is `tw_parallel_for`."""

    code: Loaded
    symbols: Mapping[str, int]
    stop: Callable[[], None]
    run: Callable[[int, int, int, int], None]


def _pool(compiled: bytes | None = None) -> _Pool:
    """Loads it once; its code lives as long as the process."""
    with _lock:
        if not _loaded:
            _loaded.append(_load(compiled or compiled_pool()))
        return _loaded[0]


def _load(compiled: bytes) -> _Pool:
    code = Loaded([compiled])
    configure = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(
        code.address("tw_configure")
    )
    cpus = sorted(os.sched_getaffinity(0))
    configure((ctypes.c_int32 * len(cpus))(*cpus), len(cpus))
    stop = ctypes.CFUNCTYPE(None)(code.address("tw_stop"))
    reset = ctypes.CFUNCTYPE(None)(code.address("tw_reset"))
    address = code.address(_PARALLEL_FOR)
    atexit.register(stop)  # before the interpreter frees the code that workers stand in

    def forked() -> None:
        reset()
        _lock.release()

    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=forked)
    long = ctypes.c_int64
    run = ctypes.CFUNCTYPE(None, long, long, long, long)(address)
    return _Pool(code, {_PARALLEL_FOR: address}, stop, run)
