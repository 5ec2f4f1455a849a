"""D-01 to D-05: torn writes, flipped bits, killed writers, crowds, full disks."""

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
from tilewright.records import JsonlRecordStore, verify_log
from tilewright.records.line import BadLineError, unseal
from tilewright.records.record import RecordDecoder


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


def test_d01_a_log_cut_at_any_byte_keeps_every_earlier_record_and_both_new_ones(tmp_path, samples):
    path = tmp_path / "records.jsonl"
    JsonlRecordStore(path).append([samples.record(n) for n in range(6)])
    whole = path.read_bytes()
    ends = [place for place, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(ends[2] + 1, len(whole) + 1):
        path.write_bytes(whole[:cut])
        # A record that lost only its newline is whole; the next writer gives it one.
        kept = sum(end <= cut for end in ends)
        for new in (100, 101):
            JsonlRecordStore(path).append([samples.record(new)])
        store = JsonlRecordStore(path)
        assert [r.config["tile"][1] for r in store.records()] == [*range(kept), 100, 101]
        assert store.bad_lines <= 1
        assert not verify_log(path).torn


@pytest.fixture
def log20(tmp_path, samples):
    path = tmp_path / "records.jsonl"
    JsonlRecordStore(path).append([samples.record(n) for n in range(20)])
    return path.read_bytes()


class Reader:
    """Reads as the store does; remembers lines it has seen, because damage leaves most as they were."""

    def __init__(self, data):
        self._decoder = RecordDecoder()
        self._seen = {}
        self.good = set(self.read(data))

    def read(self, data):
        found = (self._record(line) for line in data.split(b"\n"))
        return [record for record in found if record is not None]

    def _record(self, line):
        if line not in self._seen:
            try:
                self._seen[line] = str(self._decoder.decode(unseal(line)).to_json())
            except BadLineError:
                self._seen[line] = None
        return self._seen[line]


def test_d02_no_flipped_bit_makes_a_wrong_record_or_loses_more_than_two(log20):
    reader = Reader(log20)
    assert len(reader.good) == 20
    for place in range(len(log20)):
        for bit in range(8):
            flipped = bytearray(log20)
            flipped[place] ^= 1 << bit
            found = reader.read(bytes(flipped))
            assert reader.good.issuperset(found)
            assert len(found) >= 18


def test_d02_smears_of_many_bytes_make_no_wrong_record(log20, tmp_path):
    reader, rng = Reader(log20), random.Random(2)
    path = tmp_path / "smeared.jsonl"
    for _ in range(1000):
        smeared = bytearray(log20)
        place, length = rng.randrange(len(log20)), rng.randint(2, 64)
        smeared[place : place + length] = rng.randbytes(len(smeared[place : place + length]))
        path.write_bytes(smeared)
        found = [str(record.to_json()) for record in JsonlRecordStore(path).records()]
        assert reader.good.issuperset(found)
        assert len(found) >= 18


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
        time.sleep(rng.uniform(0.005, 0.03))
        for child in children:
            os.kill(child, signal.SIGKILL)
        assert [ended(child) for child in children] == [-signal.SIGKILL] * 2
        with os.fdopen(reader, "rb") as pipe:
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
            patch.setattr("tilewright.records.log_file.os", system)
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
