"""`tilewright records ls`, `best` and `compact`."""

from __future__ import annotations

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.vocabulary.record import BudgetRecord, Charge, GraphRecord
from tilewright_records.encoding import record_json
from tilewright_records.line import seal
from tilewright_records.readers import JsonlReader
from tilewright_records.store.compact import compact_log
from tilewright_records.store.store import JsonlRecordStore

PARTS = ("--runner", "toy", "--builder", "toy", "--scheduler", "toy", "--tuner", "toy")
LOG = "runs/tune/records.jsonl"


@pytest.fixture
def tuned(call):
    """A log of two tasks, one of them on two devices."""
    for task, *flags in (
        ("toyadd(8)",),
        ("toyadd(16)",),
        ("toyadd(8)", "--device", "toy1", "--records", "toy1.jsonl"),
    ):
        call("tune", task, "--target", "toynative", *PARTS, "--budget", "20", *flags)
    call("records", "merge", "toy1.jsonl", "--into", LOG)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log.jsonl"


@pytest.mark.usefixtures("tuned")
def test_best_gives_the_fastest_config_of_each_task_and_device(call):
    found = json.loads(call("records", "best", LOG, "--json")[1])["records"]
    assert [(row["text"], row["device"]) for row in found] == [
        ("toyadd(8)", "toy0"),
        ("toyadd(8)", "toy1"),
        ("toyadd(16)", "toy0"),
    ]
    store = JsonlRecordStore(LOG)
    assert found[0]["seconds"] == min(
        record.seconds
        for record in store.records(f"{found[0]['key']}@toy:threads=1")
        if record.device == "toy0"
    )


@pytest.mark.usefixtures("tuned")
def test_ls_and_best_name_the_same_times(call):
    listed = json.loads(call("records", "ls", LOG, "--json")[1])["records"]
    best = json.loads(call("records", "best", LOG, "--json")[1])["records"]
    assert sorted(row["best_seconds"] for row in listed) == sorted(row["seconds"] for row in best)


def write_luck(samples, log):
    for number, seconds, turns in ((1, 1e-3, 1), (2, 2e-3, 1), (1, 4e-3, 3)):
        record = samples.record(number, (seconds,), turns=turns, strategy="toy.loop")
        JsonlRecordStore(log).append([record])


def test_a_lucky_time_that_did_not_last_is_not_the_best(call, samples, log):
    """Nor is a short time that it had beaten before."""
    write_luck(samples, log)
    (row,) = json.loads(call("records", "ls", str(log), "--json")[1])["records"]
    assert row["best_seconds"] == 4e-3


def test_best_says_that_a_config_stands_behind_a_finalist_in_spite_of_its_time(call, samples, log):
    write_luck(samples, log)
    _, out, _ = call("records", "best", str(log), "--count", "2")
    first, second = out.splitlines()[::2]
    assert first.startswith("4.000 ms  dense")
    assert second.startswith("2.000 ms, ranked as 8.000 ms  dense")
    found = json.loads(call("records", "best", str(log), "--count", "2", "--json")[1])["records"]
    assert [(row["seconds"], row["ranked_seconds"]) for row in found] == [(4e-3,) * 2, (2e-3, 8e-3)]


def test_devices_of_one_name_are_told_apart(call, samples, log):
    for device in (samples.here, samples.elsewhere):
        JsonlRecordStore(log).append([samples.record(1, device=device, strategy="toy.loop")])
        for verb in ("ls", "best"):
            alike = device is samples.elsewhere
            assert (f"cpu {device.fingerprint}" in call("records", verb, str(log))[1]) == alike


def test_devices_of_one_kind_keep_their_names(call, samples, log):
    records = [samples.record(n, strategy="toy.loop") for n in range(2)]
    records = [replace(one, device=f"cpu@{n}") for n, one in enumerate(records)]
    JsonlRecordStore(log).append(records)
    out = call("records", "ls", str(log))[1]
    assert " cpu@0 " in out
    assert " cpu@1 " in out


