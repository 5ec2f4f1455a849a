"""A network tuned, checked and compiled by a pipeline, then timed in turns with PyTorch."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from models import import_options, inputs_of, network_named
from peer import PeerError, TorchPeer
from session import Session

from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_pipeline.pipeline import Pipeline
from tilewright_pipeline.run.running import RunResult
from tilewright_pipeline.yaml.yaml_source import YamlSource

MODES = ("compile", "graph", "graph-nhwc", "eager", "eager-nhwc")
"""Compilation comes first: where it takes too long, the process ends with whatever it prepared."""
_ROUNDS, _RUNS = 9, 5
_TUNING, _COMPILING = 0.45, 0.35
"""Shares of a network's time; torch.compile counts as absent where it takes longer than its own."""

_PIPELINE = """\
version: 1
name: {name}
target: {{kind: cuda}}
records: {records}
measure: {{builder: {limit}, runner: {limit}}}
stages:
  - import:     {options}
  - extract:    {{}}
  - tune:       {{tuner: {{xgb: {{batch: {batch}}}}}, scheduler: gradient, budget: {budget}}}
  - graph-tune: {{graph_tuner: pbqp}}
  - compile:    {{}}
  - verify:     {{oracle: onnxruntime, rtol: 1.0e-4}}
"""


def network(
    session: Session, name: str, batch: int, peer: TorchPeer, *, seconds: float
) -> Iterator[dict[str, Any]]:
    """What run.json says of it, then milliseconds of ours and of each mode of PyTorch.

    seconds   about what all of it may take
    """
    size = 64 if session.rehearsal else 224
    title = f"{name}-batch{batch}"
    text = _PIPELINE.format(
        name=title,
        records=json.dumps(str(session.records)),
        limit=json.dumps(session.limit),
        options=json.dumps(import_options(name, batch, size, session.out)),
        batch=2 if session.rehearsal else 32,
        budget="25 trials" if session.rehearsal else f"{_TUNING * seconds:.0f}s",
    )
    pipeline = Pipeline.load(YamlSource.parse(text, title), target=session.target)
    folder = session.out / title
    folder.mkdir(exist_ok=True)  # where it is, run.json is written however the run ends
    result = pipeline.run(out=folder, device=session.device)
    yield of_run(result, "measurement", "tasks", "prediction", "compile", "verify")
    compiled = result.values.get(CompiledNetwork)
    if compiled is None:
        return
    try:
        yield _beside(session, compiled, (name, batch, size), peer, _COMPILING * seconds)
    finally:
        compiled.close()


def of_run(result: RunResult, *members: str) -> dict[str, Any]:
    """Members of run.json, and an `error` where the run did not end well."""
    code, report = result.exit_code, result.report
    found = {"exit_code": code, **{name: report.get(name) for name in members}}
    if code == 0:
        return found
    ends = [f"{stage['name']} {stage['status']}" for stage in report["stages"]]
    return {**found, "error": f"the pipeline ended with {code}: {', '.join(ends)}"}


def _beside(
    session: Session,
    compiled: CompiledNetwork,
    model: tuple[str, int, int],
    peer: TorchPeer,
    compile_seconds: float,
) -> dict[str, Any]:
    name, batch, size = model
    answers = compiled.observe(inputs_of(network_named(name, batch, size)))
    ours = answers[(*compiled.observed, *compiled.outputs)[0]]
    absent: dict[str, str] = {}
    errors: dict[str, float] = {}
    ready: list[str] = []
    for mode in MODES:
        file = session.out / f"torch-{name}-{batch}-{mode}.npy"
        asked = {"model": name, "batch": batch, "size": size, "mode": mode, "answer": str(file)}
        allowed = compile_seconds if mode == "compile" else 60.0
        why = peer.prepare(mode, asked, allowed)
        if why:
            absent[mode] = why
            continue
        errors[mode] = _relative_error(ours, file)
        ready.append(mode)
    times: dict[str, dict[str, list[float]]] = {"tilewright": {"device": [], "wall": []}}
    for _ in range(2 if session.rehearsal else _ROUNDS):
        for _ in range(1 if session.rehearsal else _RUNS):
            times["tilewright"]["device"].append(compiled.time())
            times["tilewright"]["wall"].append(_wall(compiled))
        for mode in [mode for mode in ready if mode not in absent]:
            try:
                answer = peer.times(mode, _RUNS)
            except PeerError as error:
                absent[mode] = str(error)
                continue
            for clock, taken in answer.items():
                times.setdefault(mode, {}).setdefault(clock, []).extend(taken)
    medians = {
        who: {f"{clock}_ms": median(taken) * 1e3 for clock, taken in clocks.items() if taken}
        for who, clocks in times.items()
    }
    ours_ms = medians["tilewright"]["device_ms"]
    return {
        "milliseconds": medians,
        "speedup": {
            mode: times["device_ms"] / ours_ms
            for mode, times in medians.items()
            if mode != "tilewright"
        },
        "relative_error_to_pytorch": errors,
        "absent": absent,
    }


def _wall(compiled: CompiledNetwork) -> float:
    """From the call to the end of the run, nothing copied; PyTorch is timed so as well."""
    start = time.perf_counter()
    compiled._kernel.launch()
    return time.perf_counter() - start


def _relative_error(ours: Any, file: Path) -> float:
    theirs = np.load(file).reshape(ours.shape)
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())
