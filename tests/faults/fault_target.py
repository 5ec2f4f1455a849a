"""A plugin file: a target whose kernels are Python and do whatever their config says, mostly harm.

The operator `affine` is y = 2x + c on float32. The layout `reversed` turns an array end to end.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from tilewright import Component, hookimpl
from tilewright.roles import Artifact
from tilewright.strategies.strategy import Strategy
from tilewright.vocabulary.config import Layouts
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import DeviceFaultError, FailureKind


class AffineReference:
    operator = "affine"

    def inputs(self, workload, seed, precision="float32"):
        made = np.random.default_rng(seed)
        return [made.random(spec.shape, dtype=np.float32) for spec in workload.inputs]

    def outputs(self, workload, inputs):
        log = workload.attributes.get("reference_log")
        if log:
            with Path(log).open("a") as file:
                file.write("called\n")
        x, c = inputs
        return [(2.0 * x.astype(np.float64) + c).astype(np.float32)]

    def tolerance(self, workload, precision="float32"):
        return 1e-5

    def pack(self, array, layout):
        return array.reshape(-1)[::-1].copy() if layout == "reversed" else array

    def unpack(self, array, layout, shape):
        return (array[::-1] if layout == "reversed" else array).reshape(shape)


class FaultSchedule:
    def applies(self, task):
        return True

    def lower(self, task, config):
        act(config["lower"]) if config["lower"] else None
        return dict(config.values)

    def layouts(self, task, config):
        return Layouts((config["layout"], config["layout"]), (config["layout"],), frozenset({1}))


class FaultBackend:
    def __init__(self, options, host):
        pass

    def probe(self):
        return [Device("fake")]

    def check_target(self, target, device):
        pass

    def build(self, program, target):
        code = json.dumps(program).encode()
        return Artifact(str(target), "json", code, {"counts": {"programs": 1}})

    def load(self, artifact, device):
        return FaultKernel(json.loads(artifact.data))


class FaultKernel:
    memory = {}  # by operand and shape: handed out again and again, never cleared
    spoilt = False
    made = 0  # in this process

    def __init__(self, program):
        FaultKernel.made += 1
        self.program = program
        self.calls = 0

    def bind(self, arrays, copies):
        self.arrays = [
            self.memory.setdefault((i, array.shape), np.empty_like(array))
            for i, array in enumerate(arrays)
        ]
        for own, array in zip(self.arrays, arrays, strict=True):
            own[...] = array
        self.copies = dict(copies)

    def read(self, operand):
        return self.arrays[operand].copy()

    def write(self, operand, array):
        self.arrays[operand][...] = array

    def flush(self):
        pass

    def close(self):
        pass

    def launch(self):
        self.calls += 1
        x, c, y = self.arrays
        act(self.program["launch"], x, c, y)
        process = "fresh" if FaultKernel.made == 1 else "used"
        if self.calls == self.program.get(f"wrong_when_{process}"):
            y.reshape(-1)[0] += 1

    def time(self, number):
        says = self.program["time"]
        if isinstance(says, list):
            return says[0]
        if says == "copies":
            return number * float(self.copies.get(1, 1))
        if says in ("nan", "inf"):
            return float(says)
        if says == "a billion":
            return range(10**9)
        if isinstance(says, str) and says.startswith("$"):  # as a file of that name says by now
            return number * float(Path(os.environ[says[1:]]).read_text())
        return number * says if isinstance(says, float) else says


LEAKED = []
HANG_SECONDS = 150
"""Longer than any test waits: what should escape all the same ends by itself."""


def act(name, *operands):
    ACTS[name](*operands)


def right(x, c, y):
    y[...] = 2 * x + c


def skips_the_tail(x, c, y):
    y.reshape(-1)[:-1] = (2 * x + c).reshape(-1)[:-1]


def writes_nan(x, c, y):
    right(x, c, y)
    y.reshape(-1)[3] = np.nan


def off_by_little(x, c, y):
    right(x, c, y)
    y.reshape(-1)[5] *= 1.001


def writes_nothing(x, c, y):
    pass


def hang_with_gil(*_):
    ctypes.PyDLL(None).sleep(HANG_SECONDS)


def hang_deaf(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    time.sleep(HANG_SECONDS)


def stop_itself(*_):
    os.kill(os.getpid(), signal.SIGSTOP)


def segfault(*_):
    ctypes.memset(16, 1, 1)


def abort(*_):
    os.write(1, b"about to abort")
    ctypes.CDLL(None).abort()


def illegal(*_):
    os.kill(os.getpid(), signal.SIGILL)


def divide(*_):
    os.kill(os.getpid(), signal.SIGFPE)


def leave(*_):
    ctypes.CDLL(None).exit(0)


def overflow_stack(*_):
    sys.setrecursionlimit(1 << 30)
    callback = ctypes.PYFUNCTYPE(None)

    def down():
        pointer()

    pointer = callback(down)
    down()


def print_gigabyte(x=None, c=None, y=None):
    block = b"x" * (1 << 20)
    for _ in range(1024):
        os.write(1, block)
    if y is not None:
        right(x, c, y)


def print_frames(x, c, y):
    for descriptor in (1, 2):
        os.write(descriptor, b'\0\0\0\x14{"costs":[1e-09]}   ' * 100)
    right(x, c, y)


def complain_gigabyte(x, c, y):
    os.dup2(2, 1)
    print_gigabyte(x, c, y)


def print_then_die(*_):
    os.write(1, b"a" * (1 << 20) + b"the last words")
    segfault()


def eat_memory(*_):
    np.ones(10 << 30, dtype=np.uint8)


def leak(x, c, y):
    right(x, c, y)
    if FaultKernel.made > len(LEAKED):
        LEAKED.append(mmap.mmap(-1, 1 << 30))


def fill_the_disk(*_):
    with (Path(os.environ["TMPDIR"]) / "filled").open("wb") as file:
        while True:
            file.write(bytes(1 << 16))


def spawn_child(*_):
    child = os.fork()
    if child == 0:
        time.sleep(HANG_SECONDS)
    tell(child)
    segfault()


def spawn_daemon(*_):
    """A grandchild in a session of its own, whose parent is gone."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            tell(os.getpid())
            time.sleep(HANG_SECONDS)
        os._exit(0)
    os.wait()
    while not Path(os.environ["FAULT_CHILD"]).exists():
        time.sleep(0.001)


