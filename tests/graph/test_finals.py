"""The last word inside the network: what is tried, kept as records, and compiled afterwards."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random
from types import SimpleNamespace

import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.config import ConfigEntity
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.finals import last_word as module
from tilewright_graph.finals.contest import contest
from tilewright_graph.finals.finals_options import FinalsOptions
from tilewright_graph.finals.last_word import last_word
from tilewright_graph.reports.summary import sections
from tilewright_graph.selection.dispatching import dispatch_network
from tilewright_graph.stages.finals_stage import FinalsStage
from tilewright_graph.stages.graph_tune_options import GraphTuneOptions
from tilewright_graph.stages.graph_tune_stage import GraphTuneStage

SECONDS = FinalsOptions(seconds=8)


def block(size):
    return ConfigEntity("paper", {"block": size})


@pytest.fixture
def extracted(residual, context, operators):
    return extract(residual, context.target, operators)


@pytest.fixture
def dense(extracted, record):
    """The one kernel whose layouts are the same under every config; it chose block 1 alone."""
    (kernel,) = (k for k in extracted.kernels if k.task.workload.operator == "dense")
    for size, seconds in ((1, 1e-5), (4, 1.1e-5), (8, 1.15e-5)):
        record(kernel.task, size, seconds)
    return kernel


@pytest.fixture
def machine(context, monkeypatch):
    """Runs of linked networks take 1 ms and what `adds` says of their programs; so runs its clock."""
    random = Random(0)
    found = SimpleNamespace(now=0.0, loaded=0, adds=lambda programs: 0.0)
    backend = type(context.host.backend("paper"))
    real = backend.load

    def load(self, artifact, device):
        kernel = real(self, artifact, device)
        found.loaded += 1

        def time(number):
            seconds = number * (1e-3 + random.gauss(0, 1e-6) + found.adds(kernel.programs))
            found.now += seconds
            return seconds

        kernel.time = time
        return kernel

    monkeypatch.setattr(backend, "load", load)
    monkeypatch.setattr(module, "contest", partial(contest, clock=lambda: found.now))
    return found


def favour(machine, program):
    machine.adds = lambda programs: -5e-5 if program in programs else 0.0


def graph_records(context):
    return context.store.graph_choices(context.device.fingerprint, context.host.revisions)


def test_what_makes_the_network_faster_stays_though_alone_it_is_slower(
    extracted, dense, machine, context
):
    favour(machine, 2)  # the ranks: block 1 stands, 4 and 8 are its rivals
    told = FinalsStage(SECONDS, context).run({type(extracted): extracted}).report["finals"]
    assert (told["kept"], len(told["tried"])) == (1, 2)
    lost, won = told["tried"]
    assert (won["node"], won["won"], lost["won"]) == (dense.name, True, False)
    assert won["config"] == block(8).to_json()
    assert won["over"] == block(1).to_json()
    assert told["total"]["gain_low"] <= told["total"]["gain"] <= told["total"]["gain_high"]
    assert told["total"]["gain"] == pytest.approx(0.05, rel=0.1)
    assert told["swaps"] > 0
    held = graph_records(context)
    assert held.keys() == {kernel.key for kernel in extracted.kernels}
    choice = held[dense.key]
    assert (choice.config, choice.won.over) == (block(8), block(1))
    assert (choice.won.network, choice.won.node) == (extracted.name, dense.name)
    assert [one.won for one in held.values() if one is not choice] == [None] * (len(held) - 1)
    compiled = dispatch_network(extracted, context, "default")
    assert compiled.configs[dense.key] == block(8)
    assert compiled.sources["graph choice"] == len(held)


def test_a_tie_keeps_what_was(extracted, dense, machine, context):
    before = dispatch_network(extracted, context, "default").configs
    told = last_word(extracted, context, SECONDS)
    assert (told["kept"], told["runs"] > 0) == (0, True)
    assert graph_records(context) == {}
    assert dispatch_network(extracted, context, "default").configs == before


def test_no_seconds_change_nothing(extracted, dense, machine, context):
    favour(machine, 1)
    size = context.store.path.stat().st_size
    told = last_word(extracted, context, FinalsOptions(seconds=0))
    assert (told["runs"], told["tried"], told["total"]) == (0, [], None)
    assert machine.loaded == 0
    assert context.store.path.stat().st_size == size


@pytest.mark.parametrize("left_out", [{"frozen": "sha256:"}, {"unmeasured": True}])
def test_a_run_that_measures_nothing_tries_nothing(extracted, dense, machine, context, left_out):
    favour(machine, 1)
    told = last_word(extracted, replace(context, **left_out), SECONDS)
    assert (told["runs"], machine.loaded, graph_records(context)) == (0, 0, {})


def test_nothing_of_other_layouts_or_much_slower_is_tried(
    extracted, dense, machine, context, record
):
    convolution = extracted.kernels[0]
    for size in (1, 4, 8):
        record(convolution.task, size, 2e-4)
    record(dense.task, 8, 1e-4)
    tried = last_word(extracted, context, SECONDS)["tried"]
    assert [(one["node"], one["config"]) for one in tried] == [(dense.name, block(4).to_json())]


@pytest.mark.parametrize("again", [SECONDS, FinalsOptions(seconds=9)])
def test_run_again_it_does_nothing_new_unless_asked_otherwise(
    extracted, dense, machine, context, again
):
    favour(machine, 1)
    last_word(extracted, context, SECONDS)
    held = graph_records(context)
    machine.adds = lambda programs: 0.0
    told = last_word(extracted, context, again)
    assert (told["runs"] == 0) is (again == SECONDS)
    assert graph_records(context) == held


def test_what_stands_no_longer_is_given_up_for_what_was_before(extracted, dense, machine, context):
    favour(machine, 1)
    last_word(extracted, context, SECONDS)
    assert graph_records(context)[dense.key].config == block(4)
    favour(machine, 1)  # of the programs now, block 1: the present one is the first
    last_word(extracted, context, FinalsOptions(seconds=9))
    choice = graph_records(context)[dense.key]
    assert (choice.config, choice.won) == (block(1), None)


def test_graph_tune_leaves_what_won_over_its_own_choice(
    extracted, dense, machine, measured, context
):
    stage = GraphTuneStage(GraphTuneOptions(finals=8), context)
    favour(machine, 1)
    report = stage.run({type(extracted): extracted}).report
    assert report["finals"]["kept"] == 1
    held = graph_records(context)
    assert held[dense.key].config == block(4)
    again = stage.run({type(extracted): extracted}).report
    assert again["finals"]["runs"] == 0
    assert graph_records(context) == held


def test_a_record_that_beats_the_choice_before_the_last_word_beats_it(
    extracted, dense, machine, context, record, caplog
):
    favour(machine, 1)
    last_word(extracted, context, SECONDS)
    record(dense.task, 8, 1e-6)
    assert dispatch_network(extracted, context, "default").configs[dense.key] == block(8)
    assert "passed over" in caplog.text


def test_the_summary_names_the_winners_and_the_whole(extracted, dense, machine, context):
    favour(machine, 2)
    told = last_word(extracted, context, SECONDS)
    (table,) = sections({"finals": told})
    assert [row[0] for row in table.rows[:-1]] == [dense.name, "the network"]
    assert table.rows[-1][0].startswith("2 tried in ")
    assert table.rows[-1][0].endswith("kept")


def test_a_target_that_cannot_and_a_fleet_are_refused(extracted, context, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(type(context.host), "backend", lambda _host, _kind: SimpleNamespace())
        with pytest.raises(UsageError, match="exchanges no kernels"):
            last_word(extracted, context, SECONDS)
    elsewhere = type(context)(**{**vars(context), "devices": ("paper@far",)})
    with pytest.raises(UsageError, match="elsewhere"):
        last_word(extracted, elsewhere, SECONDS)


def test_constants_are_packed_alike(extracted, dense, machine, context, monkeypatch):
    """A rival reads the very bytes that the present config reads."""
    real = type(context.host).layouts

    def layouts(host, task, config):
        found = real(host, task, config)
        if task == dense.task and config == block(4):
            return type(found)(("NC", "NC8n", *found.inputs[2:]), found.outputs, found.packed)
        return found

    monkeypatch.setattr(type(context.host), "layouts", layouts)
    tried = last_word(extracted, context, SECONDS)["tried"]
    assert [one["config"] for one in tried] == [block(8).to_json()]
