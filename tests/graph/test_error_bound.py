"""A choice within a bound on the network's error, whatever the model of errors gets wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from math import hypot, inf
from types import SimpleNamespace

import pytest

from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright_graph.selection.candidates import Candidate
from tilewright_graph.selection.error_bound import ErrorBound, KeptError
from tilewright_graph.selection.graph_problem import GraphProblem, Solution
from tilewright_graph.selection.layout_problem import LayoutProblem, Option
from tilewright_graph.selection.solvers.exhaustive import ExhaustiveOptions, ExhaustiveTuner

ALONE = (1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3)
"""What each of six kernels adds in bfloat16."""
SAVES = (1e-4, 3e-4, 2e-4, 6e-4, 5e-4, 9e-4)
BASE = 1e-6
HOST = SimpleNamespace(strategy=lambda name: SimpleNamespace(precision=name))

Configs = Mapping[str, ConfigEntity]


def candidate(precision: str, seconds: float) -> Candidate:
    return Candidate(ConfigEntity(precision), Layouts(("NC",), ("NC",)), seconds, True)


def problem() -> LayoutProblem:
    """Six kernels in a row, all in one layout."""
    options = tuple(
        tuple(
            Option(one, "NC", frozenset(), one.seconds)
            for one in (candidate("float32", 1e-3), candidate("bfloat16", 1e-3 - saved))
        )
        for saved in SAVES
    )
    costs = tuple(tuple(option.seconds for option in own) for own in options)
    return LayoutProblem(GraphProblem(costs, {}), options, tuple("abcdef"))


def independent(configs: Configs) -> float:
    """The error if the model were right."""
    lowered = (alone for key, alone in zip("abcdef", ALONE, strict=True) if is_lower(configs[key]))
    return hypot(BASE, *lowered)


def is_lower(config: ConfigEntity) -> bool:
    return config.strategy == "bfloat16"


def solved(
    most: float, measure: Callable[[Configs], float]
) -> tuple[Configs, Solution, KeptError, list[Configs]]:
    asked: list[Configs] = []

    def measured(configs: Configs) -> float:
        asked.append(dict(configs))
        return measure(configs)

    bound = ErrorBound(most, measured, HOST)  # type: ignore[arg-type]
    solution, kept = bound.solve(problem(), ExhaustiveTuner(ExhaustiveOptions()).solve)
    return problem().configs(solution.choice), solution, kept, asked


def least_cost(most: float, measure: Callable[[Configs], float]) -> float:
    """Of every choice whose error is within the bound."""
    own = problem()
    choices = list(product(range(2), repeat=6))
    costs = [own.problem.cost(one) for one in choices if measure(own.configs(one)) <= most]
    return min(cost for cost in costs if cost is not None)


@pytest.mark.parametrize("most", [1e-5, 1e-3, 2e-3, 4e-3, 6e-3, 7e-3, 9e-3, 1.0])
def test_the_fastest_choice_within_is_found_where_errors_are_independent(most):
    _, solution, kept, _ = solved(most, independent)
    assert kept.measured <= most
    assert kept.predicted == pytest.approx(kept.measured)
    assert solution.cost == pytest.approx(least_cost(most, independent))


@pytest.mark.parametrize("wrong_by", [0.3, 0.7, 1.5, 4.0])
@pytest.mark.parametrize("most", [3e-3, 6e-3])
def test_the_bound_holds_by_measurement_where_the_model_is_wrong(most, wrong_by):
    def together(configs: Configs) -> float:
        """Alone as measured, but other than independent where several meet."""
        several = sum(map(is_lower, configs.values())) > 1
        return independent(configs) * (wrong_by if several else 1.0)

    configs, solution, kept, _ = solved(most, together)
    assert kept.measured == together(configs) <= most
    every_float32 = 6e-3
    assert solution.cost < every_float32
    best, all_of_it = least_cost(most, together), least_cost(inf, together)
    assert solution.cost - best <= 0.35 * (every_float32 - all_of_it)


def test_without_measuring_the_choice_the_bound_would_not_hold():
    def together(configs: Configs) -> float:
        return independent(configs) * (1.5 if sum(map(is_lower, configs.values())) > 1 else 1.0)

    own, errors = problem(), tuple((0.0, alone) for alone in ALONE)
    believed = GraphProblem(own.problem.costs, {}, errors, max_error=6e-3)
    choice = ExhaustiveTuner(ExhaustiveOptions()).solve(believed).choice
    assert believed.error(choice) <= 6e-3 < together(own.configs(choice))


def test_each_kernel_is_measured_once_and_alone():
    _, _, kept, asked = solved(1.0, independent)
    alone = [one for one in asked if sum(map(is_lower, one.values())) == 1]
    assert len(alone) == len(ALONE)
    assert len(asked) == len(ALONE) + 2, "these, all in float32, and the choice"
    found = [own["bfloat16:float32"] for own in kept.alone.values()]
    assert found == pytest.approx(list(ALONE))


def test_where_float32_exceeds_the_bound_it_is_the_choice_and_that_is_told():
    configs, _, kept, _ = solved(BASE / 2, independent)
    assert not any(map(is_lower, configs.values()))
    assert not kept.holds
    assert kept.measured == kept.exact == BASE


def test_a_kernel_without_a_finite_answer_is_left_in_float32():
    def overflows(configs: Configs) -> float:
        return inf if is_lower(configs["f"]) else independent(configs)

    configs, _, kept, _ = solved(1.0, overflows)
    assert [key for key, config in configs.items() if is_lower(config)] == list("abcde")
    assert kept.alone["f"] == {}
