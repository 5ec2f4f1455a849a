"""The live table: Ansor's columns and its line, with the share of peak."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

from rich.console import Console
from toy_tasks import entry

from tilewright.roles import TaskState
from tilewright.vocabulary.device import Device
from tilewright_cli.terminal.tuning_table import tuning_line, tuning_rows, tuning_table
from tilewright_pipeline.context.events import TuneProgress


def progress(*times, following=0):
    """Tasks of 10, 20, ... operations with weights 1, 2, ... and these best times."""
    entries, states = [], []
    for number, seconds in enumerate(times, 1):
        entries.append(replace(entry(10 * number, number), name=f"layer{number}"))
        own = "toy.loop" if seconds else None
        task = entries[-1].task
        states.append(TaskState(task, number, 16 * number, 0, seconds, strategy=own))
    device = Device("toy0", peak_flops={1: 1e6})
    return TuneProgress(tuple(entries), tuple(states), following, 12.4, device)


def shown(told, host, height=20, width=100):
    out = StringIO()
    Console(file=out, width=width).print(tuning_table(told, host, width, height))
    return out.getvalue()


def test_a_row_has_id_task_latency_speed_share_of_peak_and_trials(host):
    rows = list(tuning_rows(progress(1e-3, 5e-5, None), host))
    assert rows[0] == ("0", "layer1", "1.000", "0.0", "1%", "16")
    assert rows[1] == ("1", "layer2", "0.05000", "0.0", "40%", "32")
    assert rows[2] == ("2", "layer3", "-", "-", "-", "48")


def test_the_line_has_total_trials_time_and_next_task():
    line = tuning_line(progress(1e-3, 2e-3, following=1))
    assert line == ("Estimated total latency: 5.000 ms   Trials: 48   Used time: 12 s   Next ID: 1")
    line = tuning_line(progress(1e-3, None, following=None))
    assert line.startswith("Estimated total latency: -  ")
    assert line.endswith("Next ID: -")


def test_the_table_has_a_head_and_a_line_a_task(host):
    text = shown(progress(1e-3, 2e-3), host)
    heads = ["ID", "Task", "Latency (ms)", "Speed (GFLOP/s)", "Peak", "Trials"]
    assert all(head in text.splitlines()[1] for head in heads)
    assert "layer1" in text
    assert "layer2" in text


def test_on_a_low_screen_the_costliest_and_the_next_task_stay(host):
    times = [1e-6] * 40
    times[17] = 1.0
    text = shown(progress(*times, following=3), host, height=4)
    assert "layer18" in text
    assert "layer4 " in text
    assert "and 37 that add less" in text


def test_on_a_narrow_screen_names_are_cut_and_numbers_stay(host):
    told = progress(1e-3)
    told = replace(told, entries=(replace(told.entries[0], name="long " * 20),))
    text = shown(told, host, width=64)
    assert "Latency (ms)  Speed (GFLOP/s)  Peak  Trials" in text
    assert "1.000 " in text
    assert "long long" in text
    assert "…" in text


def test_on_a_screen_of_40_columns_names_and_the_numbers_shown_stay(host):
    told = progress(1e-3)
    told = replace(told, entries=(replace(told.entries[0], name="conv2d_512x28x28"),))
    head, _, row = shown(told, host, width=40).splitlines()[1:4]
    assert head.split() == ["ID", "Task", "Latency", "(ms)", "Trials"]
    assert row.split() == ["0", "conv2d_512…", "1.000", "16"]


def test_control_characters_of_a_name_do_not_reach_the_terminal(host):
    told = progress(1e-3)
    told = replace(told, entries=(replace(told.entries[0], name="a\x1b[2Jb"),))
    assert "\x1b" not in shown(told, host)
