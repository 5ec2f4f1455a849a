"""D-03 to D-06: killed writers, crowds of them, disks that are full, fail or lie."""

from __future__ import annotations

import errno
import os
import random
import resource
import signal
import time
from functools import partial

import pytest

from tilewright.errors import UsageError
from tilewright_records.checks import verify_log
from tilewright_records.store.store import JsonlRecordStore


def numbers(path):
    return [record.config["tile"][1] for record in JsonlRecordStore(path).records()]


def fork(body):
    """Run in a child of its own, which ends without pytest's clean-up; 0 is success."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            body()
            code = 0
        finally:
            os._exit(code)
    return child


def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def write_until_killed(path, samples, *, first, acknowledge):
    store = JsonlRecordStore(path)
    for number in range(first, first + 10_000):
        store.append([samples.record(number)])
        os.write(acknowledge, b"%d\n" % number)


def kill_writers(rounds, path, samples):
    rng = random.Random(3)
    acknowledged = []
    for turn in range(rounds):
        reader, writer = os.pipe()
        write = partial(write_until_killed, path, samples, acknowledge=writer)
        children = [fork(partial(write, first=(2 * turn + who) * 10_000)) for who in range(2)]
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            if turn % 2:  # else, on a busy machine, none might have begun to write in any round
                acknowledged.append(int(pipe.readline()))
            time.sleep(rng.uniform(0.005, 0.03))
            for child in children:
                os.kill(child, signal.SIGKILL)
            assert [ended(child) for child in children] == [-signal.SIGKILL] * 2
            acknowledged += [int(line) for line in pipe.read().split()]
    found = numbers(path)
    assert acknowledged
    assert set(acknowledged) <= set(found)
    assert len(found) == len(set(found))
    assert len(found) <= len(acknowledged) + 2 * rounds


def test_d03_kill_9_loses_no_acknowledged_record_and_doubles_none(tmp_path, samples):
    kill_writers(20, tmp_path / "records.jsonl", samples)


@pytest.mark.full
def test_d03_kill_9_in_200_rounds(tmp_path, samples):
    kill_writers(200, tmp_path / "records.jsonl", samples)


def crowd(appends, path, samples):
    def write(who):
        store = JsonlRecordStore(path)
        for number in range(appends):
            store.append([samples.record(who * appends + number)])

    children = [fork(lambda who=who: write(who)) for who in range(8)]
    assert [ended(child) for child in children] == [0] * 8
    report = verify_log(path)
    assert (report.kinds["trial"], report.bad, report.torn) == (8 * appends, (), False)
    store = JsonlRecordStore(path)
    assert sorted(r.config["tile"][1] for r in store.records()) == list(range(8 * appends))
    assert [r.sequence for r in store.records()] == list(range(8 * appends))


def test_d04_eight_writers_interleave_nothing(tmp_path, samples):
    crowd(200, tmp_path / "records.jsonl", samples)


@pytest.mark.full
def test_d04_eight_writers_of_2000_records(tmp_path, samples):
    crowd(2000, tmp_path / "records.jsonl", samples)


def test_d05_a_file_size_limit_is_a_clean_error_and_writing_goes_on_after_it(tmp_path, samples):
    path = tmp_path / "records.jsonl"

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
        store = JsonlRecordStore(path)
        with pytest.raises(UsageError, match=r"records\.jsonl.*File too large"):
            for number in range(100):
                store.append([samples.record(number)])
        assert len(store.records()) > 1
        before = len(store.records())
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        store.append([samples.record(500)])
        assert len(store.records()) == before + 1

    assert ended(fork(fill)) == 0
    report = verify_log(path)
    assert (report.bad, report.torn) == ((), False)
    assert numbers(path)[-1] == 500


class FailingSystem:
    """os, of which the nth write or sync fails, or writes one byte and then fails."""

    def __init__(self, failing, code, short):
        self.calls, self.failing, self.code, self.short = 0, failing, code, short

    def __getattr__(self, name):
        return getattr(os, name)

    def write(self, descriptor, data):
        if self._fails():
            if self.short:
                os.write(descriptor, data[:7])
            raise OSError(self.code, os.strerror(self.code))
        return os.write(descriptor, data[: max(1, len(data) // 2)])

    def fdatasync(self, descriptor):
        if self._fails():
            raise OSError(self.code, os.strerror(self.code))
        os.fdatasync(descriptor)

    def _fails(self):
        self.calls += 1
        return self.calls == self.failing


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_d05_a_failure_at_any_write_or_sync_leaves_whole_records(
    tmp_path, samples, monkeypatch, code, short
):
    for failing in range(1, 16):
        path = tmp_path / f"{failing}.jsonl"
        JsonlRecordStore(path).append([samples.record(0)])
        store = JsonlRecordStore(path)
        with monkeypatch.context() as patch:
            system = FailingSystem(failing, code, short)
            patch.setattr("tilewright_records.store.log_file.os", system)
            written = [0]
            for number in (1, 2):
                try:
                    store.append([samples.record(number)])
                    written.append(number)
                except UsageError as error:
                    assert str(path) in str(error)
        assert numbers(path) == written
        assert [r.config["tile"][1] for r in store.records()] == written
        assert not verify_log(path).torn
        store.append([samples.record(3)])
        assert numbers(path) == [*written, 3]
    assert system.calls < failing or len(written) == 2  # every write and sync of both had its turn


@pytest.mark.parametrize("was_there", [False, True])
def test_d05_a_file_that_took_no_record_is_left_only_if_it_was_there(
    tmp_path, samples, monkeypatch, was_there
):
    path = tmp_path / "records.jsonl"
    if was_there:
        path.touch()
    store = JsonlRecordStore(path)
    with monkeypatch.context() as patch:
        system = FailingSystem(1, errno.ENOSPC, short=True)
        patch.setattr("tilewright_records.store.log_file.os", system)
        with pytest.raises(UsageError, match="No space left"):
            store.append([samples.record(1)])
    assert path.exists() == was_there
    store.append([samples.record(2)])
    assert numbers(path) == [2]


def test_d05_a_signal_in_the_middle_of_writing_is_no_error(tmp_path, samples):
    path = tmp_path / "records.jsonl"
    store, heard = JsonlRecordStore(path), []
    before = signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
    try:
        for number in range(200):
            store.append([samples.record(number)])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(heard) > 10
    assert numbers(path) == list(range(200))


class PowerCut(BaseException):
    """Not an Exception: nothing is cleaned up after a power cut."""


class LosingSystem:
    """os, of which nothing lasts before it is synced, and whose power is cut at the nth step.

    The file as the disk has it is `kept`: what was synced last, and of what was written since as
    many bytes as `surviving` says, of which `zeroed` were allocated but not written.
    """

    def __init__(self, log, cut_at, surviving, zeroed):
        self.log, self.cut_at, self.surviving, self.zeroed = log, cut_at, surviving, zeroed
        self.steps, self.synced, self.named = 0, b"", False

    def __getattr__(self, name):
        return getattr(os, name)

    def write(self, descriptor, data):
        self._step()
        return os.write(descriptor, data[:512])

    def fdatasync(self, descriptor):
        self._step()
        self.synced = self.log.read_bytes()
        self._step()

    def fsync(self, descriptor):
        self._step()
        self.named = True
        self._step()

    def _step(self):
        self.steps += 1
        if self.steps == self.cut_at:
            raise PowerCut

    def restart(self):
        """The file as it is found after the cut."""
        whole = self.log.read_bytes() if self.log.exists() else b""
        if not self.named:
            self.log.unlink(missing_ok=True)
            return
        late = whole[len(self.synced) :]
        late = late[: int(self.surviving * len(late))]
        kept = len(late) - int(self.zeroed * len(late))
        self.log.write_bytes(self.synced + late[:kept] + bytes(len(late) - kept))


@pytest.mark.parametrize("zeroed", [0, 0.5, 1])
@pytest.mark.parametrize("surviving", [0, 0.3, 1])
def test_d06_what_was_acknowledged_survives_a_power_cut_at_any_step(
    tmp_path, samples, monkeypatch, surviving, zeroed
):
    """And nothing is there whose predecessor is not: the records are a beginning of all written."""
    for cut_at in range(1, 30):
        path = tmp_path / f"{cut_at}.jsonl"
        system, acknowledged = LosingSystem(path, cut_at, surviving, zeroed), []
        with monkeypatch.context() as patch:
            patch.setattr("tilewright_records.store.log_file.os", system)
            try:
                store = JsonlRecordStore(path)
                for first in range(0, 8, 2):
                    store.append([samples.record(first), samples.record(first + 1)])
                    acknowledged += [first, first + 1]
            except PowerCut:
                pass
        system.restart()
        found = numbers(path)
        assert found == list(range(len(found)))
        assert len(found) >= len(acknowledged)
        JsonlRecordStore(path).append([samples.record(50)])
        assert numbers(path) == [*found, 50]
        assert JsonlRecordStore(path).bad_lines <= 1
    assert system.steps < cut_at  # the last round had no cut: every step had its turn
