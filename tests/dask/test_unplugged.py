"""A machine without network: a worker in a network namespace of its own, whose link goes down."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass

import pytest
from fleet_bench import has_devices

HERE, THERE = (f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}.{n}" for n in (1, 2))


@dataclass
class Cable:
    """Joins this machine, as HERE, with a namespace, which is THERE."""

    name: str

    @property
    def inside(self):
        """What a command begins with to run there."""
        return ("ip", "netns", "exec", self.name)

    def lay(self):
        own, other = f"{self.name}a", f"{self.name}b"
        ip("netns", "add", self.name)
        ip("link", "add", own, "type", "veth", "peer", "name", other, "netns", self.name)
        ip("addr", "add", f"{HERE}/30", "dev", own)
        ip("link", "set", own, "up")
        ip("-n", self.name, "addr", "add", f"{THERE}/30", "dev", other)
        for device in (other, "lo"):
            ip("-n", self.name, "link", "set", device, "up")

    def pull(self):
        """By its far end: here nothing tells that what is sent arrives nowhere."""
        ip("-n", self.name, "link", "set", f"{self.name}b", "down")

    def plug(self):
        ip("-n", self.name, "link", "set", f"{self.name}b", "up")

    def remove(self):
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True, check=False)


def ip(*words):
    subprocess.run(["ip", *words], capture_output=True, check=True, text=True)


@pytest.fixture
def cable():
    made = Cable(f"tw{os.getpid()}")
    try:
        made.lay()
    except FileNotFoundError:
        pytest.skip("there is no iproute2")
    except subprocess.CalledProcessError as error:
        made.remove()
        pytest.skip(f"may not make a network: {error.stderr.strip()}")
    yield made
    made.remove()


def test_d32_what_an_unplugged_machine_was_measuring_is_measured_elsewhere_until_it_is_back(
    cable, fleet, drive, certificates, soon_silent
):
    fleet.tls = certificates
    fleet.scheduler("--host", HERE)
    unplugged = fleet.worker("--host", THERE, core=0, inside=cable.inside)
    other = fleet.worker(core=1)
    bench = drive(timeout_seconds=2)
    has_devices(bench, 2)
    cable.pull()
    batches = [bench.start("right", time=1e-3 * (1 + number)) for number in range(4)]
    soon_silent(unplugged)
    results = [future.result(120) for (future,) in batches]
    assert [result.seconds for result in results] == [1e-3, 2e-3, 3e-3, 4e-3]
    assert {result.device for result in results} == {other.name()}
    ((name, faults),) = bench.runner.device_faults().items()
    assert (name, set(faults)) == (unplugged.name(), {"device_lost"})
    cable.plug()
    has_devices(bench, 2)
