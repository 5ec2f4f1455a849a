"""The choice of configs for a network's kernels, put as a `Problem` of numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.task import Task
from tilewright_graph.candidates import Candidate
from tilewright_graph.extraction import ExtractedNetwork
from tilewright_graph.problem import Matrix, Problem
from tilewright_graph.transforms import logical_layout, same_bytes, transform_task

TransformSeconds = Callable[[Task], float]


@dataclass(frozen=True, slots=True)
class LayoutProblem:
    """A problem whose node i is kernel i, and whose candidate j of it is `candidates[i][j]`."""

    problem: Problem
    candidates: tuple[tuple[Candidate, ...], ...]


def layout_problem(
    extracted: ExtractedNetwork,
    candidates: Mapping[Task, Sequence[Candidate]],
    transform_seconds: TransformSeconds,
) -> LayoutProblem:
    """The choice as numbers: kernels' seconds, and between kernels those of transforms.

    What a tensor takes into a reader's layout stands between the two kernels; from the network's
    inputs and to its results it belongs to the kernel. Constants are free. A tensor that several
    kernels read in one layout is transformed once, but counted for each: an upper bound.
    """
    network = extracted.network
    makers = {kernel.output: index for index, kernel in enumerate(extracted.kernels)}
    between = _Between(extracted, transform_seconds)
    costs: list[tuple[float, ...]] = []
    matrices: dict[tuple[int, int], list[Matrix]] = defaultdict(list)
    for index, kernel in enumerate(extracted.kernels):
        own = candidates[kernel.task]
        seconds = [candidate.seconds for candidate in own]
        if kernel.output in network.results:
            logical = logical_layout(network.specs[kernel.output])
            for pick, candidate in enumerate(own):
                seconds[pick] += between(kernel.output, candidate.layouts.outputs[0], logical)
        for position, name in enumerate(kernel.inputs):
            wanted = [candidate.layouts.inputs[position] for candidate in own]
            maker = makers.get(extracted.root(name))
            if name in network.constants:
                continue
            if maker is None:
                logical = logical_layout(network.specs[name])
                for pick, layout in enumerate(wanted):
                    seconds[pick] += between(name, logical, layout)
                continue
            made = [c.layouts.outputs[0] for c in candidates[extracted.kernels[maker].task]]
            matrices[maker, index].append(
                tuple(tuple(between(name, source, layout) for layout in wanted) for source in made)
            )
        costs.append(tuple(seconds))
    edges = {pair: _sum(found) for pair, found in matrices.items()}
    used = {pair: matrix for pair, matrix in edges.items() if any(any(row) for row in matrix)}
    every = tuple(tuple(candidates[kernel.task]) for kernel in extracted.kernels)
    return LayoutProblem(Problem(tuple(costs), used), every)


class _Between:
    """Seconds from the layout in which a tensor's root is made to the one in which it is read."""

    def __init__(self, extracted: ExtractedNetwork, transform_seconds: TransformSeconds) -> None:
        self._extracted = extracted
        self._transform_seconds = transform_seconds

    def __call__(self, name: str, source: str, wanted: str) -> float:
        spec = self._extracted.network.specs[name]
        base = self._extracted.views.get(name)
        if base is not None:  # a view is of logical order on both sides
            logical = logical_layout(self._extracted.network.specs[base])
            return self(base, source, logical) + self._step(name, logical_layout(spec), wanted)
        return self._step(name, source, wanted)

    def _step(self, name: str, source: str, wanted: str) -> float:
        spec = self._extracted.network.specs[name]
        if same_bytes(spec, source, wanted):
            return 0.0
        return self._transform_seconds(transform_task(spec, source, wanted, self._extracted.target))


def _sum(matrices: Sequence[Matrix]) -> Matrix:
    """Entry by entry, for a kernel that reads another's output more than once."""
    return tuple(
        tuple(sum(entry or 0.0 for entry in entries) for entries in zip(*rows, strict=True))
        for rows in zip(*matrices, strict=True)
    )