def spawn_daemon_and_die(*_):
    spawn_daemon()
    segfault()


def spawn_daemon_and_go_on(x, c, y):
    spawn_daemon()
    right(x, c, y)


def fork_bomb(*_):
    """Seven generations double their number, every other process leaves the session."""
    for generation in range(7):
        if os.fork() == 0 and generation % 2:
            os.setsid()
    tell(os.getpid())
    time.sleep(HANG_SECONDS)


def tell(number):
    with Path(os.environ["FAULT_CHILD"]).open("a") as file:
        file.write(f"{number}\n")


def meet_another(*_):
    """Goes on when a second process is here at the same time."""
    tell(os.getpid())
    while len(Path(os.environ["FAULT_CHILD"]).read_text().split()) < 2:
        time.sleep(0.01)


def hang_and_tell(*_):
    Path(os.environ["FAULT_CHILD"]).write_text(str(os.getpid()))
    hang_with_gil()


def hang_once(*_):
    if not Path(os.environ["FAULT_CHILD"]).exists():
        hang_and_tell()


def lose_the_device(*_):
    raise DeviceFaultError("illegal address (700)")


def lose_the_device_innocently(*_):
    raise DeviceFaultError("uncorrectable ECC error (214)", FailureKind.DEVICE_LOST)


def tell_its_number(x, c, y):
    right(x, c, y)
    tell(os.getpid())


def await_a_killer(x, c, y):
    """The first time; then the right answer."""
    if not Path(os.environ["FAULT_CHILD"]).exists():
        tell(os.getpid())
        time.sleep(HANG_SECONDS)
    right(x, c, y)


def reserve_a_terabyte(x, c, y):
    right(x, c, y)
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    mmap.mmap(-1, 1 << 40, private, mmap.PROT_READ).close()


def spoil_constant(x, c, y):
    """Right now, but the memory of those who come after is not what it was."""
    right(x, c, y)
    FaultKernel.spoilt = True


def right_unless_spoilt(x, c, y):
    right(x, c, y)
    if FaultKernel.spoilt:
        y += 1


def refuse(*_):
    raise ValueError("30 lanes do not fit into 16")


def fail(*_):
    raise RuntimeError("no such register")


ACTS = {name: value for name, value in globals().items() if callable(value)}


@hookimpl
def tilewright_targets():
    return [Component("fault", "does harm", lambda: FaultBackend)]


@hookimpl
def tilewright_strategies():
    return [Strategy("fault", 1, ("fault",), ("affine",), lambda _host: FaultSchedule())]


@hookimpl
def tilewright_references():
    return [AffineReference()]
