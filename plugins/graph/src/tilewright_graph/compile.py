"""From an extracted network to a compiled one: every node dispatched, linked as one artefact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from tilewright.config import ConfigEntity
from tilewright.dispatch import (
    Answer,
    ApplyGraphBest,
    ApplyHistoryBest,
    DispatchContext,
    current,
)
from tilewright.roles import RunContext
from tilewright.task import Task
from tilewright_graph.assembly import Assembly, assemble
from tilewright_graph.candidates import Accuracy, allowed, fallback_config
from tilewright_graph.compiled_network import CompiledNetwork
from tilewright_graph.extraction import ExtractedNetwork
from tilewright_graph.linking import lower_network
from tilewright_graph.memory_plan import MemoryPlan
from tilewright_graph.prediction import Prediction, predict
from tilewright_graph.saved_network import Signature


@dataclass(frozen=True, slots=True)
class CompileReport:
    """How a network was compiled.

    sources      how many calls took their config from a graph choice, from history, from the
                 fallback
    transforms   layout transforms among the calls
    """

    prediction: Prediction
    sources: Mapping[str, int]
    transforms: int
    memory: MemoryPlan

    def __str__(self) -> str:
        sources = ", ".join(f"{count} by {source}" for source, count in self.sources.items())
        return (
            f"{sum(self.sources.values())} kernels ({sources}), {self.transforms} of them layout "
            f"transforms; arena {self.memory.arena_bytes / 1e6:.2f} MB, "
            f"at least {self.memory.bound_bytes / 1e6:.2f} MB"
        )


def compile_network(
    extracted: ExtractedNetwork, context: RunContext, accuracy: Accuracy = "default"
) -> tuple[CompiledNetwork, CompileReport]:
    """The network ready to run, and how it came about.

    A node takes the graph tuner's choice, else the best record of its task, else the best of its
    anchor, else the fallback.
    """
    host = context.host
    dispatched = dispatch_network(extracted, context, accuracy)
    assembly = dispatched.assembly
    prediction = predict(assembly.calls, context)
    network = extracted.network
    lowered = lower_network(network.name, network.inputs, network.results, assembly, host)
    artifact = host.backend(extracted.target.kind).link(lowered.program, extracted.target)
    specs = network.specs
    signature = Signature(
        network.name,
        {name: specs[name] for name in network.inputs},
        {name: specs[name] for name in network.outputs},
        {name: specs[name] for name in network.results if name not in network.outputs},
    )
    compiled = CompiledNetwork(artifact, lowered.constants, signature, host, context.device)
    transforms = len(assembly.calls) - len(extracted.kernels)
    return compiled, CompileReport(prediction, dispatched.sources, transforms, lowered.memory)


@dataclass(frozen=True, slots=True)
class Dispatched:
    """An assembly, and how many of its calls took their config from where."""

    assembly: Assembly
    sources: Mapping[str, int]


def dispatch_network(
    extracted: ExtractedNetwork, context: RunContext, accuracy: Accuracy
) -> Dispatched:
    """Every kernel and transform with the config that the stack of dispatch contexts gives it."""
    sources: Counter[str] = Counter()

    def choose(task: Task, node: str) -> ConfigEntity:
        answer = current().query(task, node or None)
        assert answer is not None, "the fallback answers everything"
        sources[_kind(answer)] += 1
        return answer.config

    with ExitStack() as stack:
        for entered in _contexts(context, accuracy):
            stack.enter_context(entered)
        assembly = assemble(extracted, choose, context.host)
    return Dispatched(assembly, dict(sources))


@dataclass(frozen=True, eq=False)
class _Fallback(DispatchContext):
    """The fallback among the strategies that the accuracy allows."""

    context: RunContext
    accuracy: Accuracy

    def find(self, task: Task, _node: str | None) -> Answer:
        return Answer(fallback_config(task, self.context, self.accuracy), None, "fallback")


def _contexts(context: RunContext, accuracy: Accuracy) -> tuple[DispatchContext, ...]:
    """From the outermost in."""
    host, store, device = context.host, context.store, context.device

    def usable(config: ConfigEntity) -> bool:
        return allowed(config, host, accuracy)

    choices = {
        node: record
        for node, record in store.graph_choices(device.fingerprint, host.revisions).items()
        if usable(record.config)
    }
    return (
        _Fallback(context, accuracy),
        ApplyHistoryBest(store, host, device, context.conditions, context.strategies, where=usable),
        ApplyGraphBest(choices),
    )


def _kind(answer: Answer) -> str:
    return answer.source if answer.source in ("graph choice", "fallback") else "history"
