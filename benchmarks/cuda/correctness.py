"""Part `correctness`: what runs on the device is right; peaks and launch rates beside it."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from models import import_options
from networks import of_run
from session import Session
from workloads import CONVOLUTIONS, ODD, OTHERS, smaller

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import Conditions, MeasureInput
from tilewright.vocabulary.task import Task
from tilewright_pipeline.api.task_text import find_task
from tilewright_pipeline.measuring.measurement import Measurement
from tilewright_pipeline.pipeline import Pipeline
from tilewright_pipeline.yaml.yaml_source import YamlSource

_BATCH = 64
_FINE = {"right", "invalid_config"}
"""Outcomes on a device that works: a random config may ask for more than it has."""
_LATER_SECONDS = 90.0
"""Kept for the networks, which come behind the candidates."""

_PIPELINE = """\
version: 1
name: {name}
target: {{kind: cuda}}
stages:
  - import:    {options}
  - extract:   {{}}
  - compile:   {{}}
  - verify:    {{oracle: onnxruntime, rtol: 1.0e-4}}
  - benchmark: {{runs: {runs}, seconds: 5}}
"""


def measure(session: Session) -> None:
    session.note("drivers", dict(_drivers(session)))
    # All of it in the space, nothing twice: what was right on this device before is tried again.
    asked = list(_asked(session))
    reserved = _LATER_SECONDS * (not session.rehearsal)
    session.attempt("candidates", candidates(session, "float32", asked, reserved))
    session.attempt("resnet18", untuned_network(session, "resnet18"))
    if session.rehearsal:
        session.note("resnet50", "left out in rehearsals")
    elif session.left < 0:
        session.note("resnet50", "no time left")
    else:
        session.attempt("resnet50", untuned_network(session, "resnet50"))


def candidates(
    session: Session, precision: str, asked: Sequence[MeasureInput], reserved: float
) -> Iterator[dict[str, Any]]:
    """Every strategy's fallback and random configs of each task, through builder and runner.

    After every batch, what became of them so far; nothing is begun in the reserved seconds.
    """
    context = session.context(session.part, precision)
    kinds: Counter[str] = Counter()
    by_strategy: dict[str, Counter[str]] = {}
    failed: list[dict[str, Any]] = []
    done = 0
    with Measurement(context) as measurement:
        while done < len(asked) and session.left > reserved:
            for trial in measurement.measure(asked[done : done + _BATCH]):
                failure = trial.result.failure
                outcome = str(failure.kind) if failure else "right"
                kinds[outcome] += 1
                config = trial.input.config
                by_strategy.setdefault(config.strategy, Counter())[outcome] += 1
                if failure:
                    task = _text(session, trial.input.task)
                    failed.append({
                        "task": task, "config": config.to_json(), "kind": outcome,
                        "text": failure.text[-400:],
                    })  # fmt: skip
            done = min(done + _BATCH, len(asked))
            timings = measurement.spent.timings
            yield {
                "asked": len(asked),
                "measured": done,
                "outcomes": dict(kinds),
                "by_strategy": {name: dict(counts) for name, counts in sorted(by_strategy.items())},
                "failed": failed[:50],
                "seconds_by_part": dict(timings),
                "seconds": sum(timings.values()),
            }
    if not done:
        left = f"{session.left:.0f} s are left, {reserved:.0f} s of them for the networks"
        yield {"error": f"no candidate was measured: {left}; give the part more --seconds"}
    elif not kinds["right"] or kinds.keys() - _FINE:
        yield {"error": f"not all candidates are right: {dict(kinds)}"}


def _asked(session: Session) -> Iterator[MeasureInput]:
    texts = [*CONVOLUTIONS, *OTHERS, *ODD]
    if session.rehearsal:
        texts = [*map(smaller, CONVOLUTIONS[1:3]), *OTHERS[2:], *ODD[:3]]
    return in_turns(session, "float32", texts, "*", 1 if session.rehearsal else 2)


def in_turns(
    session: Session, precision: str, texts: Sequence[str], strategies: str, samples: int
) -> Iterator[MeasureInput]:
    """Tasks in turns: where time is short, each has had its fallback before any has a second."""
    context = session.context(session.part, precision)
    host = context.host
    conditions = Conditions(constants="warm", repeat=3, min_repeat_ms=0.0)
    columns: list[list[MeasureInput]] = [[] for _ in range(1 + samples)]
    for text in texts:
        task = find_task(text, context.target, host, None)
        for strategy in host.strategies(task, strategies):
            space = host.space(task, strategy.name)
            fallback = host.implementation(strategy.name).fallback(task)
            sampled = space.sample(random.Random(text), samples)
            configs: list[ConfigEntity] = [*([fallback] if fallback else []), *sampled]
            for column, config in zip(columns, dict.fromkeys(configs), strict=False):
                column.append(MeasureInput(task, config, conditions))
    for column in columns:
        yield from column


def untuned_network(session: Session, name: str) -> Iterator[dict[str, Any]]:
    """Compiled with fallback configs, checked against ONNX Runtime, timed alone."""
    options = import_options(name, 1, 32 if session.rehearsal else 224, session.out)
    runs = 3 if session.rehearsal else 50
    text = _PIPELINE.format(name=name, options=json.dumps(options), runs=runs)
    pipeline = Pipeline.load(YamlSource.parse(text, name), target=session.target)
    result = pipeline.run(out=session.out / f"{name}-untuned", device=session.device)
    yield of_run(result, "verify", "benchmark", "compile")


def _drivers(session: Session) -> Iterator[tuple[str, Any]]:
    """Either driver's answer to one task, or why it gave none."""
    if session.rehearsal:
        yield "emulated", "no driver takes part"
        return
    for name in ("pycuda", "ctypes"):
        try:
            yield name, {"relative_error": _answer_through(session, name)}
        except Exception as error:  # a driver that fails is a result
            yield name, {"error": f"{type(error).__name__}: {error}"}


def _answer_through(session: Session, driver: str) -> float:
    from tilewright_cuda.driver.ctypes_driver import CtypesRuntime
    from tilewright_cuda.driver.kernel import CudaKernel
    from tilewright_cuda.program.artifact import contents_of

    if driver == "pycuda":
        from tilewright_cuda.driver.pycuda_driver import PycudaRuntime as Runtime
    else:
        Runtime = CtypesRuntime  # noqa: N806  a class
    host, context = session.host, session.context("correctness")
    task = find_task("dense(67x31, 35x31)", context.target, host, None)
    config = host.fallback_config(task, host.space(task, "*"))
    artifact = host.backend("cuda").build(host.lower(task, config), task.target)
    reference = host.reference("dense")
    inputs = reference.inputs(task.workload, 1)
    (expected,) = reference.outputs(task.workload, inputs)
    kernel = CudaKernel(Runtime(0), contents_of(artifact), 1 << 20)
    layouts = host.layouts(task, config)
    packed = [reference.pack(a, text) for a, text in zip(inputs, layouts.inputs, strict=True)]
    expected = reference.pack(expected, layouts.outputs[0])
    kernel.bind([*packed, np.full_like(expected, np.nan)], {})
    kernel.launch()
    got = kernel.read(len(inputs))
    kernel.close()
    return float(np.abs(got - expected).max() / np.abs(expected).max())


def _text(session: Session, task: Task) -> str:
    return session.host.reference(task.workload.operator).format(task.workload)