def test_ls_names_no_time_by_a_strategy_that_is_not_here(call, samples, log):
    JsonlRecordStore(log).append([samples.record(1), samples.record(2, failure="crash")])
    assert call("records", "ls", str(log))[1].endswith("1 failed  no time that counts\n")


@pytest.mark.needs("x86")  # a text without a target means `native`
@pytest.mark.usefixtures("tuned")
def test_best_takes_a_task_and_a_count(call):
    for name in ("toyadd(16)", JsonlRecordStore(LOG).tasks()[-1].key):
        found = json.loads(call("records", "best", LOG, name, "--count", "3", "--json")[1])
        assert [row["text"] for row in found["records"]] == ["toyadd(16)"] * 3
        times = [row["seconds"] for row in found["records"]]
        assert times == sorted(times)
    key = JsonlRecordStore(LOG).tasks()[-1].workload.key
    found = [call("records", "best", LOG, f"{key}@toy:threads={n}", "--json")[1] for n in (1, 2)]
    assert [len(json.loads(each)["records"]) for each in found] == [1, 0]
    _, out, _ = call("records", "best", LOG, "toyadd(16)")
    assert "toyadd(16) on toy:threads=1, toy0, cold\n  toy.loop {" in out
    code, out, err = call("records", "best", LOG, "toyadd(17)")
    assert (code, out) == (0, "")
    assert err == "no record of toyadd(17); `tilewright records ls` lists those that there are\n"


def test_a_task_where_the_file_belongs_is_told(call):
    for arguments in (("best", "toyadd(16)", LOG), ("ls", "0123456789abcdef"), ("best", "x.jsonl")):
        code, out, err = call("records", *arguments)
        assert (code, out) == (2, "")
        assert ("got a task\n  the file comes first" in err) == (arguments[1] != "x.jsonl")


@pytest.mark.needs("x86")
def test_a_task_may_be_longer_than_any_file_name(call):
    task = "toyadd(16)" + " + toyrelu()" * 30
    for verb in ("best", "ls"):
        code, _, err = call("records", verb, task)
        assert (code, "Traceback" in err) == (2, False)


def test_where_no_file_is_named_it_is_that_of_tune(call):
    code, _, err = call("records", "ls")
    assert (code, "runs/tune/records.jsonl: no such records file" in err) == (2, True)
    call("tune", "toyadd(8)", "--target", "toynative", *PARTS, "--budget", "20")
    file = "runs/tune/records.jsonl"
    ((key, workload),) = ((t.key, t.workload) for t in JsonlRecordStore(file).tasks())
    for verb in ("ls", "best", "verify"):
        assert call("records", verb, "--json") == call("records", verb, file, "--json")
    Path("task.json").write_text(json.dumps(workload.to_json()))
    shutil.copy(file, "records.json")
    asked = ((key,), ("task.json",), ("records.json",), (file, key))
    first, *others = (call("records", "best", *named, "--json") for named in asked)
    assert others == [first] * 3
    assert call("space", key)[1].startswith(f"{key}: 128 configs")
    assert "lines left" in call("records", "compact", plugin=False)[1]


@pytest.mark.usefixtures("tuned")
def test_best_leaves_out_other_revisions_and_says_so(call, monkeypatch):
    monkeypatch.setenv("TOY_REVISION", "2")
    code, out, err = call("records", "best", LOG)
    assert (code, out) == (0, "")
    count = len(JsonlRecordStore(LOG).records())
    assert f"{count} records of another revision of 'toy.loop' left out" in err
    _, out, err = call("records", "best", LOG, plugin=False)
    told = f"no record has a time that counts\n{count} records of strategies not installed here left out\n"
    assert (out, err) == ("", told)


