"""A run on a terminal: what it draws is gone in the end, and what it says stays."""

from __future__ import annotations

import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from tilewright_cli import main; main()"]
COLUMNS = 60
NUMBER = re.compile(r"\d+(\.\d+)?")
MARK = "\x1b[0;0m"  # no colours, as before
SEQUENCE = re.compile(r"\x1b\[(\??)([\d;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


class Screen:
    """What a terminal of unlimited width makes of a text; made narrower, it wraps what it has."""

    def __init__(self, text, *later, columns=0):
        self._lines, self._row, self._column = [""], 0, 0
        self.widest, self.has_cursor = 0, True
        self._take(text)
        for text in later:
            self._wrap(columns)
            self._take(text)

    def _take(self, text):
        for found in SEQUENCE.finditer(text):
            private, number, letter, control, plain = found.groups()
            if plain is not None:
                self._put(plain)
            elif control == "\r":
                self._column = 0
            elif control == "\n":
                self._row += 1
                self._lines += [""] * (self._row == len(self._lines))
            elif private:
                assert number == "25", found
                self.has_cursor = letter == "h"
            elif letter == "A":
                self._row -= int(number or 1)
            elif letter == "K":
                self._lines[self._row] = ""
            else:
                assert letter == "m", found

    def _put(self, text):
        line, end = self._lines[self._row].ljust(self._column), self._column + len(text)
        self._lines[self._row] = line[: self._column] + text + line[end:]
        self._column, self.widest = end, max(self.widest, end)

    def _wrap(self, columns):
        """The cursor stays behind the character that it is behind."""
        rows = [
            [line[at : at + columns] for at in range(0, max(1, len(line)), columns)]
            for line in self._lines
        ]
        self._row = sum(map(len, rows[: self._row])) + max(0, self._column - 1) // columns
        self._column -= max(0, self._column - 1) // columns * columns
        self._lines = [part for parts in rows for part in parts]

    @property
    def text(self):
        """All down to the cursor, below which nothing is."""
        assert not any(self._lines[self._row + 1 :])
        return "\n".join(line.rstrip() for line in self._lines[: self._row + 1])


class Command:
    """`tilewright` with a terminal as stderr."""

    def __init__(self, arguments, folder, **environment):
        self._ours, theirs = pty.openpty()
        self.resize(COLUMNS)
        # xdist tells its workers a width, which would count more than the terminal's.
        environment = {**os.environ, "TERM": "xterm", **environment}
        environment.pop("COLUMNS", None)
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            cwd=folder,
            env=environment,
        )
        self._terminal = os.ttyname(theirs)
        os.close(theirs)
        self._told = b""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def resize(self, columns):
        ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def write(self, text):
        """As another program on the same terminal."""
        Path(self._terminal).write_text(text)

    def _read(self):
        with suppress(OSError):  # the other end is closed
            while True:
                self._told += os.read(self._ours, 65536)

    @property
    def told(self):
        return self._told.decode(errors="ignore")

    def end(self):
        """The exit code and all that was written."""
        self.process.wait()
        self._reader.join()
        return self.process.returncode, self.told

    def close(self):
        self.process.kill()
        self.end()
        os.close(self._ours)


@pytest.fixture
def start(pipeline_file, toy):
    """A function that starts a verb for half a second or for ten minutes."""
    started = []

    def run(verb="run", budget="16", **environment):
        slow = "seconds: 0.03"
        path = pipeline_file(tune=f"tuner: toy, budget: {budget}", runner=slow, sizes="[8, 16]")
        arguments = {
            "run": [str(path)],
            "tune": ["toyadd(8)", "--target", "toynative", "--budget", budget, "--plugin", str(toy)]
            + ["--tuner", "toy", "--scheduler", "toy", "--builder", "toy"]
            + ["--runner", "toy:seconds=0.03"],
        }
        started.append(Command([verb, *arguments[verb]], path.parent, **environment))
        return started[-1]

    yield run
    for each in started:
        each.close()


def test_the_display_is_gone_in_the_end_and_what_was_said_stays(start):
    code, told = start(NO_COLOR="1").end()
    screen = Screen(told)
    assert code == 0
    assert "stage  " in told  # of the rest, a busy machine may draw nothing
    said = NUMBER.sub("#", screen.text)
    assert said == (
        "toyrun on toy:threads=#, toy#\nsource: ok in # s\ntune: ok in # s, # trials\n"
        "check: ok in # s\ndone after # s, see runs/toyrun/run.json\n"
    )
    assert screen.has_cursor
    assert screen.widest <= COLUMNS
    assert not re.search(r"\x1b\[[\d;]*3\dm", told), "no colours"


def test_a_window_made_narrower_keeps_nothing_of_what_was_drawn(start, soon):
    command = start("tune", budget="10min", NO_COLOR="1")
    with soon(20):
        while "trials   " not in command.told:
            time.sleep(0.02)
    command.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, command.process.pid, os.WSTOPPED | os.WNOWAIT)
    command.resize(36)
    command.write(MARK)
    with soon(20):
        while MARK not in command.told:
            time.sleep(0.02)
    wide = command.told
    command.process.send_signal(signal.SIGCONT)
    with soon(20):
        while "trials   " not in command.told[len(wide) :]:
            time.sleep(0.02)
    command.process.send_signal(signal.SIGINT)
    _, told = command.end()
    screen = Screen(wide, told[len(wide) :], columns=36)
    assert max(map(len, wide.splitlines())) > 36
    assert NUMBER.sub("#", screen.text) == INTERRUPTED["tune"]


KEPT = "what was measured is kept: the same command goes on from there\n"
INTERRUPTED = {
    "run": "toyrun on toy:threads=#, toy#\nsource: ok in # s\n"
    "tune: interrupted in # s, # trials\n"
    f"interrupted after # s, see runs/toyrun/run.json\n{KEPT}",
    "tune": f"{KEPT}\ninterrupted\n",  # click's own line ends that of the ^C
}


@pytest.mark.parametrize("verb", INTERRUPTED)
def test_ctrl_c_leaves_a_clean_screen(start, soon, verb):
    command = start(verb, budget="10min")
    with soon(20):
        while "trials   " not in command.told:
            time.sleep(0.02)
    command.process.send_signal(signal.SIGINT)
    code, told = command.end()
    screen = Screen(told)
    assert code == 130
    assert NUMBER.sub("#", screen.text) == INTERRUPTED[verb]
    assert screen.has_cursor


def test_a_dumb_terminal_gets_plain_lines(start):
    code, told = start(budget="2", TERM="dumb").end()
    assert code == 0
    assert "tune: ok in " in told
    assert "\x1b" not in told
    assert "━" not in told
