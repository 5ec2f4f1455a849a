"""From an extracted network to a compiled one: every node dispatched, linked as one artefact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.errors import UsageError
from tilewright.roles import TellsReuseDistance
from tilewright.strategies.strategy import PRECISIONS
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.workload import Workload
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.compiled.kernel_entries import kernel_entries
from tilewright_graph.compiled.linking import lower_network
from tilewright_graph.compiled.packed_constants import PackedConstants
from tilewright_graph.compiled.saved.saved_network import NetworkSignature
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.extraction.inner_rows import InnerRows
from tilewright_graph.extraction.memory_plan import MemoryPlan
from tilewright_graph.extraction.transforms import TRANSFORM
from tilewright_graph.network.counted_rows import counted_results
from tilewright_graph.selection.assembly import Assembly
from tilewright_graph.selection.candidates import Accuracy
from tilewright_graph.selection.dispatching import (
    GRAPH_CHOICE,
    Best,
    Dispatched,
    dispatch_network,
)
from tilewright_graph.selection.prediction import (
    Prediction,
    recorded_seconds,
    unrecorded_transforms,
)
from tilewright_pipeline.context.frozen import refuse_missing
from tilewright_pipeline.context.run_context import RunContext
from tilewright_tensor.operators.operators import Operators


@dataclass(frozen=True, slots=True)
class CompileReport:
    """How a network was compiled.

    sources      how many kernels took their config from where, see `Dispatched.sources`
    transforms   layout transforms between them
    kernels      what run.json lists of them
    """

    prediction: Prediction
    sources: Mapping[str, int]
    transforms: int
    memory: MemoryPlan
    kernels: Sequence[Mapping[str, Any]] = ()

    def __repr__(self) -> str:
        return f"<CompileReport {self}>"

    def __str__(self) -> str:
        sources = ", ".join(f"{count} by {source}" for source, count in self.sources.items())
        return (
            f"{sum(self.sources.values())} kernels ({sources}), {self.transforms} layout "
            f"transforms; arena {self.memory.arena_bytes / 1e6:.2f} MB, "
            f"at least {self.memory.bound_bytes / 1e6:.2f} MB"
        )


def compile_network(
    extracted: ExtractedNetwork,
    context: RunContext,
    accuracy: Accuracy = "default",
    best: Best = "graph",
) -> tuple[CompiledNetwork, CompileReport]:
    """The network ready to run, and how it came about; see `dispatch_network`.

    Raises UsageError that lists the kernels, or else the layout transforms, without a record where
    the run is frozen.
    """
    dispatched = dispatch_network(extracted, context, accuracy, best)
    refuse_unrecorded([(extracted, dispatched)], context)
    return link_dispatched(extracted, dispatched, context)


def refuse_unrecorded(
    networks: Sequence[tuple[ExtractedNetwork, Dispatched]], context: RunContext
) -> None:
    """Raise UsageError that lists what has no record in any of the networks of a frozen run.

    The layout transforms are listed once the kernels have their records.
    """
    refuse_missing((one for pair in networks for one in _unrecorded(*pair)), context)
    text = context.host.reference(TRANSFORM).format
    transforms = (
        (call.node, text(call.task.workload))
        for _, dispatched in networks
        for call in unrecorded_transforms(dispatched.assembly.calls, context)
    )
    refuse_missing(transforms, context, "measure these layout transforms by graph-tune")


def link_dispatched(
    extracted: ExtractedNetwork,
    dispatched: Dispatched,
    context: RunContext,
    packed: PackedConstants | None = None,
    rows: InnerRows | None = None,
) -> tuple[CompiledNetwork, CompileReport]:
    """The network whose kernels have their configs; see `lower_network` for `packed`, `rows`."""
    assembly = dispatched.assembly
    bound, untuned = dispatched.max_error, _untuned(assembly, context)
    compiled, memory = link_assembly(
        extracted, assembly, context, bound, packed=packed, untuned=untuned, rows=rows
    )
    report = CompileReport(
        dispatched.prediction,
        dispatched.sources,
        assembly.transforms,
        memory,
        kernel_entries(extracted, dispatched),
    )
    return compiled, report


def _unrecorded(extracted: ExtractedNetwork, dispatched: Dispatched) -> Iterator[tuple[str, str]]:
    """(name, text of its task) of each kernel that neither a record nor the caller answered for.

    Of those that are searched for: `tune` makes no record of the others.
    """
    for kernel in extracted.searched:
        answer = dispatched.answers[kernel.key]
        known = answer.source == GRAPH_CHOICE or answer.seconds is not None
        if not known and kernel.key not in dispatched.entered:
            reference = dispatched.context.host.reference(kernel.task.workload.operator)
            yield kernel.name, reference.format(kernel.task.workload)


def link_assembly(
    extracted: ExtractedNetwork,
    assembly: Assembly,
    context: RunContext,
    max_error: float | None = None,
    *,
    others: Mapping[int, Sequence[ConfigEntity]] | None = None,
    packed: PackedConstants | None = None,
    untuned: tuple[Workload, ...] = (),
    rows: InnerRows | None = None,
) -> tuple[CompiledNetwork, MemoryPlan]:
    """The network as an assembly computes it, and how its memory is planned.

    `others`: by number of a call, configs of equal layouts that `CompiledNetwork.swap` may take.
    `packed`, `rows`: see `lower_network`; `untuned`: what the network is to say of such.
    """
    host, network = context.host, extracted.network
    backend = host.backend(extracted.target.kind)
    distance = (
        backend.reuse_distance(context.device, extracted.target)
        if isinstance(backend, TellsReuseDistance)
        else 0
    )
    names = (network.name, network.fed, network.made)
    lowered = lower_network(
        *names,
        assembly,
        host,
        reuse_distance=distance,
        others=others,
        packed=packed,
        rows=rows,
    )
    try:
        artifact = backend.link(lowered.program, extracted.target)
    except ValueError as error:  # what its dtypes or shapes ask for, the target does not have
        raise UsageError(str(error), where=f"{network.name} for {extracted.target}") from error
    specs = network.specs
    products = {host.strategy(call.config.strategy).precision for call in assembly.calls}
    signature = NetworkSignature(
        network.name,
        {name: specs[name] for name in network.inputs},
        {name: specs[name] for name in network.outputs},
        {name: specs[name] for name in network.results if name not in network.outputs},
        max(products, key=PRECISIONS.index, default="float32"),
        max_error,
        counted_results(network, Operators.of(host)),
        untuned,
        network.masks,
    )
    compiled = CompiledNetwork(artifact, lowered.constants, signature, host, context.device)
    return compiled, lowered.memory


def _untuned(assembly: Assembly, context: RunContext) -> tuple[Workload, ...]:
    """The workloads of kernels whose config no record of the task has, in order of first use."""
    kernels = dict.fromkeys((call.task, call.config) for call in assembly.calls)
    found = {
        task.workload: None
        for task, config in kernels
        if task.workload.operator != TRANSFORM and recorded_seconds(task, config, context) is None
    }
    return tuple(found)
