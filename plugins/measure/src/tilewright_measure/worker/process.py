"""One worker process, seen from its parent."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tilewright.vocabulary.measure import TEXT_CHARACTERS, Failure, FailureKind
from tilewright_measure.worker.frames import FrameBuffer, FrameError, encode
from tilewright_measure.worker.scratch import end_residents

_OUTPUT_BYTES = 64 << 10
_READ_BYTES = 1 << 18
_LOOK_SECONDS = 0.1  # between two looks whether it lives: a child may keep the pipe open
_GRACE_SECONDS = 0.5
_START_SECONDS = 60.0


class WorkerLostError(Exception):
    """The worker ended, hung or talked nonsense, and is dead now; `failure` says how."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure

    def as_internal(self) -> Failure:
        """The failure where no candidate is at fault: `internal`, or `cancelled` on a stop."""
        if self.failure.kind in (FailureKind.CANCELLED, FailureKind.INTERNAL):
            return self.failure
        text = f"a worker was lost: {self.failure.text}"
        return Failure(FailureKind.INTERNAL, text, self.failure.signal)


class WorkerProcess:
    """A Python process in a session of its own that answers requests one at a time.

    Dies with the thread that made it (PR_SET_PDEATHSIG is a matter of threads), so make it in one
    that lives.

    >>> worker = WorkerProcess(folder, {"files": []}, memory_bytes)   # starting
    >>> worker.wait_ready()   # has loaded its plugins
    >>> worker.call({"do": "build", ...}, timeout_seconds=10)          # a reply, or WorkerLostError
    >>> worker.kill()   # it, its children and its files are gone
    """

    def __init__(self, folder: Path, hello: Mapping[str, Any], memory_bytes: int) -> None:
        self._folder = folder
        self._output = b""
        self._killed_before = killed_for_memory()
        self._replies = FrameBuffer()
        self._ready = False
        self._reaping = threading.Lock()
        request_reader, self._request_writer = os.pipe()
        self._reply_reader, reply_writer = os.pipe()
        arguments = (request_reader, reply_writer, os.getpid(), memory_bytes)
        try:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-u",
                    "-m",
                    "tilewright_measure.local.worker",
                    *map(str, arguments),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(request_reader, reply_writer),
                start_new_session=True,
                cwd=folder,
                env={**_ENVIRONMENT, **os.environ, "TMPDIR": str(folder)},
            )
        except OSError:
            os.close(self._request_writer)
            os.close(self._reply_reader)
            raise
        finally:
            os.close(request_reader)
            os.close(reply_writer)
        assert self._process.stdout is not None
        self._output_reader = self._process.stdout.fileno()
        for descriptor in (self._request_writer, self._reply_reader, self._output_reader):
            os.set_blocking(descriptor, False)
        os.write(self._request_writer, encode(hello))

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_ready(self) -> None:
        """Wait until it has loaded its plugins. Raises WorkerLostError."""
        if not self._ready:
            self._converse(b"", _START_SECONDS)
            self._ready = True

    def call(self, request: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        """Its reply. Raises WorkerLostError when there is none in time; the worker is dead then."""
        self.wait_ready()
        self._drain()
        self._output = b""
        self._killed_before = killed_for_memory()
        return self._converse(encode(request), timeout_seconds)

    def interrupt(self) -> None:
        """Kill it from another thread: a call in progress ends with WorkerLostError at once."""
        with self._reaping, suppress(ProcessLookupError):
            if self._process.returncode is None:  # later its number may be somebody else's
                os.killpg(self.pid, signal.SIGKILL)

    def kill(self) -> None:
        """End it and all that descend from it, and remove its folder.

        A second call does nothing.
        """
        if self._process.returncode is not None:
            return
        self.interrupt()
        with self._reaping:
            self._process.wait()
        end_residents(self._folder)
        assert self._process.stdout is not None
        self._process.stdout.close()
        os.close(self._request_writer)
        os.close(self._reply_reader)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _converse(self, request: bytes, timeout_seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_seconds
        rest = memoryview(request)
        poll = select.poll()
        poll.register(self._reply_reader, select.POLLIN)
        poll.register(self._output_reader, select.POLLIN)
        if rest:
            poll.register(self._request_writer, select.POLLOUT)
        while True:
            wait = deadline - time.monotonic()
            if wait <= 0:
                text = f"no answer within {timeout_seconds:g} s"
                raise self._lost(FailureKind.RUN_TIMEOUT, text)
            ready = dict(poll.poll(1000 * min(wait, _LOOK_SECONDS)))
            if not ready and self._ended():
                raise self._died()
            if self._output_reader in ready and not self._read_output():
                poll.unregister(self._output_reader)
            if self._reply_reader in ready:
                chunk = os.read(self._reply_reader, _READ_BYTES)
                if not chunk:
                    raise self._died()
                try:
                    self._replies.feed(chunk)
                    reply = self._replies.take()
                except FrameError as error:
                    raise self._lost(FailureKind.INTERNAL, str(error)) from error
                if reply is not None:
                    return reply
            if self._request_writer in ready:
                try:
                    rest = rest[os.write(self._request_writer, rest) :]
                except BrokenPipeError:
                    raise self._died() from None
                if not rest:
                    poll.unregister(self._request_writer)

    def _read_output(self) -> bool:
        """Keep the last of what it printed; False at the end."""
        chunk = os.read(self._output_reader, _READ_BYTES)
        self._output = (self._output + chunk)[-_OUTPUT_BYTES:]
        return bool(chunk)

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            while self._read_output():
                pass

    def _ended(self) -> bool:
        """Whether the process has ended; leaves it unreaped, so that its number stays its own."""
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.pid, flags) is not None

    def _died(self) -> WorkerLostError:
        deadline = time.monotonic() + _GRACE_SECONDS
        while not self._ended() and time.monotonic() < deadline:
            time.sleep(0.001)
        if not self._ended():
            return self._lost(FailureKind.CRASH, "the worker closed its pipe")
        status = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        assert status is not None
        if status.si_code == os.CLD_EXITED:
            return self._lost(
                FailureKind.CRASH, f"the worker ended with exit code {status.si_status}"
            )
        name = signal.Signals(status.si_status).name
        return self._lost(FailureKind.CRASH, f"ended by {name}", name)

    def _lost(self, kind: FailureKind, text: str, signal_name: str = "") -> WorkerLostError:
        self.interrupt()
        self._drain()
        self.kill()
        output = self._output.decode(errors="replace").strip()
        if signal_name == "SIGKILL" and killed_for_memory() == self._killed_before:
            kind, text = FailureKind.INTERNAL, f"{text}: killed from outside"
        elif signal_name == "SIGKILL" or any(words in output for words in _OUT_OF_MEMORY):
            kind = FailureKind.OUT_OF_MEMORY if kind is FailureKind.CRASH else kind
        if output:
            text = f"{text}\n{output[len(text) + 1 - TEXT_CHARACTERS :]}"
        return WorkerLostError(Failure(kind, text, signal_name))


def killed_for_memory() -> int:
    """How many processes the kernel has killed so far because memory ran out; 0 if unknown."""
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


_ENVIRONMENT = {
    # Linear algebra libraries leave threads that spin for a while and would disturb the times.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # glibc keeps what is freed: the copies of the constants are made for every candidate, and
    # touching 64 MB of new pages costs ten times as much as writing to pages that are there.
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
}

# Native code without memory aborts with these.
_OUT_OF_MEMORY = ("out of memory", "bad_alloc", "MemoryError", "Cannot allocate memory")
