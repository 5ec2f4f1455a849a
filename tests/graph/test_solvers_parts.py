"""What solvers are made of, their limits, and what they say when they reach them."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright_graph.selection.graph_problem import GraphProblem, InfeasibleProblemError, Solution
from tilewright_graph.selection.solvers import exact
from tilewright_graph.selection.solvers.cost_graph import CostGraph
from tilewright_graph.selection.solvers.dp import DpOptions, DpTuner
from tilewright_graph.selection.solvers.dual_bound import DualBound
from tilewright_graph.selection.solvers.elimination import elimination_order
from tilewright_graph.selection.solvers.exact import ExactOptions, ExactTuner
from tilewright_graph.selection.solvers.exhaustive import ExhaustiveOptions, ExhaustiveTuner
from tilewright_graph.selection.solvers.feasible import feasible_choice
from tilewright_graph.selection.solvers.integer_program import IntegerProgram
from tilewright_graph.selection.solvers.pbqp import PbqpOptions, PbqpTuner
from tilewright_graph.selection.solvers.reductions import complete, remove_dominated, simplify
from tilewright_graph.testing.random_problems import dense, series_parallel


def layouts_problem(pairs, nodes: int, seed: int = 0, candidates: int = 6) -> GraphProblem:
    """Seconds at random; between two nodes a price where layouts (three) differ, as transforms."""
    rng = random.Random(seed)
    costs = tuple(tuple(rng.uniform(1, 2) for _ in range(candidates)) for _ in range(nodes))
    layouts = [[(rng.randrange(3), rng.randrange(3)) for _ in own] for own in costs]
    edges = {
        (a, b): tuple(
            tuple(0.0 if made == read else 0.3 for read, _ in layouts[b]) for _, made in layouts[a]
        )
        for a, b in pairs
    }
    return GraphProblem(costs, edges)


def ladder(nodes: int) -> list[tuple[int, int]]:
    """Residual blocks: every node reads the one before, every third the one three before."""
    near = [(node - 1, node) for node in range(1, nodes)]
    return near + [(node - 3, node) for node in range(3, nodes, 3)]


def solve(tuner, problem: GraphProblem) -> Solution:
    solution = tuner.solve(problem)
    assert problem.cost(solution.choice) == solution.cost
    return solution


def test_a_series_parallel_network_vanishes_by_exact_reductions():
    pairs = series_parallel(random.Random(3), 60)
    problem = layouts_problem(pairs, 60)
    graph = CostGraph(problem)
    reduced = simplify(graph)
    choice: dict[int, int] = {}
    complete(choice, reduced)
    assert not graph.vectors
    assert problem.cost([choice[node] for node in range(60)]) == pytest.approx(graph.constant)


def test_a_dominated_candidate_goes_and_a_mere_rival_stays():
    edges = {(0, 1): ((0.0, 0.5), (0.5, 0.0), (0.5, 0.5))}
    graph = CostGraph(GraphProblem(((1.0, 1.2, 1.3), (1.0, 1.0)), edges))
    remove_dominated(graph)
    assert list(graph.picks[0]) == [0, 1]


def test_one_of_equal_candidates_stays():
    graph = CostGraph(GraphProblem(((1.0, 1.0, 1.0),), {}))
    remove_dominated(graph)
    assert len(graph.picks[0]) == 1


def test_the_dual_bound_never_falls_nor_passes_the_best():
    problem = layouts_problem(dense(random.Random(), 7), 7, candidates=5)
    best = ExhaustiveTuner(ExhaustiveOptions()).solve(problem).cost
    dual = DualBound(CostGraph(problem))
    values = [dual.value] + [dual.sweep() for _ in range(30)]
    assert values == sorted(values)
    assert values[-1] > values[0]
    assert values[-1] <= best * (1 + 1e-12)


def test_shifted_costs_price_every_choice_as_before():
    problem = layouts_problem(dense(random.Random(), 6), 6, candidates=4)
    graph = CostGraph(problem)
    dual = DualBound(graph)
    for _ in range(5):
        dual.sweep()
    rng = random.Random(1)
    for _ in range(50):
        choice = {node: rng.randrange(4) for node in range(6)}
        assert dual.graph().cost(choice) == pytest.approx(graph.cost(choice))


def test_pruning_under_a_cost_keeps_every_choice_that_is_not_dearer():
    problem = layouts_problem(dense(random.Random(), 6), 6, seed=5, candidates=4)
    graph = CostGraph(problem)
    best = ExhaustiveTuner(ExhaustiveOptions()).solve(problem)
    dual = DualBound(graph)
    for _ in range(30):
        dual.sweep()
    pruned = dual.without_worse_than(best.cost * 1.0001)
    assert pruned.size < graph.size
    assert all(pick in pruned.picks[node] for node, pick in enumerate(best.choice))


def test_elimination_needs_tables_of_two_nodes_for_a_tree_and_three_for_residual_blocks():
    tree = {0: [1, 2], 1: [0, 3, 4], 2: [0], 3: [1], 4: [1]}
    assert elimination_order(tree, dict.fromkeys(tree, 7)).states == 49
    beside: dict[int, set[int]] = {node: set() for node in range(30)}
    for a, b in ladder(30):
        beside[a].add(b)
        beside[b].add(a)
    order = elimination_order(beside, dict.fromkeys(beside, 7))
    assert order.states == 343
    assert sorted(order.nodes) == list(range(30))


def test_a_clique_is_as_wide_as_it_has_nodes():
    beside = {node: [other for other in range(5) if other != node] for node in range(5)}
    assert elimination_order(beside, dict.fromkeys(beside, 3)).states == 3**5


def test_dp_is_exact_on_hundreds_of_residual_blocks():
    problem = layouts_problem(ladder(300), 300)
    found, other = (
        solve(tuner, problem) for tuner in (DpTuner(DpOptions()), PbqpTuner(PbqpOptions()))
    )
    assert found.optimal and other.optimal
    assert found.cost == pytest.approx(other.cost, rel=1e-12)


def test_dp_says_so_where_it_is_not_exact_and_still_bounds():
    problem = layouts_problem(combinations(range(14), 2), 14, seed=8)
    best = solve(ExactTuner(ExactOptions()), problem)
    found = solve(DpTuner(DpOptions(max_num_states=40)), problem)
    assert best.optimal and not found.optimal
    assert found.bound <= best.cost * (1 + 1e-9) <= found.cost * (1 + 2e-9)
    assert "over max_num_states=40" in found.note
    assert found.gap < 0.2


def test_pbqp_guesses_near_the_best_of_a_dense_network_and_says_that_it_guessed():
    problem = layouts_problem(combinations(range(14), 2), 14, seed=8)
    best = solve(ExactTuner(ExactOptions()), problem)
    found = solve(PbqpTuner(PbqpOptions()), problem)
    assert found.bound <= best.cost * (1 + 1e-9)
    assert found.cost <= best.cost * 1.02
    assert found.optimal or "RN guessed" in found.note


def test_exact_gives_the_best_found_and_its_gap_at_the_time_limit():
    problem = layouts_problem(combinations(range(14), 2), 14, seed=8)
    best = solve(ExactTuner(ExactOptions()), problem)
    stopped = solve(ExactTuner(ExactOptions(time_limit_seconds=0)), problem)
    assert best.optimal and not stopped.optimal
    assert stopped.bound <= best.cost <= stopped.cost
    assert stopped.gap == pytest.approx(stopped.cost / stopped.bound - 1)
    assert stopped.note == "stopped after 0 s"


def forbidding(nodes: int, candidates: int, seed: int) -> GraphProblem:
    """An edge between every two nodes; three of ten pairs are forbidden."""
    rng, sizes = random.Random(seed), range(candidates)
    edges = {
        pair: tuple(
            tuple(None if rng.random() < 0.3 else rng.random() for _ in sizes) for _ in sizes
        )
        for pair in combinations(range(nodes), 2)
    }
    return GraphProblem(tuple(tuple(rng.random() for _ in sizes) for _ in range(nodes)), edges)


def test_pbqp_looks_elsewhere_where_its_guess_has_forbidden_pairs_left_only():
    pbqp = PbqpTuner(PbqpOptions())
    solve(pbqp, forbidding(7, candidates=4, seed=84))
    with pytest.raises(InfeasibleProblemError):
        pbqp.solve(forbidding(7, candidates=4, seed=118))


def test_exact_proves_what_dual_bounds_do_not_among_forbidden_pairs():
    problem = forbidding(6, candidates=6, seed=11)
    stopped = solve(ExactTuner(ExactOptions(time_limit_seconds=0)), problem)
    found = solve(ExactTuner(ExactOptions()), problem)
    assert not stopped.optimal and found.optimal
    best = ExhaustiveTuner(ExhaustiveOptions()).solve(problem).cost
    assert found.cost == pytest.approx(best, rel=1e-9)


def test_a_missing_solver_is_one_clear_line(monkeypatch):
    monkeypatch.setattr(exact, "find_spec", lambda name: None if name == "highspy" else object())
    host = PluginHost.load()
    with pytest.raises(UsageError, match="not installed: highspy") as error:
        host.make("graph_tuner", "exact", {}, host)
    assert "pip install highspy" in error.value.remedy


def test_the_integer_program_has_a_variable_only_where_layouts_agree():
    """Ten candidates a node of three layouts: three pairs of groups instead of a hundred."""
    graph = CostGraph(layouts_problem([(0, 1)], 2, seed=4, candidates=10))
    (pairing,) = IntegerProgram.of(graph).pairings
    assert len(pairing.pairs) == 3
    assert all(seconds == pytest.approx(-0.3) for _, _, seconds in pairing.pairs)


def test_exhaustive_refuses_what_would_take_for_ever():
    problem = layouts_problem([], 30)
    with pytest.raises(UsageError, match=r"10\^23 choices") as error:
        ExhaustiveTuner(ExhaustiveOptions()).solve(problem)
    assert "exact" in error.value.remedy


def test_a_node_whose_candidates_are_all_forbidden_is_named():
    problem = GraphProblem(((1.0,), (1.0, 2.0), (1.0,)), {(1, 2): ((None,), (None,))})
    with pytest.raises(
        InfeasibleProblemError, match="node 1 keeps no candidate: beside what node 2"
    ) as error:
        CostGraph(problem)
    assert set(error.value.nodes) == {1, 2}


@pytest.mark.parametrize(
    ("costs", "edges", "words"),
    [
        (((1.0,), ()), {}, "node 1 has no candidate"),
        (((1.0,), (1.0,)), {(1, 0): ((0.0,),)}, r"edge \(1, 0\): expected producer < consumer"),
        (((1.0,), (1.0,)), {(0, 5): ((0.0,),)}, r"edge \(0, 5\)"),
        (((1.0,), (1.0,)), {(0, 1): ((0.0, 1.0),)}, "expected a matrix of 1 rows of 1"),
        (((float("inf"), 1.0),), {}, "node 0: expected finite costs"),
        (((1.0,), (1.0,)), {(0, 1): ((float("nan"),),)}, r"edge \(0, 1\): expected finite costs"),
    ],
)
def test_a_problem_that_does_not_fit_together_is_refused(costs, edges, words):
    with pytest.raises(ValueError, match=words):
        GraphProblem(costs, edges)


def colouring(nodes: int, colours: int, pairs) -> GraphProblem:
    """Neighbours must differ."""
    differ = tuple(tuple(None if a == b else 0.0 for b in range(colours)) for a in range(colours))
    return GraphProblem((tuple(range(1, colours + 1)),) * nodes, dict.fromkeys(pairs, differ))


@pytest.mark.parametrize("name", ["greedy", "dp", "pbqp", "exact"])
def test_a_permitted_choice_is_found_where_guesses_end_at_forbidden_pairs(name):
    """A wheel of an odd rim takes four colours, and taking the cheapest first goes wrong."""
    rim = [(n, n + 1) for n in range(6)] + [(0, 6)]
    problem = colouring(8, 4, rim + [(n, 7) for n in range(7)])
    host = PluginHost.load()
    options = {"max_num_states": 30} if name == "dp" else {}
    solve(host.make("graph_tuner", name, options, host), problem)
    with pytest.raises(InfeasibleProblemError):
        host.make("graph_tuner", name, options, host).solve(colouring(8, 3, problem.edges))


def test_the_search_for_a_permitted_choice_backtracks():
    problem = colouring(7, 3, [(n, n + 1) for n in range(6)] + [(0, 6), (0, 3), (2, 5)])
    choice = feasible_choice(CostGraph(problem))
    assert problem.cost([choice[node] for node in range(7)]) is not None


def test_gap_and_proof_of_a_solution():
    assert Solution((), 1.0).gap is None and not Solution((), 1.0).optimal
    assert Solution((), 1.1, 1.0).gap == pytest.approx(0.1)
    assert Solution((), 1.0, 1.0).optimal
    assert Solution((), 0.0, 0.0).optimal
    assert Solution((), 1.0, 0.0).gap is None


def test_forbidden_entries_stay_forbidden_through_sums():
    problem = GraphProblem(((1.0, 2.0), (1.0, 2.0)), {(0, 1): ((None, 0.5), (0.5, 0.0))})
    graph = CostGraph(problem)
    assert np.isinf(graph.cost({0: 0, 1: 0}))
    assert graph.cost({0: 1, 1: 1}) == 4.0
