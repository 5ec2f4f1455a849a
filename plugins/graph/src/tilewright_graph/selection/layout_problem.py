"""The choice of configs for a network's kernels, put as a `GraphProblem` of numbers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from tilewright.errors import UsageError
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.extraction.kernel_node import KernelNode
from tilewright_graph.extraction.transforms import (
    canonical_layout,
    logical_layout,
    transform_task,
)
from tilewright_graph.selection.candidates import Candidate
from tilewright_graph.selection.graph_problem import GraphProblem, Matrix

TransformSeconds = Callable[[Task], float | None]
"""Seconds of a transform, None where it cannot be."""

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Option:
    """What a node may be.

    candidate   of its kernel; None for a tensor that no kernel makes
    made        the layout in which its tensor is made
    at_hand     the layouts besides in which it is at hand, however many read it so
    seconds     what all that takes
    """

    candidate: Candidate | None
    made: str
    at_hand: frozenset[str]
    seconds: float


@dataclass(frozen=True, slots=True)
class LayoutProblem:
    """A problem in numbers, and what the nodes' candidates mean.

    options   of each node; the last nodes are the network's kernels in order, those before them
              tensors that no kernel makes: what several read, and views of several formats
    """

    problem: GraphProblem
    options: tuple[tuple[Option, ...], ...]
    keys: tuple[str, ...]

    @property
    def kernels(self) -> tuple[tuple[Candidate, ...], ...]:
        """The candidate behind every option of each kernel, by `keys`."""
        own = self.options[len(self.options) - len(self.keys) :]
        return tuple(tuple(o.candidate for o in made if o.candidate is not None) for made in own)

    def configs(self, choice: Sequence[int]) -> dict[str, ConfigEntity]:
        """The config of each kernel, by its key."""
        picked = [own[pick].candidate for own, pick in zip(self.options, choice, strict=True)]
        chosen = [candidate for candidate in picked if candidate is not None]
        return {key: c.config for key, c in zip(self.keys, chosen, strict=True)}


def layout_problem(
    extracted: ExtractedNetwork,
    candidates: Callable[[KernelNode], Sequence[Candidate]],
    transform_seconds: TransformSeconds,
) -> LayoutProblem:
    """The choice as numbers: the cost of a choice is the sum over the calls that it assembles to.

    A kernel's transforms stand between it and the maker of what it reads; from the network's inputs
    and to its results, which are of fixed layout, they belong to the kernel. Views are in logical
    order, stored as what they view is made. Constants are free, and so are concats, slices and
    transposes that copy nothing. A tensor may be brought into a layout once for several readers:
    every set of layouts for which that can pay is an option of its maker, so that nothing is
    counted twice.

    Raises UsageError where no candidate of a kernel can be.
    """
    return _Builder(extracted, candidates, transform_seconds).build()


class _Builder:
    def __init__(
        self,
        extracted: ExtractedNetwork,
        candidates: Callable[[KernelNode], Sequence[Candidate]],
        transform_seconds: TransformSeconds,
    ) -> None:
        self._extracted = extracted
        self._network = extracted.network
        self._kernels = extracted.kernels
        self._candidates = [candidates(kernel) for kernel in self._kernels]
        self._makers = {kernel.output: index for index, kernel in enumerate(self._kernels)}
        self._readers = self._find_readers()
        self._views: defaultdict[str, list[str]] = defaultdict(list)
        for view, base in extracted.views.items():
            self._views[base].append(view)
        self._popular: dict[str, list[str]] = {}

        @cache
        def between(spec: TensorSpec, source: str, wanted: str) -> float | None:
            if source == wanted:
                return 0.0
            return transform_seconds(transform_task(spec, source, wanted, extracted.target))

        self._between = between

    def build(self) -> LayoutProblem:
        given = [name for name in self._readers if name not in self._makers]
        shared = [name for name in given if self._is_node(name)]
        first = len(shared)
        options = [self._options_of_given(name) for name in shared]
        for index in range(len(self._kernels)):
            alone = [name for name in given if name not in shared and index in self._readers[name]]
            options.append(self._options_of_kernel(index, alone))
        edges: dict[tuple[int, int], Matrix] = {}
        makers = {name: first + index for name, index in self._makers.items()}
        makers |= {name: node for node, name in enumerate(shared)}
        for node, name in enumerate(shared):
            if len(self._formats(name)) > 1:
                maker = makers[self._extracted.root(name)]
                edges[node, maker] = self._viewing(name, options[node], options[maker])
        for name, node in makers.items():
            for reader in self._readers.get(name, ()):
                matrix = self._matrix(name, options[node], reader, options[first + reader])
                if any(entry != 0.0 for row in matrix for entry in row):
                    edges[node, first + reader] = matrix
        costs = tuple(tuple(option.seconds for option in own) for own in options)
        keys = tuple(kernel.key for kernel in self._kernels)
        return LayoutProblem(GraphProblem(costs, edges), tuple(map(tuple, options)), keys)

    # --- nodes -----------------------------------------------------------------------------------

    def _options_of_given(self, name: str) -> list[Option]:
        """For a tensor that no kernel makes: what it is, and what it is transformed into."""
        found = []
        for made in self._formats(name):
            for layouts in (_NONE, *self._useful_sets(name, {made})):
                seconds = self._seconds(name, made, layouts)
                if seconds is not None:
                    found.append(Option(None, made, layouts, seconds))
        return found

    def _options_of_kernel(self, index: int, given: Sequence[str]) -> list[Option]:
        """For a kernel: its candidates, each with the sets of layouts its result is brought into.

        given   tensors of fixed layout whose transforms this kernel alone answers for
        """
        kernel = self._kernels[index]
        name = kernel.output
        found = []
        for candidate in self._candidates[index]:
            in_place = self._extracted.parts_of(kernel, candidate.layouts) is not None
            parts: list[float | None] = [0.0 if in_place else candidate.seconds]
            for tensor in given:
                wanted = self._wanted(tensor, index, candidate)
                parts.append(self._seconds(tensor, self._logical(tensor), wanted))
            made = self._canonical(name, candidate.layouts.outputs[0])
            fixed = frozenset({self._logical(name)}) if self._leaves(name, made) else _NONE
            for layouts in (_NONE, *self._useful_sets(name, fixed | {made})):
                brought = self._seconds(name, made, fixed | layouts)
                total = _sum((*parts, brought))
                if total is not None:
                    found.append(Option(candidate, made, fixed | layouts, total))
        if not found:
            raise UsageError(
                "every layout of it needs a transform that failed",
                where=f"node '{kernel.name}'",
                remedy="tune the node in another layout",
            )
        return found

    def _useful_sets(self, name: str, known: Set[str]) -> Iterator[frozenset[str]]:
        """Sets of further layouts into which it can pay to bring a tensor once for all readers.

        Each of a set's layouts is worth its place only where it serves two kernels, of which each
        may read the tensor in several layouts.
        """
        further = [layout for layout in self._wanted_twice(name) if layout not in known]
        reads = sum(
            max(
                len(self._wanted(name, reader, candidate)) for candidate in self._candidates[reader]
            )
            for reader in self._readers.get(name, ())
        )
        for size in range(1, min(reads // 2, len(further)) + 1):
            yield from map(frozenset, combinations(further, size))

    def _wanted_twice(self, name: str) -> list[str]:
        """The layouts in which candidates of at least two kernels read a tensor."""
        if name not in self._popular:
            counts: Counter[str] = Counter()
            for reader in self._readers.get(name, ()):
                own = self._candidates[reader]
                counts.update(set().union(*(self._wanted(name, reader, c) for c in own)))
            self._popular[name] = sorted(text for text, count in counts.items() if count > 1)
        return self._popular[name]

    def _is_node(self, name: str) -> bool:
        """Whether a tensor that no kernel makes leaves a choice."""
        formats = self._formats(name)
        return len(formats) > 1 or any(self._useful_sets(name, {*formats}))

    # --- edges -----------------------------------------------------------------------------------

    def _viewing(self, name: str, views: Sequence[Option], made: Sequence[Option]) -> Matrix:
        """A view is as its tensor is made."""
        formats = [self._viewed_as(name, option.made) for option in made]
        return tuple(tuple(0.0 if own == view.made else None for own in formats) for view in views)

    def _matrix(
        self, name: str, made: Sequence[Option], reader: int, read: Sequence[Option]
    ) -> Matrix:
        wanted = [
            self._wanted(name, reader, option.candidate) if option.candidate else _NONE
            for option in read
        ]
        rows: dict[tuple[str, frozenset[str]], tuple[float | None, ...]] = {}
        for option in made:
            key = (option.made, option.at_hand)
            if key not in rows:
                left = {own: own - option.at_hand for own in wanted}
                seconds = {own: self._seconds(name, option.made, left[own]) for own in left}
                rows[key] = tuple(seconds[own] for own in wanted)
        return tuple(rows[option.made, option.at_hand] for option in made)

    # --- parts -----------------------------------------------------------------------------------

    def _formats(self, name: str) -> Sequence[str]:
        """The layouts that a tensor may have which no kernel makes: of a view, one a dtype."""
        maker = self._makers.get(self._extracted.root(name))
        if maker is None:
            return (self._logical(name),)
        made = (candidate.layouts.outputs[0] for candidate in self._candidates[maker])
        return tuple(dict.fromkeys(self._viewed_as(name, text) for text in made))

    def _viewed_as(self, name: str, made: str) -> str:
        """The layout of a view where the tensor at its root is made in a layout."""
        base = self._extracted.views.get(name)
        return (
            made if base is None else self._extracted.seen_as(name, self._viewed_as(base, made))[0]
        )

    def _find_readers(self) -> Mapping[str, list[int]]:
        """By tensor, constants left out, the kernels that read it."""
        readers: dict[str, list[int]] = {}
        for index, kernel in enumerate(self._kernels):
            for name in dict.fromkeys(kernel.inputs):
                if name not in self._network.constants:
                    readers.setdefault(name, []).append(index)
        return readers

    def _wanted(self, name: str, reader: int, candidate: Candidate) -> frozenset[str]:
        """The layouts in which a candidate of a kernel reads a tensor."""
        operands = zip(self._kernels[reader].inputs, candidate.layouts.inputs, strict=True)
        return frozenset(self._canonical(name, text) for own, text in operands if own == name)

    def _seconds(self, name: str, source: str, wanted: frozenset[str]) -> float | None:
        """Seconds that bring a tensor from one layout into each of several."""
        spec = self._network.specs[name]
        return _sum(self._between(spec, source, layout) for layout in sorted(wanted))

    def _leaves(self, name: str, made: str) -> bool:
        """Whether a tensor that is made in a layout is wanted in logical order as well: as a
        result, or under a view.
        """
        below = any(self._extracted.seen_as(view, made)[1] != made for view in self._views[name])
        return below or name in self._network.results

    def _logical(self, name: str) -> str:
        return logical_layout(self._network.specs[name])

    def _canonical(self, name: str, text: str) -> str:
        return canonical_layout(self._network.specs[name], text)


def _sum(parts: Iterable[float | None]) -> float | None:
    """The sum, None where a part of it cannot be."""
    total = 0.0
    for part in parts:
        if part is None:
            return None
        total += part
    return total
