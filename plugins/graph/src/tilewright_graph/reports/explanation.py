"""Why a node has the layouts it has: its own best, and what another choice saves elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tilewright.errors import UsageError
from tilewright.terminal_text import brief
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.extraction.kernel_node import KernelNode
from tilewright_graph.selection.assembly import assemble
from tilewright_graph.selection.candidates import Accuracy, context_of, estimated_seconds
from tilewright_graph.selection.cost_table import CostTable
from tilewright_graph.selection.dispatching import GRAPH_CHOICE, dispatch_network, pack_behind
from tilewright_graph.selection.error_bound import rounding
from tilewright_graph.selection.prediction import recorded, recorded_seconds
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.context.time_text import time_text


@dataclass(frozen=True, slots=True)
class Side:
    """A way to carry out the node: layouts read and made, seconds by itself, strategy.

    estimated  whether no record tells the seconds
    """

    reads: tuple[str, ...]
    makes: str
    seconds: float
    strategy: str
    estimated: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "reads": list(self.reads),
            "makes": self.makes,
            "ms": self.seconds * 1e3,
            "estimated": self.estimated,
            "strategy": self.strategy,
        }

    def __str__(self) -> str:
        reads = ", ".join(self.reads) or "constants"
        time = f"{'estimated ' if self.estimated else ''}{time_text(self.seconds)}"
        return f"reads {reads}, makes {self.makes}: {time} by {self.strategy}"


@dataclass(frozen=True, slots=True)
class Lowering:
    """What a precision lower than float32 does for one kernel by itself.

    chosen   the precision that the kernel has
    lower    the one that is told of: the chosen one, else that of the fastest lower config
    saves    seconds of its fastest recorded config against the fastest of float32
    adds     error that it adds to the network's answers, as graph-tune measured it; else None
    allowed  the network's `max_error`, None where errors were not bounded
    """

    chosen: str
    lower: str
    saves: float
    adds: float | None
    allowed: float | None

    def to_json(self) -> dict[str, Any]:
        return {
            "chosen": self.chosen,
            "lower": self.lower,
            "saves_ms": self.saves * 1e3,
            "adds_error": self.adds,
            "max_error": self.allowed,
        }

    def __str__(self) -> str:
        fast = f"saves {time_text(self.saves)}"
        slow = f"costs {time_text(-self.saves)} more"
        told = f"{self.lower} {fast if self.saves >= 0 else slow} here against float32"
        if self.adds is not None:
            told += f" and adds an error of {self.adds:.2g}"
        if self.allowed is not None:
            told += f" of {self.allowed:.2g} allowed"
        return f"{self.chosen}: {told}"


@dataclass(frozen=True, slots=True)
class KernelExplanation:
    """One node's choice compared with its own best.

    network  the name of the node's network
    source   where the choice comes from: `graph choice`, else a file or a pack, else `fallback`
    pack     the record pack that the choice comes from, by itself or by its time; else empty
    saved    seconds of calls that its own best would need and the choice does not, by what they do
    paid     the other way round
    lowering  what lower precision does here, None where the run allows none or none is known
    """

    network: str
    node: KernelNode
    text: str
    source: str
    chosen: Side
    best: Side
    saved: Mapping[str, float]
    paid: Mapping[str, float]
    lowering: Lowering | None = None
    pack: str = ""

    @property
    def costs_here(self) -> float:
        """Seconds by which the choice is slower by itself."""
        return self.chosen.seconds - self.best.seconds

    @property
    def saves_elsewhere(self) -> float:
        """Seconds that the choice saves in other calls, all other nodes as they are."""
        return sum(self.saved.values()) - sum(self.paid.values())

    def to_json(self) -> dict[str, Any]:
        """One node of `tilewright explain --json`."""
        return {
            "network": self.network,
            "name": self.node.name,
            "node": self.node.key,
            "task": self.node.task.workload.key,
            "text": self.text,
            "source": self.source,
            **({"pack": self.pack} if self.pack else {}),
            "chosen": self.chosen.to_json(),
            "own_best": self.best.to_json(),
            "costs_here_ms": self.costs_here * 1e3,
            "saves_elsewhere_ms": self.saves_elsewhere * 1e3,
            "saved_ms": {what: seconds * 1e3 for what, seconds in self.saved.items()},
            "paid_ms": {what: seconds * 1e3 for what, seconds in self.paid.items()},
            **({} if self.lowering is None else {"lowering": self.lowering.to_json()}),
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<KernelExplanation of {brief(self.node.name)}: {brief(str(self.chosen), 200)}>"

    def lines(self) -> Iterator[str]:
        """For people."""
        yield f"{self.node.name}: {self.text}"
        key = self.node.task.workload.key
        pack = f", on records of the pack {self.pack}" if self.pack else ""
        by = f"{self.source}{pack}" if self.source == GRAPH_CHOICE else self.source
        yield f"  node {self.node.key} of {self.network}, task {key}, by {by}"
        yield f"  chosen    {self.chosen}"
        if self.lowering is not None:
            yield f"  precision {self.lowering}"
        if self.chosen == self.best:
            yield "  own best  the same: no other layout makes it faster by itself"
            return
        yield f"  own best  {self.best}"
        here, elsewhere = time_text(self.costs_here), time_text(self.saves_elsewhere)
        yield f"  the choice costs {here} here and saves {elsewhere} elsewhere:"
        for word, calls in (("saved", self.saved), ("paid ", self.paid)):
            for what, seconds in calls.items():
                yield f"    {word}  {time_text(seconds)}  {what}"


class _FailedError(Exception):
    """A transform cannot be."""


class Explainer:
    """Explains the nodes of one network, as the records stand.

    >>> explainer = Explainer(extracted, context)
    >>> for line in explainer.explain(extracted.kernels[3]).lines():
    ...     print(line)
    """

    def __init__(
        self, extracted: ExtractedNetwork, context: RunContext, accuracy: Accuracy = "default"
    ) -> None:
        self._extracted = extracted
        self._context = context
        self._table = CostTable(context, accuracy)
        dispatched = dispatch_network(extracted, context, accuracy)
        self._answers, self._configs = dispatched.answers, dispatched.configs
        device, revisions = context.device.fingerprint, context.host.revisions
        self._choices = context.store.graph_choices(device, revisions)
        needed = self._needed(self._configs)
        if needed is None:
            raise UsageError(
                "a layout transform that the choice needs failed when it was measured",
                where=extracted.name,
                remedy="run graph-tune: it chooses what can be",
            )
        self._transforms = needed

    def explain(self, node: KernelNode) -> KernelExplanation:
        """The node's choice compared with the fastest of its recorded candidates."""
        reference = self._context.host.reference(node.task.workload.operator)
        chosen = self._side(node, self._configs[node.key])
        known = self._table.candidates(node.task)
        sides = {c.config: self._side(node, c.config) for c in known if c.recorded}
        config, answer = self._configs[node.key], self._answers[node.key]
        pack = pack_behind(answer, recorded(node.task, config, self._context))
        best, other = config, self._transforms
        for config in sorted(sides, key=lambda config: sides[config].seconds):
            if chosen.seconds <= sides[config].seconds:
                break
            needed = self._needed({**self._configs, node.key: config})
            if needed is not None:  # else a transform around it failed
                best, other = config, needed
                break
        sides[self._configs[node.key]] = chosen
        return KernelExplanation(
            self._extracted.name,
            node,
            reference.format(node.task.workload),
            answer.source,
            chosen,
            sides[best],
            {what: cost for what, cost in other.items() if what not in self._transforms},
            {what: cost for what, cost in self._transforms.items() if what not in other},
            self._lowering(node),
            pack,
        )

    def _lowering(self, node: KernelNode) -> Lowering | None:
        """From the records of its fastest configs, and of what graph-tune measured."""
        host, config = self._context.host, self._configs[node.key]
        fastest: dict[str, tuple[float, ConfigEntity]] = {}
        context = context_of(node.task, self._context)
        for record, seconds in context.history.ranked(node.task):
            of = host.strategy(record.config.strategy).precision
            fastest.setdefault(of, (seconds, record.config))
        own, exact = host.strategy(config.strategy).precision, fastest.pop("float32", None)
        lower = own if own in fastest else min(fastest, key=fastest.__getitem__, default=None)
        if lower is None or exact is None:
            return None
        seconds, best = fastest[lower]
        choice = self._choices.get(node.key)
        bound = None if choice is None or choice.task != node.task else choice.bound
        how = rounding(host.layouts(node.task, config if own == lower else best), lower)
        adds, allowed = (None, None) if bound is None else (bound.alone.get(how), bound.most)
        return Lowering(own, lower, exact[0] - seconds, adds, allowed)

    def _side(self, node: KernelNode, config: ConfigEntity) -> Side:
        layouts = self._context.host.layouts(node.task, config)
        in_place = self._extracted.parts_of(node, layouts) is not None
        known = 0.0 if in_place else recorded_seconds(node.task, config, self._context)
        seconds = estimated_seconds(node.task, self._context) if known is None else known
        seen = [text for i, text in enumerate(layouts.inputs) if i not in layouts.packed]
        reads = tuple(dict.fromkeys(seen))
        return Side(reads, layouts.outputs[0], seconds, config.strategy, known is None)

    def _needed(self, configs: Mapping[str, ConfigEntity]) -> dict[str, float] | None:
        """The transforms between kernels of these configs, by what they do; None if one failed."""
        seconds: dict[Task, float] = {}

        def choose(task: Task, node: str) -> ConfigEntity:
            if node:
                return configs[node]
            transform = self._table.transform(task)
            if transform is None:
                raise _FailedError
            seconds[task] = transform.seconds
            return transform.config

        try:
            calls = assemble(self._extracted, choose, self._context.host).calls
        except _FailedError:
            return None
        return {call.node: seconds[call.task] for call in calls if call.task in seconds}
