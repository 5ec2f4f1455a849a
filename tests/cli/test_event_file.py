"""`--events FILE`: what docs/commands.md shows is what is written, as it happens."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/commands.md"
TOY = ("--tuner", "toy", "--scheduler", "toy", "--runner", "toy", "--builder", "toy")


def events_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def shown_events():
    """By name, those in the page."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith('{"event": ')]
    events = map(json.loads, lines)
    return {event["event"]: event for event in events}


def shape(event):
    """Its members with their types; that of null is any."""
    return {name: None if value is None else type(value) for name, value in event.items()}


def test_a_run_writes_the_events_of_the_page_in_order(call, pipeline_file):
    path = pipeline_file(runner="fails: most", tune="tuner: toy, budget: 40")
    assert call("run", str(path), "--quiet", "--events", "new/events.jsonl", plugin=False)[0] == 0
    events = events_of(path.parent / "new/events.jsonl")
    shown = shown_events()
    assert {event["event"] for event in events} == set(shown)
    for event in events:
        for name, kind in shape(event).items():
            assert name in shown[event["event"]], event
            expected = shape(shown[event["event"]])[name]
            numbers = {kind, expected} <= {int, float}
            assert kind is expected or None in {kind, expected} or numbers, (name, event)
        assert set(event) == set(shown[event["event"]])
    names = [event["event"] for event in events]
    assert names[:3] == ["run_started", "stage_finished", "batch_scheduled"]
    assert names[-2:] == ["stage_finished", "run_finished"]
    assert [e["time"] for e in events] == sorted(e["time"] for e in events)
    batches = [event for event in events if event["event"] == "batch_measured"]
    assert sum(batch["trials"] for batch in batches) == 40
    assert sum(sum(batch["failures"].values()) for batch in batches) > 0
    tasks = {event["task"] for event in events if event["event"] == "task_started"}
    assert {batch["task"] for batch in batches} == tasks
    assert len(tasks) == 2
    assert events[-1]["exit_code"] == 0


def test_tune_writes_events_and_prints_as_ever(call, tmp_path):
    arguments = ("tune", "toyadd(4)", "--target", "toynative", *TOY, "--budget", "3", "--json")
    code, out, err = call(*arguments, "--events", "events.jsonl")
    assert (code, err) == (0, "")
    assert json.loads(out)["trials"] == 3
    names = [event["event"] for event in events_of(tmp_path / "events.jsonl")]
    assert names[:2] == ["batch_scheduled", "task_started"]
    assert names[-2:] == ["task_finished", "batch_scheduled"]


@pytest.mark.parametrize(
    ("file", "said"),
    [("-", "--events -: stdout has the results"), (".", "--events: Is a directory")],
)
def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(
    call, pipeline_file, file, said
):
    path = pipeline_file()
    code, _, err = call("run", str(path), "--events", file, plugin=False)
    assert code == 2
    assert said in err
    assert not (path.parent / "runs").exists()


def test_a_full_disk_costs_the_events_and_not_the_run(call, pipeline_file, caplog):
    arguments = ("run", str(pipeline_file()), "--quiet", "--events", "/dev/full")
    assert call(*arguments, plugin=False)[0] == 0
    assert caplog.messages == ["--events /dev/full: No space left on device: it gets no more"]


def test_the_file_may_be_a_pipe(call, pipeline_file):
    path = pipeline_file()
    pipe, heard = path.parent / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.extend(events_of(pipe)))
    reader.start()
    assert call("run", str(path), "--quiet", "--events", str(pipe), plugin=False)[0] == 0
    reader.join()
    assert [heard[0]["event"], heard[-1]["event"]] == ["run_started", "run_finished"]
