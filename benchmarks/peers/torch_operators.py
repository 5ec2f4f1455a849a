"""PyTorch's operators at one thread, timed on request; run by a Python that has torch.

Reads JSON lines {"operator": NAME, "runs": N} from standard input and answers each with
{"seconds": [...]}, one a run, after as many that warm the caches.
"""

from __future__ import annotations

import json
import sys
import time

import torch

torch.set_num_threads(1)
torch.set_grad_enabled(False)
_F = torch.nn.functional


def operators() -> dict:
    """Name to a function of no arguments; operands are seeded and made once."""
    torch.manual_seed(0)
    square = torch.rand(1024, 1024) - 0.5
    other = torch.rand(1024, 1024) - 0.5
    left, right = torch.rand(12, 128, 64) - 0.5, torch.rand(12, 64, 128) - 0.5
    signal, taps = torch.rand(1, 64, 1024) - 0.5, torch.rand(128, 64, 3) - 0.5
    image, filters = torch.rand(1, 256, 56, 56) - 0.5, torch.rand(256, 1, 3, 3) - 0.5
    scale, shift = torch.rand(1024), torch.rand(1024)
    return {
        "matmul": lambda: square @ other,
        "batch_matmul": lambda: left @ right,
        "conv1d": lambda: _F.conv1d(signal, taps, padding=1),
        "depthwise": lambda: _F.conv2d(image, filters, padding=1, groups=256),
        "layer_norm": lambda: _F.layer_norm(square, (1024,), scale, shift),
        "softmax": lambda: _F.softmax(square, dim=-1),
    }


def main() -> None:
    known = operators()
    for line in sys.stdin:
        asked = json.loads(line)
        run = known[asked["operator"]]
        for _ in range(asked["runs"]):
            run()
        seconds = []
        for _ in range(asked["runs"]):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
