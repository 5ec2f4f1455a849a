"""`records import`: what becomes of every line of another system's log is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilewright_cli.terminal.group import run
from tilewright_records.store.store import JsonlRecordStore

pytestmark = pytest.mark.needs("cli", "pipeline", "tensor", "x86")

X86 = Path(__file__).parents[1] / "x86" / "data"
ARM = (
    '{"input": ["llvm -device=arm_cpu", "group_conv2d_nchw.arm_cpu", [], {}],'
    ' "config": {"entity": []}, "result": [[0.1], 0, 1, 1]}'
)


@pytest.fixture
def imported(tmp_path, monkeypatch, capsys):
    """A function that imports lines and gives the exit code, the standard output and error."""
    monkeypatch.chdir(tmp_path)

    def imported(text, *flags):
        Path("foreign.log").write_text(text)
        target = "x86:isa=avx2,threads=1"
        code = run(["records", "import", "foreign.log", "--target", target, *flags])
        return code, *capsys.readouterr()

    return imported


def test_every_line_has_a_fate_and_records_are_appended_once(imported):
    *head, good = (X86 / "tophub-llvm_v0.04.log").read_text().splitlines()[:6]
    failed = (X86 / "autotvm-v0.2-mobilenetv2.jsonl").read_text()
    log = "\n".join([*head, good, failed.strip(), ARM, good[:90]])
    code, out, _ = imported(log, "--json")
    told = json.loads(out)
    assert (code, told["format"], told["added"]) == (0, "autotvm", 5)
    fates = [(one["line"], one["fate"]) for one in told["lines"]]
    assert fates == [
        *((number, "first proposal") for number in range(3, 7)),
        (7, "failed where it was measured"), (8, "not known here"), (9, "broken"),
    ]  # fmt: skip
    assert told["lines"][0]["configs"][0]["strategy"] == "conv2d_direct.x86"
    _, out, _ = imported(log)
    assert "4 of 7 lines are first proposals" in out
    assert "0 records added to runs/tune/records.jsonl" in out
    assert "broken: no JSON" in out
    assert len(JsonlRecordStore(Path("runs/tune/records.jsonl")).records()) == 5
    _, out, _ = imported(log, "--lines")
    assert "3: first proposal: conv2d_direct.x86\n  conv2d_direct.x86 {" in out


def test_a_dry_run_appends_nothing(imported, tmp_path):
    assert "nothing appended" in imported(ARM, "--dry-run")[1]
    assert [path.name for path in tmp_path.iterdir()] == ["foreign.log"]


def test_a_file_of_no_known_format_and_one_of_ours_are_refused(imported, samples):
    code, _, err = imported("op,seconds\nconv2d,0.1\n")
    assert code == 2
    assert "foreign.log: no line at its beginning is of a format known here" in err
    assert "ansor, autotvm, jsonl, kernel-tuner, metaschedule" in err
    JsonlRecordStore(Path("own.jsonl")).append([samples.record(1)])
    code, _, err = imported(Path("own.jsonl").read_text())
    assert code == 2
    assert "tilewright records merge" in err


def test_a_line_of_another_system_among_our_records_is_called_that(tmp_path, samples, capsys):
    path = tmp_path / "records.jsonl"
    JsonlRecordStore(path).append([samples.record(1)])
    with path.open("a") as file:
        file.write((X86 / "ansor-v0.5-mobilenetv2.jsonl").read_text())
    assert run(["records", "verify", str(path)]) == 1
    assert ":2: a line of ansor, not of ours: keep it in a file" in capsys.readouterr().out