@pytest.mark.usefixtures("tuned")
def test_compacted_it_answers_as_before(call, tmp_path):
    before = json.loads(call("records", "best", LOG, "--count", "99", "--json")[1])
    budgets = (tmp_path / LOG).read_bytes().count(b'"kind":"budget"')
    call("records", "merge", LOG, "--into", "copy.jsonl")
    code, out, _ = call("records", "compact", LOG, "--json", plugin=False)
    told = json.loads(out)
    assert code == 0
    assert told["bytes_after"] == (tmp_path / LOG).stat().st_size <= told["bytes_before"]
    assert json.loads(call("records", "best", LOG, "--count", "99", "--json")[1]) == before
    assert (tmp_path / LOG).read_bytes().count(b'"kind":"budget"') == budgets
    _, out, _ = call("tune", "toyadd(8)", "--target", "toynative", *PARTS, "--budget", "20")
    assert "Nothing was measured" in out


def test_a_tuner_that_resumes_on_a_compacted_file_knows_each_config_once(samples, log):
    """By its last measurement; what the machinery spoiled it did not learn from before either."""
    store = JsonlRecordStore(log)
    again, spoiled = samples.record(1, (4e-3,) * 3), samples.record(3, failure="device_lost")
    store.append([samples.record(1), samples.record(2), spoiled, again])
    compact_log(log)
    known = JsonlRecordStore(log).trials(samples.here.fingerprint, {"plain": 1})
    assert known == [samples.record(2).trial, again.trial]


def test_a_file_without_a_trial_says_so(call, samples, log):
    spent = BudgetRecord(
        "s", "cpu", samples.here.fingerprint, finished=False, seconds=2.0, trials=0
    )
    JsonlRecordStore(log).append([spent])
    assert call("records", "ls", str(log)) == (0, "", "no trial in it\n")


def test_lines_of_a_later_format_are_told_and_are_not_bad(call, samples, log):
    store = JsonlRecordStore(log)
    store.append([samples.record(1)])
    log.write_bytes(log.read_bytes() + seal({**record_json(samples.record(2)), "version": 2}))
    assert json.loads(call("records", "ls", str(log), "--json")[1])["bad_lines"] == 0
    told = "1 trial, 0 bad lines, 1 of a later format\n"
    assert call("records", "verify", str(log)) == (0, told, "")
    _, _, err = call("records", "merge", str(log), "--into", "all.jsonl")
    assert err == "1 lines left behind; `tilewright records verify` says why\n"


def test_what_nobody_asks_for_goes_and_is_counted(samples, log):
    store = JsonlRecordStore(log)
    node = GraphRecord("n", samples.task, samples.config(1), "cpu", samples.here.fingerprint, 1)
    spent = BudgetRecord(
        "s", "cpu", samples.here.fingerprint, finished=False, seconds=2.0, trials=3
    )
    first, second = samples.record(1, (3e-3,) * 3), samples.record(1, (4e-3,) * 3)
    lost = samples.record(1, failure="device_lost")
    other = samples.record(2, failure="crash")
    store.append([first, node, spent, second, lost, other, node, replace(spent, finished=True)])
    with log.open("ab") as file:
        file.write(b'{"version":1,"torn')
    done = compact_log(log)
    assert done.lost == {
        "trials measured again later": 1,
        "trials spoiled by the machinery": 1,
        "choices made anew later": 1,
        "budgets added up": 1,
        "bad lines": 1,
    }
    fresh = JsonlRecordStore(log)
    assert [record.seconds for record in fresh.records()] == [4e-3, None]
    assert fresh.spent("s", samples.here) == store.spent("s", samples.here) == (True, 4.0, 6)
    assert fresh.graph_choices(samples.here.fingerprint, {"plain": 1}).keys() == {"n"}
    assert compact_log(log).lost == {}


