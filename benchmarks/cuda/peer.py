"""PyTorch in a process of its own, asked with a deadline: what hangs or dies costs one question."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from session import Session


class PeerError(Exception):
    """PyTorch failed or ended."""


class TorchPeer:
    """Prepares things and times them on request; see torch_peer.py.

    >>> peer.absent                                       # why there is none, or None
    >>> peer.prepare("eager", {"matmul": 4096}, 60)       # None, or why it cannot be had
    >>> peer.times("eager", runs=10)                      # {"device": [...], "wall": [...]}
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()
        told = self._ask({}, 120)
        self.about = told.get("about", {})
        self.absent: str | None = told.get("error")

    @classmethod
    @contextmanager
    def of(cls, session: Session) -> Iterator[TorchPeer]:
        """One for a part, whose report says which it is or why it is absent; closed at its end."""
        peer = cls()
        try:
            session.note("peer", {"about": peer.about, "absent": peer.absent})
            if peer.absent:
                print(f"          PyTorch is absent, and with it cuDNN and cuBLAS: {peer.absent}")
            yield peer
        finally:
            peer.close()

    def prepare(self, key: str, what: dict[str, Any], seconds: float) -> str | None:
        """Have something ready under a key."""
        if self.absent:
            return self.absent
        return self._ask({"prepare": key, **what}, seconds).get("error")

    def times(self, key: str, runs: int) -> dict[str, list[float]]:
        """Seconds of every run, by the device's clock and from call to answer.

        Raises PeerError, which says why there are none.
        """
        answer = self._ask({"time": key, "runs": runs}, 60)
        if "times" not in answer:
            raise PeerError(answer["error"])
        return dict(answer["times"])

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)  # its compilers too
            self._process.wait()
            self._process = None

    def _ask(self, question: dict[str, Any], seconds: float) -> dict[str, Any]:
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=max(1.0, seconds))
        except queue.Empty:
            self.close()
            return {"error": f"no answer within {seconds:.0f} s"}
        except BrokenPipeError:
            line = None
        if line is None:
            self.close()
            return {"error": "the process ended"}
        return dict(json.loads(line))

    def _start(self) -> None:
        script = Path(__file__).with_name("torch_peer.py")
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=pipe,
            stdout=pipe,
            text=True,
            start_new_session=True,
        )
        self._lines = queue.Queue()
        threading.Thread(target=_pump, args=(self._process, self._lines), daemon=True).start()


def _pump(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)
