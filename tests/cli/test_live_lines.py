"""The live display: what is shown at each width, and what gives way first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from toy_tasks import entry

from tilewright.roles import TaskState
from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import (
    Failure,
    FailureKind,
    MeasureInput,
    MeasureResult,
    Trial,
)
from tilewright.vocabulary.target import Target
from tilewright_cli.progress.glyphs import glyphs_for
from tilewright_cli.progress.live_lines import live_lines
from tilewright_cli.progress.machine_watch import MachineState
from tilewright_cli.progress.run_texts import duration_text, plain_line
from tilewright_cli.progress.run_view import RunView
from tilewright_cli.progress.task_facts import TaskFacts
from tilewright_cli.progress.tuning_table import COLUMNS, tuning_rows
from tilewright_pipeline.context.events import RunInfo, TuneProgress

STAGES = ("import", "extract", "tune", "graph-tune", "compile", "verify", "benchmark")
DEVICE = Device("toy0", peak_flops={1: 1e6})
RUN = RunInfo("resnet50", Path("runs/resnet50"), Target("toy"), DEVICE, STAGES)
MACHINE = MachineState(2, steal=0.12, other_cores=0.93, clock_hz=2.1e9, highest_hz=3.4e9)


def progress(*times, following=0, left=None, seconds=0.0):
    """Tasks of 10, 20, ... operations with weights 1, 2, ... and these best times."""
    entries, states = [], []
    for number, best in enumerate(times, 1):
        entries.append(replace(entry(10 * number, number), name=f"layer{number}"))
        own = "toy.loop" if best else None
        task = entries[-1].task
        states.append(TaskState(task, number, 16 * number, number - 1, best, strategy=own))
    return TuneProgress(tuple(entries), tuple(states), following, seconds, DEVICE, left)


def trials(count, failed=None, costs=(1e-3,), device=""):
    asked = MeasureInput(entry(10).task, ConfigEntity("toy.loop", {}))
    result = MeasureResult(costs, device=device)
    if failed is not None:
        result = MeasureResult(failure=Failure(failed))
    return [Trial(asked, result)] * count


@pytest.fixture
def view():
    """A run in its third stage, of whose minute 20 s are spent."""
    long = "conv2d_512x28x28_128x512x1x1+add+relu"
    tuning = progress(1e-3, 2e-3, left=Budget(seconds=60.0))
    tuning = replace(tuning, entries=(replace(tuning.entries[0], name=long), tuning.entries[1]))
    told = RunView(90.0, run=RUN, stage=2, stage_start=90.0).scheduled(tuning, 100.0)
    told = told.took([*trials(37), *trials(2, FailureKind.BUILD_TIMEOUT)])
    told = told.took(trials(1, FailureKind.WRONG_ANSWER))
    better = replace(tuning, states=progress(1e-3, 5e-4).states, left=Budget(seconds=50.0))
    return told.scheduled(better, 110.0).at(120.0, MACHINE)


def shown(view, host, width=100, height=24, encoding="utf-8"):
    lines = live_lines(view, TaskFacts(host), (width, height), glyphs_for(encoding))
    return [line.plain for line in lines]


def line_of(label, lines):
    (found,) = [line for line in lines if line.startswith(f"{label} ")]
    return found


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("height", [3, 12, 24])
def test_no_line_is_wider_than_the_terminal_and_none_is_too_many(view, host, width, height):
    lines = shown(view, host, width, height)
    assert max(map(cell_len, lines)) <= width
    assert len(lines) <= height


def test_120_columns_have_all_of_it(view, host):
    lines = shown(view, host, 120)
    assert line_of("stage", lines) == (
        "stage    3 of 7: tune, 30 s  "
        "import ✓  extract ✓  ▸ tune  graph-tune  compile  verify  benchmark"
    )
    left, total = line_of("left", lines), line_of("total", lines)
    assert left.startswith("left     40 s        ━━━━")
    assert left.endswith("────  20 s of 60 s  then 4 more stages")
    assert total.startswith("total    2.000 ms    ███")
    assert total.endswith("▁▁▁  5.000 ms at first")
    assert line_of("now", lines) == "now      0  conv2d_512x28x28_128x512x1x1+add+relu"
    assert line_of("trials", lines) == (
        "trials   48  2.0 a second  3 failed  (2 build_timeout, 1 wrong_answer)"
    )
    assert line_of("machine", lines) == (
        "machine  steal 12%  others use 0.9 cores  clock 2.1 GHz, was 3.4"
    )


def test_40_columns_keep_stage_time_total_and_failures(view, host):
    lines = shown(view, host, 40)
    assert line_of("stage", lines) == "stage    3 of 7: tune, 30 s"
    assert line_of("left", lines) == "left     40 s        ━━━━━━─────────────"
    assert line_of("total", lines) == "total    2.000 ms    █████████▁▁▁▁▁▁▁▁▁▁"
    assert line_of("now", lines) == "now      0  conv2d_512x28x28_128x512x1x…"
    assert line_of("trials", lines) == "trials   48  2.0 a second  3 failed"
    assert line_of("machine", lines) == "machine  steal 12%  others use 0.9 cores"


def test_without_unicode_everything_is_ascii(view, host):
    lines = shown(view, host, 60, encoding="ascii")
    assert "\n".join(lines).isascii()
    assert line_of("total", lines).endswith("@@@@@@@@@___________  5.000 ms at first")
    assert line_of("left", lines).startswith("left     40 s        ====")


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (None, "left     ?           then 4 more stages"),
        (Budget(trials=60), "left     about 31 s"),
        (Budget(trials=100), "left     ?         "),
    ],
)
def test_time_left_is_told_as_far_as_it_is_known(host, left, said):
    """Of trials by how fast they were; before the first, nobody knows."""
    first = replace(progress(1e-3), left=left and Budget(trials=100))
    view = RunView(run=RUN, stage=2).scheduled(first, 0.0)
    if left != Budget(trials=100):
        view = view.took(trials(40)).scheduled(replace(first, left=left), 20.0).at(20.5, None)
    assert line_of("left", shown(view, host)).startswith(said)


def test_budget_that_is_spent_leaves_nothing(view, host):
    left = line_of("left", shown(view.at(500.0, None), host))
    assert left.startswith("left     0 s         ━━━")
    assert left.endswith("━  60 s of 60 s  then 4 more stages")


def test_a_task_by_itself_has_no_stages(host):
    lines = shown(RunView().scheduled(progress(1e-3), 1.0).at(2.0, None), host)
    assert [line.split()[0] for line in lines[:5]] == ["left", "best", "now", "trials", "machine"]


def test_between_tunings_there_are_stage_time_and_machine(view, host):
    lines = shown(view.stage_ended(121.0), host)
    assert [line.split()[0] for line in lines] == ["stage", "left", "machine"]
    assert line_of("stage", lines).startswith("stage    4 of 7: graph-tune, 0 s")


def test_tasks_without_a_time_are_counted_until_there_is_a_total(host):
    lines = shown(RunView().scheduled(progress(1e-3, None), 1.0), host)
    assert line_of("total", lines) == "total    - (1 of 2 tasks have a time)"


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (RunView(), "?"),
        (RunView(machine=MachineState(2, 0.001, 0.05, 3.3e9, 3.4e9)), "calm"),
        (RunView().took(trials(8, costs=(1e-3, 2e-3))), "100% of trials disturbed"),
        (RunView(machine=MACHINE).took(trials(1, device="cpu@a")), "1 device"),
    ],
)
def test_the_machine_is_told_as_it_is(host, view, said):
    assert line_of("machine", shown(view, host)) == f"machine  {said}"


def test_plain_lines_say_the_same(view):
    assert plain_line(view) == (
        "tune: 20 s, 40 s left   total 2.000 ms   48 trials, 2.0 a second   "
        "failures: 2 build_timeout, 1 wrong_answer   "
        "machine: steal 12%, others use 0.9 cores, clock 2.1 GHz, was 3.4"
    )


def test_durations_have_the_units_that_matter():
    told = [duration_text(seconds) for seconds in (0.4, 75.4, 150, 7500)]
    assert told == ["0 s", "75 s", "2 min 30 s", "2 h 5 min"]


# --- the table


def rows_of(told, host):
    return list(tuning_rows(told, TaskFacts(host), range(len(told.entries))))


def test_a_row_has_what_its_columns_say(host):
    rows = rows_of(progress(1e-3, 5e-5, None), host)
    heads = ["ID", "Task", "ms", "GFLOP/s", "Peak", "Share", "Trials", "Failed", "Strategy"]
    assert [column.head for column in COLUMNS] == heads
    assert rows[0] == ("0", "layer1", "1.000", "0.0", "1%", "-", "16", "-", "toy.loop")
    assert rows[1] == ("1", "layer2", "0.05000", "0.0", "40%", "-", "32", "1", "toy.loop")
    assert rows[2] == ("2", "layer3", "-", "-", "-", "-", "48", "2", "-")
    assert [row[5] for row in rows_of(progress(1e-3, 5e-4), host)] == ["50%", "50%"]


def test_a_task_without_a_name_is_shown_as_its_text(host):
    told = progress(1e-3)
    told = replace(told, entries=(replace(told.entries[0], name=""),))
    assert rows_of(told, host)[0][1] == "toyadd(10)"


def table(told, host, **size):
    return shown(RunView().scheduled(told, 0.0), host, **size)[6:]


def test_the_table_has_a_head_and_a_line_a_task_and_marks_the_next(host):
    head, rule, *rows = table(progress(1e-3, 2e-3, following=1), host)
    assert head.split() == ["ID", "Task", "ms", "GFLOP/s", "Peak", "Share", "Trials", "Failed"]
    assert set(rule) == {"─"}
    assert [row.split()[:2] for row in rows] == [["0", "layer1"], ["▸1", "layer2"]]


def test_on_a_low_screen_the_costliest_and_the_next_task_stay(host):
    times = [1e-6] * 40
    times[17] = 1.0
    rows = table(progress(*times, following=3), host, height=11)[2:]
    assert [row.split()[1] for row in rows] == ["layer4", "layer18", "38"]
    assert rows[-1] == "and 38 that add less to the total"


def test_columns_stay_in_place_whichever_tasks_are_shown(host):
    told = progress(*[1e-6] * 12)
    names = ["a name longer than the others", *["short"] * 11]
    entries = [replace(one, name=name) for one, name in zip(told.entries, names, strict=True)]
    told = replace(told, entries=tuple(entries))
    heads = {table(replace(told, next_task=n), host, height=11)[0] for n in (0, 5, 11)}
    assert len(heads) == 1


@pytest.mark.parametrize(
    ("width", "heads", "row"),
    [
        (40, ["ID", "Task", "ms", "Trials"], ["▸0", "conv2d_512x28x28_…", "1.000", "16"]),
        (
            60,
            ["ID", "Task", "ms", "Peak", "Trials"],
            ["▸0", "conv2d_512x28x28_128x512x1x1+ad…", "1.000", "1%", "16"],
        ),
    ],
)
def test_on_a_narrow_screen_names_are_cut_and_numbers_stay(host, width, heads, row):
    told = progress(1e-3)
    name = "conv2d_512x28x28_128x512x1x1+add+relu"
    told = replace(told, entries=(replace(told.entries[0], name=name),))
    head, rule, first = table(told, host, width=width)
    assert head.split() == heads
    assert len(rule) == width
    assert first.split() == row


def test_control_characters_of_a_name_do_not_reach_the_terminal(host):
    told = progress(1e-3)
    told = replace(told, entries=(replace(told.entries[0], name="a\x1b[2Jb"),))
    assert "\x1b" not in "".join(shown(RunView().scheduled(told, 0.0), host))