def test_what_a_stage_spent_keeps_its_place_behind_a_trial_measured_again(samples, log):
    store = JsonlRecordStore(log)
    early = replace(samples.record(1), charge=Charge("s", 1.0, 1), device="cpu@early")
    spent = BudgetRecord("s", "cpu", samples.here.fingerprint, finished=True, seconds=2.0, trials=3)
    store.append([early, samples.record(1), spent])
    compact_log(log)
    (kept,) = (one for one in JsonlReader().read(log) if isinstance(one[1], BudgetRecord))
    assert kept[1] == replace(spent, seconds=3.0, trials=4, sequence=2)


def test_a_link_to_a_file_stays_a_link(samples, log):
    JsonlRecordStore(log).append([samples.record(1), samples.record(1)])
    link = log.with_name("link.jsonl")
    link.symlink_to(log)
    assert compact_log(link).lines == 1
    assert link.is_symlink()
    assert len(JsonlRecordStore(log).records()) == 1


def test_lines_of_a_later_format_stay_as_they_are(samples, log):
    JsonlRecordStore(log).append([samples.record(1)])
    later = seal({"version": 99, "kind": "trial", "sequence": 7})
    with log.open("ab") as file:
        file.write(later)
    compact_log(log)
    assert later in log.read_bytes()


def test_what_is_no_records_file_is_left_alone(call, tmp_path):
    (tmp_path / "text.md").write_text("# a text\n")
    code, _, err = call("records", "compact", "text.md", plugin=False)
    assert code == 2
    assert "no line of it is a record" in err
    assert (tmp_path / "text.md").read_text() == "# a text\n"


def test_a_crash_while_it_is_written_leaves_the_file_as_it_was(samples, log, monkeypatch):
    JsonlRecordStore(log).append([samples.record(1), samples.record(1)])
    before = log.read_bytes()

    def fail(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(Exception, match="No space left"):
        compact_log(log)
    assert log.read_bytes() == before
    assert [path.name for path in log.parent.iterdir()] == [log.name]


def test_nothing_is_lost_of_what_others_append_meanwhile(samples, log):
    def write(number):
        # The lock belongs to the open file, not to the process: a store of its own is a stranger.
        store = JsonlRecordStore(log)
        for _ in range(15):
            store.append([samples.record(number)])

    JsonlRecordStore(log).append([samples.record(0)])
    with ThreadPoolExecutor() as pool:
        writers = [pool.submit(write, number) for number in (1, 2, 3)]
        while not all(writer.done() for writer in writers):
            compact_log(log)
        assert [writer.result() for writer in writers] == [None] * 3
    compact_log(log)
    store = JsonlRecordStore(log)
    assert store.bad_lines == 0
    # The last of each of them survives, and 46 sequence numbers were given.
    assert {record.config for record in store.records()} == {samples.config(n) for n in range(4)}
    assert max(record.sequence for record in store.records()) == 45


def test_what_a_killed_compaction_left_is_gone_after_the_next(samples, log):
    JsonlRecordStore(log).append([samples.record(n % 3, (1e-3 * n,)) for n in range(1, 9)])
    before = log.read_bytes()
    child = os.fork()
    if not child:
        os.fsync = lambda _: os._exit(9)  # before the new file takes the name
        try:
            compact_log(log)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert len(list(log.parent.iterdir())) == 2
    assert log.read_bytes() == before
    compact_log(log)
    assert list(log.parent.iterdir()) == [log]
    assert len(JsonlRecordStore(log).records()) == 3


@pytest.mark.parametrize("content", [bytes(range(256)) * 40, b"# A page\n\nof text\n"])
@pytest.mark.parametrize("verb", ["ls", "verify", "merge"])
def test_a_file_of_something_else_is_said_to_be_no_records_file(call, tmp_path, verb, content):
    model = tmp_path / "model.onnx"
    model.write_bytes(content)
    into = ["--into", "into.jsonl"] if verb == "merge" else []
    code, out, err = call("records", verb, str(model), *into)
    assert (code, out) == (2, "")
    assert "model.onnx: no line of it is a record" in err
    assert not Path("into.jsonl").exists()
