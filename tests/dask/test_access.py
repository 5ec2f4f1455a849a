"""Who may talk to whom: this machine alone, or those with certificates of one authority."""

from __future__ import annotations

import os
import random
import socket
import stat
from contextlib import suppress
from pathlib import Path

import pytest
from fleet_bench import has_builder

from tilewright.errors import UsageError
from tilewright_dask.driver.fleet_link import FleetLink
from tilewright_dask.security.access import check_address, check_host, is_loopback, security_of
from tilewright_dask.security.certificates import make_certificates


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1"])
def test_loopback_is_this_machine(host):
    assert is_loopback(host)
    check_host(host, None)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "10.0.0.7", "::", "node7", "127.0.0.1.example"])
def test_without_certificates_nobody_listens_to_others(host):
    assert not is_loopback(host)
    with pytest.raises(UsageError, match=r"without certificates whoever reaches it can run code"):
        check_host(host, None)
    check_host(host, Path("certs"))


@pytest.mark.parametrize(
    ("address", "tls", "says"),
    [
        ("tcp://10.0.0.1:8786", None, "is not on this machine"),
        ("tls://127.0.0.1:8786", None, "needs certificates"),
        ("tcp://127.0.0.1:8786", Path("certs"), "is without encryption"),
        ("127.0.0.1:8786", None, "expected tcp://HOST:PORT"),
        ("tcp://127.0.0.1", None, "expected tcp://HOST:PORT"),
        ("tcp://127.0.0.1:port", None, "expected tcp://HOST:PORT"),
        ("inproc://x:1", None, "expected tcp://HOST:PORT"),
    ],
)
def test_an_address_that_is_not_safe_is_refused(address, tls, says):
    with pytest.raises(UsageError, match=says) as refused:
        check_address(address, tls)
    assert refused.value.where == "scheduler"


def test_keys_are_their_owners_alone(certificates):
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in certificates.iterdir()}
    assert len(modes) == 8
    assert {mode for name, mode in modes.items() if name.endswith("-key.pem")} == {0o600}


def test_certificates_are_not_overwritten(certificates):
    with pytest.raises(UsageError, match=r"has scheduler.pem, scheduler-key.pem, worker.pem"):
        make_certificates(certificates, 1)


def test_an_authority_signs_again(tmp_path):
    make_certificates(tmp_path, 1)
    authority = (tmp_path / "ca.pem").read_bytes()
    for path in tmp_path.glob("[!c]*.pem"):
        path.unlink()
    made = make_certificates(tmp_path, 1)
    assert len(made) == 6
    assert (tmp_path / "ca.pem").read_bytes() == authority


def test_a_folder_without_certificates_is_told(tmp_path):
    with pytest.raises(UsageError, match=r"no ca.pem in"):
        security_of(tmp_path, "driver")


def test_certificates_are_found_in_the_current_folder(monkeypatch, fleet, drive):
    """A device and a builder serve a run, none of whom names the folder."""
    make_certificates(fleet.folder / "certs", 1)
    fleet.tls = "certs"
    assert fleet.scheduler().says("://").startswith("tls://127.0.0.1:")
    fleet.tls = None
    monkeypatch.chdir(fleet.folder)
    fleet.worker(core=0)
    two = len(os.sched_getaffinity(0)) > 1
    if two:
        fleet.builder(core=1)
    bench = drive()
    has_builder(bench) if two else None
    assert bench.measure().seconds == 1e-3


def test_without_certificates_of_the_authority_one_is_nobody(
    fleet, certificates, tmp_path, monkeypatch
):
    """As a worker, and as a driver."""
    monkeypatch.setattr("tilewright_dask.driver.fleet_link._CONNECT_SECONDS", 2.0)
    fleet.tls = certificates
    fleet.scheduler()
    make_certificates(tmp_path / "others", 1)
    plain = fleet.address.replace("tls", "tcp")
    started = [
        fleet.start("worker", fleet.address, "--builds", "--tls", tmp_path / "others"),
        fleet.start("worker", plain, "--builds"),
    ]
    for address, tls in ((fleet.address, tmp_path / "others"), (plain, None)):
        link = FleetLink.of(address, tls)
        with pytest.raises(UsageError, match=f"no scheduler answers at {address}"):
            link.run(link.devices())
    for worker in started:
        worker.says("no scheduler answers at")
        assert not worker.said("serving")
    link = FleetLink.of(fleet.address, certificates)
    assert link.run(link.members()) == []
    link.close()


def test_d33_nothing_is_read_of_who_has_no_certificate(fleet, drive, certificates):
    """Whatever bytes come, huge lengths among them: the connection is closed, the scheduler goes on."""
    fleet.tls = certificates
    scheduler = fleet.scheduler()
    chance = random.Random(0)
    _, _, place = fleet.address.partition("://")
    host, _, port = place.partition(":")
    memory = _resident(scheduler)
    for number in range(200):
        sent = b"\xff" * 8 if number % 2 else chance.randbytes(chance.randrange(1, 4096))
        with socket.create_connection((host, int(port)), timeout=60) as peer, suppress(OSError):
            peer.sendall(sent)
            peer.shutdown(socket.SHUT_WR)
            while peer.recv(1 << 16):
                pass
    assert _resident(scheduler) < memory + (50 << 20)
    fleet.worker()
    assert drive().measure().seconds == 1e-3


def _resident(started):
    """Bytes of memory that a process has."""
    status = Path(f"/proc/{started.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) << 10
