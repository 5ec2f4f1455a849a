"""`strategies: GLOB` where the glob leaves some tasks of a network no strategy, or all."""

from __future__ import annotations

import json

HERE = ("--target", "x86:threads=1", "--json", "--set", "benchmark.runs=3")


def test_tasks_that_no_strategy_of_the_glob_takes_may_take_any_and_are_told(call, caplog):
    code, out, err = call("run", "tiny.yaml", *HERE, "--set", "strategies='conv2d_direct.x86'")
    assert code == 0, err
    report = json.loads(out)
    (said,) = [message for message in caplog.messages if "no strategy of" in message]
    assert "matches 'conv2d_direct.x86'; they may take any: " in said
    assert all(task["best_seconds"] for task in report["tasks"])
    convolutions = [task for task in report["tasks"] if task["operator"] == "conv2d"]
    others = [task for task in report["tasks"] if task["operator"] != "conv2d"]
    assert {task["strategy"] for task in convolutions} == {"conv2d_direct.x86"}
    assert all(task["name"] in said for task in others)
    assert report["verify"]["passed"] is True


def test_a_glob_that_leaves_no_task_a_strategy_is_refused(call, folder):
    code, _, err = call("run", "tiny.yaml", *HERE, "--set", "strategies='conv2d_depthwise.x86'")
    assert (code, "tiny.yaml:7:5: stages[1].extract: no strategy for" in err) == (2, True)
    assert not (folder / "runs/tiny/network").exists()
