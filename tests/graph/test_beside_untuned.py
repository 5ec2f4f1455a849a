"""What tuning chose, in turns with the network that nobody tuned: the faster is compiled."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright_graph.finals import beside_untuned as module
from tilewright_graph.finals.beside_untuned import UntunedNetwork
from tilewright_graph.finals.finals_options import FinalsOptions
from tilewright_graph.finals.last_word import last_word
from tilewright_graph.reports.summary import sections
from tilewright_graph.selection import graph_tuning
from tilewright_graph.selection.dispatching import dispatch_network
from tilewright_graph.selection.graph_tuning import without_record
from tilewright_graph.stages.graph_tune_options import GraphTuneOptions
from tilewright_graph.stages.graph_tune_stage import GraphTuneStage

CHOSEN, OTHER = 8, 1


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """No more pairs than it takes."""
    monkeypatch.setattr(module, "_SECONDS", 0.0)


@pytest.fixture
def untuned(chain, context, record, measured):
    """The blocks without records; by those that follow, blocks of 8 are the fastest."""
    found = blocks(chain, context)
    for kernel in chain.kernels:
        for block, seconds in ((4, 3e-3), (OTHER, 2e-3), (CHOSEN, 1e-3)):
            record(kernel.task, block, seconds)
    assert not {CHOSEN, OTHER} & {*found}
    return found


@pytest.fixture
def machine(context, monkeypatch):
    """Networks with blocks of a size take `ms` of it, others take 1 ms; counts those loaded."""
    found = SimpleNamespace(ms={}, loaded=0)
    backend = type(context.host.backend("paper"))
    real = backend.load

    def load(self, artifact, device):
        kernel = real(self, artifact, device)
        found.loaded += 1
        programs = [program for call in kernel.data["calls"] for program in call["programs"]]
        layouts = {layout for program in programs for layout in program["layouts"]}
        ms = [taken for size, taken in found.ms.items() if f"NCHW{size}c" in layouts]
        kernel.time = lambda number: number * max(ms, default=1.0) * 1e-3
        return kernel

    monkeypatch.setattr(backend, "load", load)
    return found


def graph_tuned(extracted, context, **options):
    stage = GraphTuneStage(GraphTuneOptions(**options), context)
    result = stage.run({type(extracted): extracted})
    return result.values[0], result.report["graph"]


def blocks(extracted, context):
    configs = dispatch_network(extracted, context, "default").configs
    return [configs[kernel.key]["block"] for kernel in extracted.kernels]


def test_what_is_slower_than_the_untuned_network_is_not_kept(chain, untuned, machine, context):
    machine.ms = {CHOSEN: 2.0}
    choice, told = graph_tuned(chain, context)
    assert told["beside_untuned"]["kept"] == told["kept"] == choice.kept == "untuned"
    assert told["beside_untuned"]["tuned_ms"] == pytest.approx(2.0)
    assert told["beside_untuned"]["untuned_ms"] == pytest.approx(1.0)
    assert told["beside_untuned"]["pairs"] == module._PAIRS
    assert [choice.configs[kernel.key]["block"] for kernel in chain.kernels] == untuned
    assert blocks(chain, context) == untuned


@pytest.mark.parametrize("ms", [1.0, 0.5], ids=["tie", "faster"])
def test_the_choice_stays_unless_the_untuned_network_is_faster(
    chain, untuned, machine, context, ms
):
    machine.ms = {CHOSEN: ms}
    choice, told = graph_tuned(chain, context)
    assert (told["beside_untuned"]["kept"], choice.kept) == ("tuned", "solver")
    assert blocks(chain, context) == [CHOSEN] * 3


def test_run_again_it_compares_only_what_is_new(chain, untuned, machine, context, record):
    graph_tuned(chain, context)
    loaded = machine.loaded
    assert "beside_untuned" not in graph_tuned(chain, context)[1]
    assert machine.loaded == loaded
    for kernel in chain.kernels:
        record(kernel.task, OTHER, 1e-4)
    assert graph_tuned(chain, context)[1]["beside_untuned"]["kept"] == "tuned"
    assert blocks(chain, context) == [OTHER] * 3


def test_what_was_given_up_for_it_is_not_taken_again(chain, untuned, machine, context):
    machine.ms = {CHOSEN: 2.0}
    first, _ = graph_tuned(chain, context)
    size = context.store.path.stat().st_size
    again, told = graph_tuned(chain, context)
    assert "beside_untuned" not in told
    assert told["kept"] == "untuned"
    assert dict(again.configs) == dict(first.configs)
    assert blocks(chain, context) == untuned
    assert context.store.path.stat().st_size == size


def test_a_gain_of_less_than_a_hundredth_changes_nothing(chain, untuned, machine, context):
    machine.ms = {CHOSEN: 1.005}
    assert graph_tuned(chain, context)[1]["beside_untuned"]["kept"] == "tuned"
    assert blocks(chain, context) == [CHOSEN] * 3


def test_a_new_choice_for_some_kernels_is_compared_as_a_whole(
    chain, untuned, machine, context, record
):
    machine.ms = {CHOSEN: 2.0}
    graph_tuned(chain, context)
    machine.ms = {CHOSEN: 0.5}
    *others, last = chain.kernels
    record(last.task, OTHER, 1e-4)
    assert graph_tuned(chain, context)[1]["beside_untuned"]["kept"] == "tuned"
    assert blocks(chain, context) == [CHOSEN] * len(others) + [OTHER]


def test_records_that_beat_what_was_given_up_count(
    chain, untuned, machine, context, record, caplog
):
    machine.ms = {CHOSEN: 2.0}
    graph_tuned(chain, context)
    for kernel in chain.kernels:
        record(kernel.task, OTHER, 1e-4)
    assert blocks(chain, context) == [OTHER] * 3
    assert "passed over" in caplog.text


def test_the_last_word_keeps_the_layouts_of_the_whole_network_that_won(
    chain, untuned, machine, context
):
    machine.ms = {CHOSEN: 2.0}
    graph_tuned(chain, context)
    told = last_word(chain, context, FinalsOptions(seconds=1))
    assert (told["tried"], told["kept"]) == ([], 0)
    assert blocks(chain, context) == untuned


def test_what_failed_when_it_was_measured_is_not_run(chain, untuned, machine, context, fail):
    machine.ms = {CHOSEN: 2.0}
    fail(chain.kernels[0].task, ConfigEntity("paper", {"block": untuned[0]}))
    graph_tuned(chain, context)
    assert UntunedNetwork.of(chain, context, "default") is None
    assert machine.loaded == 0


def test_it_is_measured_before_it_runs(chain, context, record, measured):
    for kernel in chain.kernels:
        record(kernel.task, CHOSEN, 1e-6)
    found = UntunedNetwork.of(chain, context, "default")
    assert {kernel.task for kernel in chain.kernels} <= {*measured}
    assert not without_record(found.dispatched.assembly.calls, context)


def test_what_fails_then_is_not_run(chain, machine, context, record, fail, monkeypatch):
    def measure(pairs, context):
        for entry, config in pairs:
            fail(entry.task, config)
        return SimpleNamespace(measurement={})

    monkeypatch.setattr(graph_tuning, "measure_configs", measure)
    assert UntunedNetwork.of(chain, context, "default") is None
    assert machine.loaded == 0


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"devices": ("paper@far",)},
        {"device": Device("desk", {"model": "pine"})},
        {"device": Device("desk", {"model": "oak", "emulated": "yes"})},
    ],
    ids=["fleet", "recorded", "emulated"],
)
def test_a_network_that_runs_elsewhere_is_not_run_here(chain, untuned, context, elsewhere):
    assert UntunedNetwork.of(chain, context, "default") is not None
    assert UntunedNetwork.of(chain, replace(context, **elsewhere), "default") is None


def test_the_summary_says_which_is_kept(chain, untuned, machine, context):
    machine.ms = {CHOSEN: 2.0}
    _, told = graph_tuned(chain, context)
    (table,) = sections({"graph": told})
    told = "untuned is faster, and kept; in turns 2.000 ms, untuned 1.000 ms"
    assert table.rows[-1][-1] == told
