"""What the machine does beside measuring, read from a /proc and a /sys of the test's own."""

from __future__ import annotations

import os

import pytest

from tilewright_cli.progress import machine_watch
from tilewright_cli.progress.machine_watch import MachineState, MachineWatch

OURS = os.getpid()


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with three cores, of which cores 0 and 1 are watched, and its watch."""
    monkeypatch.setattr(machine_watch, "_EVERY_SECONDS", 0.0)
    return Machine(tmp_path)


class Machine:
    def __init__(self, root):
        self.root = root
        self.time = 0
        self.tell()
        self.watch = MachineWatch(root, [0, 1])

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def tell(self, busy=0, stolen=0, own=0, ghz=None):
        """A second on, with so many ticks on each core; `own` are those of this process's child."""
        self.time += 100
        idle = self.time - busy - stolen
        cores = [f"cpu{n} {busy} 0 0 {idle} 0 0 0 {stolen} 0 0" for n in (0, 1)]
        self.write(
            "proc/stat", "\n".join(["cpu 1 2 3", *cores, "cpu2 9 9 9 9 9 9 9 9 0 0", "ctxt 1"])
        )
        for process, children, ticks in ((OURS, "77", 0), (77, "", own)):
            times = f"{ticks} 0 0 0"
            self.write(f"proc/{process}/stat", f"{process} (a ) b) S {'0 ' * 10}{times} 0 0")
            self.write(f"proc/{process}/task/{process}/children", children)
        if ghz is not None:
            for core in (0, 1):
                file = f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq"
                self.write(file, f"{int(ghz * 1e6)}\n")


def test_nothing_is_known_without_a_second_reading_or_on_another_system(tmp_path):
    assert MachineWatch(tmp_path, [0]).state() is None
    assert MachineWatch().state() is None


def test_steal_and_other_load_are_shares_of_the_cores_of_this_process(machine):
    machine.tell(busy=80, stolen=10, own=60)
    assert machine.watch.state() == MachineState(2, steal=0.1, other_cores=pytest.approx(1.0))
    assert list(machine.watch.state().problems()) == ["steal 10%", "others use 1.0 cores"]


def test_own_work_is_no_other_load(machine):
    machine.tell(busy=90, own=179)
    state = machine.watch.state()
    assert state.other_cores == pytest.approx(0.01)
    assert list(state.problems()) == []


def test_other_load_is_unknown_where_children_are_not_told(machine):
    for children in machine.root.glob("proc/*/task/*/children"):
        children.unlink()
    machine.watch = MachineWatch(machine.root, [0, 1])
    machine.write("proc/stat", "cpu0 90 0 0 400 0 0 0 0 0 0\ncpu1 90 0 0 400 0 0 0 0 0 0\n")
    assert machine.watch.state().other_cores is None


def test_a_clock_below_its_highest_is_told_while_the_cores_are_busy(machine):
    for busy, ghz, said in ((90, 3.4, []), (180, 2.6, ["clock 2.6 GHz, was 3.4"]), (180, 0.8, [])):
        machine.tell(busy=busy, own=2 * busy, ghz=ghz)
        assert list(machine.watch.state().problems()) == said


def test_this_machine_is_read_as_it_is(monkeypatch):
    monkeypatch.setattr(machine_watch, "_EVERY_SECONDS", 0.0)
    watch, state = MachineWatch(), None
    while state is None:  # until the first tick
        state = watch.state()
    assert state.cores == len(os.sched_getaffinity(0))
    assert 0 <= state.steal <= 1
    assert 0 <= state.other_cores <= state.cores + 0.5
