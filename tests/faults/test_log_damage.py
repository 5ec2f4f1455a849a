"""D-01 and D-02: a log that lost its end, or whose bytes changed."""

from __future__ import annotations

import random

import pytest

from tilewright.json_object import BadLineError
from tilewright_records.checks import verify_log
from tilewright_records.encoding import record_json
from tilewright_records.line import unseal
from tilewright_records.store.outline import OutlineReader
from tilewright_records.store.store import JsonlRecordStore


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
        self._reader = OutlineReader()
        self._seen = {}
        self.good = set(self.read(data))

    def read(self, data):
        found = (self._record(line) for line in data.split(b"\n"))
        return [record for record in found if record is not None]

    def _record(self, line):
        if line not in self._seen:
            try:
                self._reader.read(line)
                self._seen[line] = str(record_json(self._reader.decoder.decode(unseal(line))))
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
        found = [str(record_json(record)) for record in JsonlRecordStore(path).records()]
        assert reader.good.issuperset(found)
        assert len(found) >= 18
