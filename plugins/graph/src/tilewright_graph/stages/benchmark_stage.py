"""The stage `benchmark`: the network's latency and that of peers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from tilewright.options import Choice, Options
from tilewright_graph.compiled.compiled_network import CompiledNetwork, Latency, affordable_runs
from tilewright_graph.network.network import Network
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.verification.oracle import TellsPrecision
from tilewright_graph.verification.reference_oracle import what_it_runs
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.stages.stage import StageResult

_TURN = 10
"""Runs in a row before the next one has a turn."""

_REST_SECONDS = 0.1
"""Before a turn: others' threads, which spin for up to half of it after their last run, sleep."""

_WARMUP_SECONDS = 0.1
"""Warming up ends when it took so long."""


class BenchmarkOptions(Options):
    """Options of the stage `benchmark`."""

    roles: ClassVar[Mapping[str, str]] = {"peers": "oracle"}

    peers: tuple[Choice, ...] = Field(
        (), description="Timed on the same input, with the target's number of threads."
    )
    runs: int = Field(100, ge=1, description="Timed runs of each, in turns of ten.")
    warmup: int = Field(
        3, ge=0, description="Runs before the timed ones of every turn, at most; untimed."
    )
    seconds: float = Field(
        10.0,
        gt=0,
        description="About what all timed runs may take together: slow networks are run less "
        "often, but at least three times.",
    )

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        names = [choice.name for choice in self.peers]
        if len(set(names)) < len(names):
            raise ValueError("peers: expected each name once")
        return self


class BenchmarkStage:
    """Times whole runs in turns, so that drift of the machine meets everyone."""

    consumes: ClassVar[tuple[type, ...]] = (CompiledNetwork, Network)
    optional: ClassVar[tuple[type, ...]] = ()
    produces: ClassVar[tuple[type, ...]] = ()

    def __init__(self, options: BenchmarkOptions, context: RunContext) -> None:
        self._options = options
        self._context = context

    def run(self, values: Mapping[type, Any]) -> StageResult:
        compiled: CompiledNetwork = values[CompiledNetwork]
        network: Network = values[Network]
        threads = compiled.target.threads
        inputs = random_inputs(network, self._context.seed)
        compiled.run(inputs)
        host = self._context.host
        runners, precisions = {"tilewright": compiled.time}, {"tilewright": compiled.precision}
        for choice in self._options.peers:
            oracle, name = host.choose("oracle", choice, host), choice.name
            runners[name] = oracle.time(what_it_runs(oracle, network, host), inputs, threads)
            tells = isinstance(oracle, TellsPrecision)
            precisions[name] = oracle.used_precision if tells else "float32"
        ours, *others = self._latencies([*runners.values()])
        peers = dict(zip(list(runners)[1:], others, strict=True))

        def row(name: str, latency: Latency) -> dict[str, Any]:
            return {"precision": precisions[name], **latency.to_json()}

        entry = {
            "threads": threads,
            "tilewright": row("tilewright", ours),
            "peers": {name: row(name, latency) for name, latency in peers.items()},
        }
        network_ms = median(ours.seconds) * 1e3
        return StageResult(report={"benchmark": [entry], "prediction": {"network_ms": network_ms}})

    def _latencies(self, runners: list[Callable[[], float]]) -> list[Latency]:
        options = self._options
        for runner in runners:
            self._warm_up(runner)
        once = sum(runner() for runner in runners)
        runs = affordable_runs(options.runs, once, options.seconds)
        samples: list[list[float]] = [[] for _ in runners]
        for start in range(0, runs, _TURN):
            for runner, taken in zip(runners, samples, strict=True):
                self._warm_up(runner)
                taken += [runner() for _ in range(min(_TURN, runs - start))]
        return [Latency(tuple(taken)) for taken in samples]

    def _warm_up(self, runner: Callable[[], float]) -> None:
        time.sleep(_REST_SECONDS)
        spent = 0.0
        for _ in range(self._options.warmup):
            spent += runner()
            if spent > _WARMUP_SECONDS:
                break
