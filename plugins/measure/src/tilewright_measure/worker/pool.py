"""Workers on demand, with a spare kept warm."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from tilewright.vocabulary.measure import NO_WORKER, Failure, FailureKind
from tilewright_measure.worker.process import WorkerLostError, WorkerProcess
from tilewright_measure.worker.scratch import Scratch


class WorkerPool:
    """Makes worker processes, and ends them all.

    >>> pool = WorkerPool(files, memory_bytes, keep_spare=True)   # no process yet
    >>> worker = pool.take("x86")   # the spare, or a new one and a spare, both within 0.2 s
    >>> pool.discard(worker)        # one that is to be trusted no more
    >>> pool.restock()              # a spare starts in the background
    >>> pool.settle()               # ... and idles now, so that timing is undisturbed
    >>> pool.close()                # no process, no file
    """

    def __init__(self, files: Sequence[Path], memory_bytes: int, *, keep_spare: bool) -> None:
        self.scratch = Scratch()
        self._files = [str(Path(file).resolve()) for file in files]
        self._memory_bytes = memory_bytes
        self._keep_spare = keep_spare
        self._kinds: set[str] = set()
        self._lock = threading.Lock()
        self._alive: set[WorkerProcess] = set()
        self._spare: WorkerProcess | None = None
        self._stopped = False
        # A worker dies with the thread that made it: this one lives as long as the pool.
        self._maker = ThreadPoolExecutor(1, thread_name_prefix="tilewright-worker-maker")

    def take(self, kind: str) -> WorkerProcess:
        """An idle worker, ready for use. Raises WorkerLostError where none can start."""
        with self._lock:
            self._kinds.add(kind)
            worker, self._spare = self._spare, None
        if worker is None:
            worker = self._make()
            if self._keep_spare:
                self.restock()
        try:
            worker.wait_ready()
        except WorkerLostError as lost:
            if lost.failure.killed:
                raise
            raise _no_worker(lost.failure.text, lost.failure.signal) from lost
        return worker

    def discard(self, worker: WorkerProcess) -> None:
        """End a worker."""
        worker.kill()
        with self._lock:
            self._alive.discard(worker)

    def restock(self) -> None:
        """Start a spare where there is none; returns at once. It may fail: it is but a spare."""
        if self._spare is None:
            with suppress(WorkerLostError):
                self._spare = self._make()

    def settle(self) -> None:
        """Wait until the spare has started and idles; one that cannot start is forgotten."""
        if self._spare is not None:
            try:
                self._spare.wait_ready()
            except WorkerLostError:
                self.discard(self._spare)
                self._spare = None

    def interrupt(self) -> None:
        """Kill every worker, from any thread; calls in progress end with WorkerLostError."""
        with self._lock:
            for worker in self._alive:
                worker.interrupt()

    def stop(self) -> None:
        """Interrupt, and make no worker any more: `take` raises WorkerLostError (`cancelled`)."""
        self._stopped = True
        self.interrupt()

    def close(self) -> None:
        """End every process and remove every file; no worker may be in use."""
        self._stopped = True
        for worker in list(self._alive):
            self.discard(worker)
        self._maker.shutdown()
        self.scratch.close()

    def _make(self) -> WorkerProcess:
        if self._stopped:
            raise WorkerLostError(Failure(FailureKind.CANCELLED, "measuring was stopped"))
        hello = {"files": self._files, "kinds": sorted(self._kinds)}
        try:
            folder = self.scratch.folder("worker-")
            worker = self._maker.submit(WorkerProcess, folder, hello, self._memory_bytes).result()
        except OSError as error:  # such as of a full disk
            raise _no_worker(str(error)) from error
        with self._lock:
            self._alive.add(worker)
        if self._stopped:  # in the meantime
            worker.interrupt()
        return worker


def _no_worker(why: str, signal: str = "") -> WorkerLostError:
    return WorkerLostError(Failure(FailureKind.INTERNAL, f"{NO_WORKER}: {why}", signal))
