"""D-27: records of strangers, whose texts steer terminals and whose values make no sense.

Names in pictures: tests/graph/test_layout_picture.py.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import replace

import pytest

from tilewright.json_object import BadLineError
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.record import Record
from tilewright.vocabulary.task import Task
from tilewright_cli.terminal.group import run
from tilewright_records.decoding import OtherVersionError, RecordDecoder
from tilewright_records.encoding import record_json
from tilewright_records.line import seal, unseal
from tilewright_records.readers import JsonlReader
from tilewright_records.store.store import JsonlRecordStore

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m<script>alert(1)</script>\u202e\x7f\r../../etc/passwd"


def steers(text):
    """The characters that a terminal obeys rather than shows."""
    return {character for character in text if not character.isprintable()} - {"\n"}


@pytest.fixture
def evil_log(tmp_path, samples, monkeypatch):
    folder = tmp_path / "log"
    folder.mkdir()
    monkeypatch.chdir(folder)
    evil = Device(EVIL, {"model": EVIL})
    task = Task(replace(samples.task.workload, operator=EVIL), samples.task.target)
    store = JsonlRecordStore(folder / "records.jsonl")
    failed = samples.record(2, failure="crash", device=evil, strategy=f"{EVIL}/{EVIL}")
    ours = samples.record(1, device=evil, strategy="toy.loop")
    result = failed.trial.result
    result = replace(result, failure=replace(result.failure, text=EVIL, signal=EVIL))
    store.append(
        [
            samples.record(1, device=evil, task=task),
            ours,
            replace(failed, trial=replace(failed.trial, result=result)),
        ]
    )
    with store.path.open("ab") as file:
        file.write(
            seal({**record_json(failed), "kind": EVIL}) + seal({"version": EVIL, "kind": EVIL})
        )
        file.write(seal({**record_json(failed), "sequence": EVIL}) + EVIL.encode() + b"\n")
    return store.path


@pytest.mark.parametrize(
    "verb",
    [
        ("records", "ls"),
        ("records", "verify"),
        ("records", "best"),
        ("records", "import"),
        ("records", "compact"),
        (
            "tune",
            "toyadd(8)",
            "--target",
            "toy",
            "--runner",
            "toy",
            "--builder",
            "toy",
            "--records",
        ),
    ],
    ids=lambda verb: " ".join(verb[:2]),
)
@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["text", "json"])
def test_d27_nothing_in_a_record_steers_the_terminal(evil_log, toy, capsys, verb, flags):
    target = ("--target", "toy") if "import" in verb else ()
    code = run([*verb, str(evil_log), *target, "--plugin", str(toy), *flags])
    said = capsys.readouterr()
    assert code in (0, 1, 2)
    assert said.out or said.err
    assert steers(said.out + said.err) == set()
    assert [path.name for path in evil_log.parent.iterdir()] == ["records.jsonl"]


def test_d27_nothing_in_a_pipeline_file_steers_the_terminal(tmp_path, toy, capsys):
    path = tmp_path / "evil.yaml"
    path.write_text('version: 1\ntarget: "\\e[2J\\x9b31m"\nstages: [{"\\e]0;x\\a": {}}]\n')
    assert run(["run", str(path), "--plugin", str(toy)]) == 2
    said = capsys.readouterr()
    assert steers(said.out + said.err) == set()
    assert str(path) in said.err


def _member(name, value):
    return lambda data: data.update({name: value})


@pytest.mark.parametrize(
    "spoil",
    [
        _member("costs", []),
        _member("costs", [0]),
        _member("costs", [-1.0]),
        _member("costs", [True]),
        _member("costs", ["1"]),
        _member("costs", [1e-300]),
        _member("costs", [1e300]),
        _member("costs", [10**400]),
        _member("costs", [1e-3] * 10_001),
        _member("costs", {"0": 1}),
        _member("failure", {"kind": "crash", "text": "", "signal": ""}),
        _member("key", "0000000000000000"),
        _member("key", ["x"]),
        _member("target", "Toy!"),
        _member("target", 3),
        _member("revision", "1"),
        _member("sequence", -1),
        _member("sequence", True),
        _member("config", [1]),
        _member("config", None),
        _member("strategy", 7),
        _member("device", "cpu"),
        _member("device", {"name": 1, "fingerprint": "x"}),
        _member("conditions", {"constants": "cold"}),
        _member(
            "conditions",
            {
                "constants": "hot",
                "number": 1,
                "repeat": 1,
                "min_repeat_ms": 1,
                "cooldown_interval": 0,
            },
        ),
        _member(
            "conditions",
            {
                "constants": "cold",
                "number": True,
                "repeat": 1,
                "min_repeat_ms": 1,
                "cooldown_interval": 0,
            },
        ),
        _member("timings", [1]),
        _member("timings", {"compile": "long"}),
        lambda data: data.pop("costs"),
        lambda data: data.pop("key"),
        lambda data: data["workload"].update(operator="other"),
        lambda data: data["workload"]["inputs"].clear(),
        lambda data: data.update(workload=None),
    ],
)
def test_d27_a_record_that_makes_no_sense_is_skipped_and_counted(samples, tmp_path, spoil):
    data = json.loads(json.dumps(record_json(samples.record(1))))
    spoil(data)
    path = tmp_path / "bad.jsonl"
    good = seal(record_json(samples.record(2)))
    # Behind a good one as well: lines that begin like an earlier one are read another way.
    path.write_bytes(seal(data) + good + seal(data))
    store = JsonlRecordStore(path)
    assert (store.bad_lines, len(store.records())) == (2, 1)


@pytest.mark.parametrize(
    "text",
    [
        b'{"version":1,"x":NaN',
        b'{"version":1,"x":-Infinity',
        b'{"version":1,"x":1e999',
        b'{"version":1,"x":"\xff"',
        b'{"version":1,"x":' + b"[" * 200_000 + b"]" * 200_000,
        b'{"version":1,"x":' + b"9" * 100_000,
        b'{"version":1,"x":"' + b"y" * 2**20 + b'"',
        b"[1",
        b"",
    ],
)
def test_d27_lines_that_no_writer_makes_are_bad_even_with_a_right_checksum(text, tmp_path):
    line = text + b',"crc":"%08x"}' % zlib.crc32(text)
    with pytest.raises(BadLineError):
        RecordDecoder().decode(unseal(line))
    path = tmp_path / "bad.jsonl"
    path.write_bytes(line + b"\n")
    assert JsonlRecordStore(path).bad_lines == 1


def test_d27_later_formats_are_counted_apart(samples, tmp_path):
    data = record_json(samples.record(1))
    for changed in ({"version": 2}, {"kind": "poem"}):
        with pytest.raises(OtherVersionError):
            RecordDecoder().decode({**data, **changed})
    path = tmp_path / "later.jsonl"
    path.write_bytes(seal({**data, "version": 2}))
    store = JsonlRecordStore(path)
    assert (store.other_versions, store.bad_lines) == (1, 0)


@pytest.mark.parametrize("member", [b'"key":"00"', b'"kind":"poem"', b'"target":"toy:threads=9"'])
def test_d27_a_member_said_twice_means_the_same_to_every_reader(samples, tmp_path, member):
    """JSON takes the last one; a store that has seen such a beginning before must take it too."""
    good = seal(record_json(samples.record(2)))
    body = good.partition(b',"crc"')[0] + b"," + member
    path = tmp_path / "twice.jsonl"
    path.write_bytes(good + b'%b,"crc":"%08x"}\n' % (body, zlib.crc32(body)))
    found = [line for _, line in JsonlReader().read(path)]
    records = [line for line in found if isinstance(line, Record)]
    store = JsonlRecordStore(path)
    assert list(store.records()) == records
    assert [task.key for task in store.tasks()] == [record.task.key for record in records]
    assert len(found) - len(records) == store.bad_lines + store.other_versions


def test_d27_the_deepest_line_that_is_read_can_be_used_and_a_deeper_one_is_bad(samples, tmp_path):
    def nested(depth):
        value = 1
        for _ in range(depth):
            value = [value]
        return value

    path = tmp_path / "deep.jsonl"
    data = record_json(samples.record(1))
    found = []
    for depth in (1, 29, 30, 31, 32, 100, 900, 50_000):
        text = json.dumps({**data, "config": {"tile": "X"}}, separators=(",", ":"))
        deep = text.replace('"X"', "[" * depth + "1" + "]" * depth).encode()[:-1]
        path.write_bytes(b'%b,"crc":"%08x"}\n' % (deep, zlib.crc32(deep)))
        store = JsonlRecordStore(path)
        assert len(store.records()) + store.bad_lines == 1
        found.append(len(store.records()))
        for record in store.records():
            assert record.config.text
            assert record_json(JsonlRecordStore(path).records()[0]) == record_json(record)
    assert found == sorted(found, reverse=True)
    assert found[1] == 1
    assert found[-3:] == [0, 0, 0]
