"""Small random problems, of every shape that networks have and of some that they have not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from types import MappingProxyType

from tilewright_graph.selection.graph_problem import GraphProblem

Pairs = list[tuple[int, int]]


def tree(rng: random.Random, nodes: int) -> Pairs:
    """Every node but the first hangs on an earlier one."""
    return [(rng.randrange(node), node) for node in range(1, nodes)]


def series_parallel(rng: random.Random, nodes: int) -> Pairs:
    """Grown from an edge: each new node is put on an edge, or in parallel to it."""
    pairs = [(0, nodes - 1)] if nodes > 1 else []
    for node in range(1, nodes - 1):
        first, second = rng.choice(pairs)
        if rng.random() < 0.5 and (first, second) in pairs:
            pairs.remove((first, second))
        pairs += [(min(node, end), max(node, end)) for end in (first, second)]
    return list(dict.fromkeys(pairs))


def dense(_rng: random.Random, nodes: int) -> Pairs:
    """Every two nodes."""
    return list(combinations(range(nodes), 2))


def disconnected(rng: random.Random, nodes: int) -> Pairs:
    """Two parts, one of them perhaps without any edge."""
    cut = rng.randrange(nodes + 1)
    pairs = combinations(range(nodes), 2)
    return [(a, b) for a, b in pairs if (a < cut) == (b < cut) and rng.random() < 0.6]


SHAPES: Mapping[str, Callable[[random.Random, int], Pairs]] = MappingProxyType(
    {shape.__name__: shape for shape in (tree, series_parallel, dense, disconnected)}
)


def random_problems(count: int, seed: int = 0) -> Iterator[GraphProblem]:
    """So many problems of at most 7 nodes with at most 4 candidates (at times a single one).

    Shapes take turns, and so do shares of forbidden pairs (none, some, many): some have no
    permitted choice. Costs are of the size of kernels' seconds.
    """
    rng = random.Random(seed)
    shapes = list(SHAPES.values())
    for number in range(count):
        nodes = rng.randint(1, 7)
        sizes = [rng.randint(1, 4) for _ in range(nodes)]
        forbidden = (0.0, 0.2, 0.5)[number // len(shapes) % 3]
        pairs = shapes[number % len(shapes)](rng, nodes)
        yield GraphProblem(
            tuple(tuple(rng.uniform(1e-5, 1e-3) for _ in range(size)) for size in sizes),
            {
                (a, b): tuple(
                    tuple(_entry(rng, forbidden) for _ in range(sizes[b])) for _ in range(sizes[a])
                )
                for a, b in pairs
            },
        )


def bounded(problem: GraphProblem, number: int) -> GraphProblem:
    """The problem with random errors, many of them 0, and a bound that some of its choices keep.

    What is faster tends to add more. Numbers take turns through bounds from nothing to all.
    """
    rng = random.Random(number)
    errors = tuple(
        tuple(0.0 if rng.random() < 0.4 else rng.uniform(1e-4, 1e-3) * 1e-3 / cost for cost in own)
        for own in problem.costs
    )
    least, most = ([pick(own) for own in errors] for pick in (min, max))
    part = (0.0, 0.2, 0.5, 0.8, 1.0)[number % 5]
    low, high = (sum(error**2 for error in side) for side in (least, most))
    return replace(problem, errors=errors, max_error=(low + part * (high - low)) ** 0.5)


def _entry(rng: random.Random, forbidden: float) -> float | None:
    """Of a transform: often nothing, as between equal layouts."""
    if rng.random() < forbidden:
        return None
    return 0.0 if rng.random() < 0.3 else rng.uniform(1e-6, 5e-4)
