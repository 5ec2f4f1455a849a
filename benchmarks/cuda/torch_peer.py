"""PyTorch asked over standard input, by default in float32 without TF32; a Python may lack it.

Reads JSON lines and answers each with one:

{}                                                   {"about": {...}} or {"error": why not}
{"prepare": KEY, "matmul": N, "precision"}           {} or {"error": ...}; N x N x N, cuBLAS; of
        float32, tf32, bfloat16 or float16, the latter two stored so
{"prepare": KEY, "conv2d": [x, w], "strides", "padding"}   shapes; cuDNN's fastest algorithm
{"prepare": KEY, "conv2d_transpose": [x, w], "strides", "padding", "output_padding"}   likewise;
        w has the filters first
{"prepare": KEY, "model": NAME, "batch", "size", "mode", "answer": FILE}
        a network, its batch norms folded into the convolutions; mode: eager, eager-nhwc, graph,
        graph-nhwc, compile; the logits of the seeded input go to FILE
{"time": KEY, "runs": N}                             {"times": {"device": [...], "wall": [...]}}

A single operator is captured many times in one CUDA graph and its time divided, so that only the
device counts. A device time lies between two events behind a run that keeps the device busy
meanwhile, as Tilewright times its own.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_PR_SET_PDEATHSIG = 1
CHAIN = 20
"""Runs of a single operator in one graph, ours as well."""


@dataclass(frozen=True)
class Prepared:
    """What is timed: a call, and how often it does what was asked for."""

    run: Callable[[], Any]
    repeats: int = 1


class Peer:
    """PyTorch on the first GPU; on the processor where it sees none, so that this can be tried."""

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.cuda = torch.cuda.is_available()
        self.device = "cuda" if self.cuda else "cpu"
        torch.set_grad_enabled(False)
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
        self.ready: dict[str, Prepared] = {}

    def about(self) -> dict[str, Any]:
        torch = self.torch
        name = torch.cuda.get_device_name() if self.cuda else "cpu: PyTorch sees no GPU"
        cudnn = torch.backends.cudnn.version() if self.cuda else None
        return {"torch": torch.__version__, "device": name, "cudnn": cudnn}

    def prepare(self, asked: dict[str, Any]) -> None:
        key = asked["prepare"]
        if "model" in asked:
            self.ready[key] = self._network(asked)
            return
        functional = self.torch.nn.functional
        precision = asked.get("precision", "float32")
        if "matmul" in asked:
            stored = getattr(self.torch, "float32" if precision == "tf32" else precision)
            a, b = (self._random(asked["matmul"], asked["matmul"]).to(stored) for _ in range(2))
            once = lambda: a @ b  # noqa: E731
        else:
            transposed = "conv2d_transpose" in asked
            x, w = (
                self._random(*shape)
                for shape in asked["conv2d_transpose" if transposed else "conv2d"]
            )
            options = {"stride": asked["strides"], "padding": asked["padding"]}
            if transposed:
                w = w.transpose(0, 1).contiguous()
                options["output_padding"] = asked.get("output_padding", 0)
            if asked.get("nhwc"):
                x, w = (t.to(memory_format=self.torch.channels_last) for t in (x, w))
            convolved = functional.conv_transpose2d if transposed else functional.conv2d
            once = lambda: convolved(x, w, **options)  # noqa: E731
        if not self.cuda:
            self.ready[key] = Prepared(once)
            return
        # What a graph was captured with, it replays.
        self.torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        self.ready[key] = Prepared(self._graph(lambda: [once() for _ in range(CHAIN)]), CHAIN)
        self.torch.backends.cuda.matmul.allow_tf32 = False

    def times(self, key: str, runs: int) -> dict[str, list[float]]:
        prepared, torch = self.ready[key], self.torch
        prepared.run()
        device, wall = [], []
        for _ in range(runs):
            self._synchronize()
            start = time.perf_counter()
            prepared.run()
            self._synchronize()
            wall.append((time.perf_counter() - start) / prepared.repeats)
            if self.cuda:
                first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                prepared.run()
                first.record()
                prepared.run()
                last.record()
                last.synchronize()
                device.append(first.elapsed_time(last) / 1e3 / prepared.repeats)
        return {"device": device or wall, "wall": wall}

    def _network(self, asked: dict[str, Any]) -> Prepared:
        import numpy as np
        from models import inputs_of, network_named
        from torch_network import torch_network

        torch, mode = self.torch, asked["mode"]
        network = network_named(asked["model"], asked["batch"], asked["size"])
        module = torch_network(network).to(self.device).eval()
        (data,) = (torch.from_numpy(a).to(self.device) for a in inputs_of(network).values())
        if mode.endswith("-nhwc"):
            module = module.to(memory_format=torch.channels_last)
            data = data.to(memory_format=torch.channels_last)
        if mode == "compile":
            module = torch.compile(module, mode="max-autotune")
        if mode.startswith("graph") and not self.cuda:
            raise RuntimeError("CUDA graphs need a GPU")
        np.save(asked["answer"], module(data).cpu().numpy())
        run = lambda: module(data)  # noqa: E731
        for _ in range(3):
            run()
        return Prepared(self._graph(run) if mode.startswith("graph") else run)

    def _graph(self, run: Callable[[], Any]) -> Callable[[], Any]:
        torch = self.torch
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                run()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kept = run()
        replay: Callable[[], Any] = lambda: (graph.replay(), kept)[0]  # noqa: E731
        return replay

    def _random(self, *shape: int) -> Any:
        return self.torch.randn(*shape, device=self.device)

    def _synchronize(self) -> None:
        if self.cuda:
            self.torch.cuda.synchronize()


def main() -> None:
    # Between two questions the end of the input tells; in the midst of one nothing else would.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    peer: Peer | None = None
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            peer = peer or Peer()
            if "prepare" in asked:
                peer.prepare(asked)
                told: dict[str, Any] = {}
            elif "time" in asked:
                told = {"times": peer.times(asked["time"], asked["runs"])}
            else:
                told = {"about": peer.about()}
        except Exception as error:  # one thing that cannot be had is no reason to end
            told = {"error": f"{type(error).__name__}: {error}"[-600:]}
        answers.write(json.dumps(told) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
