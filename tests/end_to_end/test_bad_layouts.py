"""What can be wrong when layouts are chosen: a clear line each, and no record is lost."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tilewright.host.fallback import fallback_configs
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.measure import Failure, FailureKind, MeasureResult, Trial
from tilewright_records.store.store import JsonlRecordStore

HERE = ("--set", "records=r.jsonl")


@pytest.fixture
def graph_tune(call, folder, caplog):
    """A function that runs the verb: (exit code, what it says); no line of the records is lost."""

    def invoke(*arguments, source="tiny.yaml", verb="graph-tune"):
        records = folder / "r.jsonl"
        before = records.read_bytes() if records.exists() else b""
        caplog.clear()
        code, _, err = call(verb, source, *HERE, *arguments)
        assert "Traceback" not in err
        if before:
            assert records.read_bytes().startswith(before)
        return code, "\n".join([err, *caplog.messages])  # outside of tests both are on stderr

    return invoke


def save(path, nodes, inputs, outputs, weights=()):
    def tensors(names, shape):
        return [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in names]

    graph = helper.make_graph(
        nodes, path.stem, tensors(inputs, (1, 8, 7, 7)), tensors(outputs, None), list(weights)
    )
    opset = [helper.make_opsetid("", 17)]
    made = helper.make_model(graph, opset_imports=opset, ir_version=8)
    path.write_bytes(made.SerializeToString())
    return str(path)


def test_records_of_a_revision_that_is_gone_are_misses_and_said_once(graph_tune, folder):
    assert graph_tune()[0] == 0
    store = JsonlRecordStore(folder / "r.jsonl")
    here = [r for r in store.records() if r.config.strategy == "conv2d_direct.x86"]
    (folder / "r.jsonl").unlink()
    store = JsonlRecordStore(folder / "r.jsonl")
    store.append(dataclasses.replace(record, revision=record.revision + 100) for record in here)
    code, err = graph_tune()
    assert code == 0
    (line,) = [line for line in err.splitlines() if "revision" in line]
    assert line == (
        f"r.jsonl: {len(here)} records of another revision of 'conv2d_direct.x86' count as misses"
    )


def test_a_node_without_any_candidate_that_works_is_named(graph_tune, folder):
    assert graph_tune()[0] == 0
    store = JsonlRecordStore(folder / "r.jsonl")
    dense = [record for record in store.records() if record.task.workload.operator == "dense"]
    failure = MeasureResult(failure=Failure(FailureKind.CRASH, "it fell", "SIGSEGV"))
    host, like = PluginHost.load(), dense[0]
    advised = fallback_configs(like.task, host.space(like.task), host)
    store.append(
        dataclasses.replace(
            like,
            trial=Trial(dataclasses.replace(like.trial.input, config=config), failure),
            revision=host.strategy(config.strategy).revision,
        )
        for config in {*advised, *(record.config for record in dense)}
    )
    code, err = graph_tune()
    assert code == 2
    assert "error: tiny.yaml:9:5: stages[3].graph-tune: no candidate of dense(1x8, 11x8)" in err
    assert "works: crash (SIGSEGV): it fell" in err


def test_parts_that_are_not_connected_are_chosen_together(graph_tune, folder):
    nodes = [helper.make_node("Relu", [a], [b], a) for a, b in ("xy", "zw")]
    source = save(folder / "two.onnx", nodes, "xz", "yw")
    code, _ = graph_tune("--target", "x86:threads=1", "--out", "two", source=source)
    assert code == 0
    assert json.loads((folder / "two/run.json").read_text())["graph"]["optimal"]


def test_a_cycle_is_named_with_a_node_of_it(graph_tune, folder):
    wires = [(("x", "c"), "a"), (("a",), "b"), (("b",), "c")]
    kinds = {2: "Add", 1: "Relu"}
    nodes = [helper.make_node(kinds[len(i)], list(i), [o], f"make_{o}") for i, o in wires]
    source = save(folder / "cycle.onnx", nodes, "x", "c")
    code, err = graph_tune(source=source)
    assert code == 2
    assert "cycle: node 'make_a': reads 'c', which no node before it makes" in err


def test_a_solver_that_is_not_installed_says_what_to_install(graph_tune, monkeypatch):
    monkeypatch.setattr("tilewright_graph.selection.solvers.exact.find_spec", lambda _: None)
    code, err = graph_tune("--set", "graph-tune.graph_tuner=exact")
    assert code == 2
    assert "graph tuner 'exact' needs PuLP and HiGHS" in err
    assert "choose 'dp' or 'pbqp'" in err


def test_a_picture_that_cannot_be_written_is_refused_before_anything_is_measured(
    graph_tune, folder
):
    code, err = graph_tune("--svg", str(folder))
    assert code == 2
    assert f"{folder}: svg: Is a directory" in err
    assert not (folder / "r.jsonl").exists()


def test_an_unknown_solver_is_named(graph_tune):
    code, err = graph_tune("--set", "graph-tune.graph_tuner=pbpq")
    assert code == 2
    assert "no graph tuner named 'pbpq'" in err
    assert "did you mean 'pbqp'?" in err


LATE = '''
from tilewright import Component, hookimpl
from tilewright_graph.selection.graph_problem import Solution


class Late:
    """Ran out of time: the first choice found, and a poor bound."""

    def __init__(self, options, host):
        pass

    def solve(self, problem):
        choice = (0,) * len(problem.costs)
        cost = problem.cost(choice)
        return Solution(choice, cost, cost / 2, "stopped after 1 s")


@hookimpl
def tilewright_graph_tuners():
    return [Component("late", "stops at its time limit", lambda: Late)]
'''


def test_a_solver_that_ran_out_of_time_gives_its_gap_and_3_only_if_proof_was_asked(
    graph_tune, folder
):
    (folder / "late.py").write_text(LATE)
    late = ("--plugin", "late.py", "--set", "graph-tune.graph_tuner=late")
    code, err = graph_tune(*late)
    assert code == 0
    graph = json.loads((folder / "runs/tiny/run.json").read_text())["graph"]
    assert (graph["optimal"], graph["note"]) == (False, "stopped after 1 s")
    assert graph["gap"] == pytest.approx(1.0)
    code, err = graph_tune(*late, "--proof")
    assert code == 3
    assert "tiny: the choice is not proved to be the best: stopped after 1 s" in err
    assert graph_tune("--set", "graph-tune.graph_tuner=exact", "--proof")[0] == 0


def test_graph_records_of_another_network_are_not_used_and_said(graph_tune, folder):
    assert graph_tune()[0] == 0
    weight = np.ones((8, 8, 1, 1), np.float32)
    source = save(
        folder / "other.onnx",
        [helper.make_node("Conv", ["x", "w"], ["y"], "conv")],
        "x",
        "y",
        [numpy_helper.from_array(weight, "w")],
    )
    (folder / "other.yaml").write_text(
        "version: 1\ntarget: {kind: x86, threads: 1}\n"
        f"stages: [import: {{model: {json.dumps(source)}}}, extract: {{}}, compile: {{}}]\n"
    )
    code, err = graph_tune(source="other.yaml", verb="compile")
    assert code == 0
    assert "other: the 5 graph choices in r.jsonl are of other networks, and not used" in err
    report = json.loads((folder / "runs/other/run.json").read_text())
    assert report["compile"]["configs"]["graph choice"] == 0
