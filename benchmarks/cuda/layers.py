"""Part `layers`: convolutions, transposed ones too, beside cuDNN, and sgemm beside cuBLAS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np
from peer import PeerError, TorchPeer
from session import Session
from torch_peer import CHAIN
from workloads import CONVOLUTIONS, TRANSPOSED, peer_question, smaller

import tilewright
from tilewright.vocabulary.measure import Conditions
from tilewright_pipeline.api.functions import TuneResult

_ROUNDS = 9
_WARM = Conditions(constants="warm", repeat=5, min_repeat_ms=1.0)


def measure(session: Session) -> None:
    with TorchPeer.of(session) as peer:
        compare(session, peer)


def compare(session: Session, peer: TorchPeer) -> None:
    """The product, then each convolution, noted under its text."""
    size = 64 if session.rehearsal else 4096
    convolutions = [*CONVOLUTIONS, *TRANSPOSED]
    if session.rehearsal:
        convolutions = [*map(smaller, (*CONVOLUTIONS[1:3], TRANSPOSED[0]))]
    # A share for each task, the product's thrice as long; a third of the time is for the peer.
    share = session.left * 2 / 3 / (len(convolutions) + 3)
    text = f"matmul({size}x{size}, {size}x{size})"
    cublas = {"cublas": {"matmul": size}}
    session.attempt(text, one_task(session, text, cublas, peer, 3 * share))
    for number, text in enumerate(convolutions):
        if session.left < 0:
            session.note("left_out", convolutions[number:])
            break
        asked = peer_question(text)
        peers = {"cudnn-nchw": asked, "cudnn-nhwc": {**asked, "nhwc": True}}
        session.attempt(text, one_task(session, text, peers, peer, share))
    if not peer.absent:
        rows = [session.report.get(text, {}) for text in convolutions]
        ratios = [row["speedup"] for row in rows if row.get("speedup")]
        won = sum(ratio >= 1 for ratio in ratios)
        session.note("at_least_cudnn", f"{won} of {len(ratios)} compared")


def one_task(
    session: Session,
    text: str,
    peers: dict[str, Any],
    peer: TorchPeer,
    seconds: float,
    *,
    precision: str = "float32",
) -> Iterator[dict[str, Any]]:
    """Tuned, then timed in turns with its peers; warm, many launches in one CUDA graph."""
    found = tilewright.tune(
        text,
        target=session.target,
        precision=precision,
        device=session.device,
        budget="4" if session.rehearsal else f"{seconds:.0f}s",
        tuner={"xgb": {"batch": 4 if session.rehearsal else 32}},
        conditions=_WARM,
        builder=session.limit,
        runner=session.limit,
        records=session.records,
        host=session.host,
    )
    title = text if precision == "float32" else f"{text} in {precision}"
    yield {"task": title, "tuning": dict(found.summary)}
    if found.config is None:
        yield {"error": "no config of it ran"}
        return
    ours = _chain(session, found, precision)
    times, absent = in_turns(ours, peers, peer, 2 if session.rehearsal else _ROUNDS)
    operations = session.host.reference(found.task.workload.operator).operations(
        found.task.workload
    )
    peak = found.device.peak(precision, 1)
    others = [seconds for name, seconds in times.items() if name != "tilewright"]
    yield {
        "seconds": times,
        "absent": absent,
        "gflops": operations / times["tilewright"] / 1e9,
        "peak_share": operations / times["tilewright"] / peak if peak else None,
        "speedup": min(others) / times["tilewright"] if others else None,
    }


def in_turns(
    ours: Callable[[], float], peers: dict[str, Any], peer: TorchPeer, rounds: int
) -> tuple[dict[str, float], dict[str, str]]:
    """(median seconds of us and of each peer that answered, why the others did not)."""
    absent = {name: why for name, asked in peers.items() if (why := peer.prepare(name, asked, 60))}
    samples: dict[str, list[float]] = {"tilewright": []}
    for _ in range(rounds):
        samples["tilewright"].append(ours())
        for name in [name for name in peers if name not in absent]:
            try:
                taken = peer.times(name, 3)["device"]
            except PeerError as error:
                absent[name] = str(error)
            else:
                samples.setdefault(name, []).append(median(taken))
    return {name: median(taken) for name, taken in samples.items()}, absent


def _chain(session: Session, found: TuneResult, precision: str) -> Callable[[], float]:
    """Seconds a launch of the best config, as many in one CUDA graph as of the peer's."""
    host = session.host.at_precision(precision)
    task, config = found.task, found.config
    backend, reference = host.backend("cuda"), host.reference(task.workload.operator)
    layouts = host.layouts(task, config)
    inputs = reference.inputs(task.workload, 1)
    arrays = [reference.pack(a, text) for a, text in zip(inputs, layouts.inputs, strict=True)]
    ((shape, dtype),) = reference.output_shapes(task.workload)
    arrays.append(reference.pack(np.zeros(shape, dtype), layouts.outputs[0]))
    artifact = backend.build(host.lower(task, config), task.target)
    kernel = backend.load(artifact, found.device)
    kernel.bind(arrays, {})

    def seconds() -> float:
        kernel.runs(CHAIN)()  # as before the peer's: the device is busy until all is sent
        return kernel.time(CHAIN) / CHAIN

    return seconds
