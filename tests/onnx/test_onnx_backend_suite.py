"""The onnx package's own cases for backends: each is right or refused, and no fewer are right."""

from __future__ import annotations

from pathlib import Path

import backend_suite
import pytest

REMEDY = "python tests/onnx/backend_suite.py --write"


def check(verdicts: list[backend_suite.Verdict]) -> None:
    """Each is right or refused, and those are right that were."""
    assert not [one for one in verdicts if one.kind not in ("right", "refused")]
    was_right = set(backend_suite.RIGHT.read_text().split())
    assert not [one for one in verdicts if one.kind == "refused" and one.case in was_right]


@pytest.mark.needs("x86")
def test_every_tenth_case_is_right_or_refused() -> None:
    check(list(backend_suite.judged(list(backend_suite.cases())[::10])))


@pytest.mark.full
@pytest.mark.needs("x86")
def test_every_case_is_right_or_refused_as_the_readme_says() -> None:
    verdicts = list(backend_suite.judged(backend_suite.cases()))
    check(verdicts)
    right = {one.case for one in verdicts if one.kind == "right"}
    assert right == set(backend_suite.RIGHT.read_text().split()), REMEDY
    (written,) = backend_suite.TABLE.findall(backend_suite.README.read_text())
    assert written == backend_suite.table(verdicts), REMEDY


def test_a_process_that_dies_costs_one_case(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of a worker that is killed by every case whose name begins so."""
    worker = tmp_path / "worker.py"
    worker.write_text(
        "import json, os, signal, sys\n"
        "for name in sys.stdin.read().split():\n"
        "    if name.startswith('test_relu'):\n"
        "        os.kill(os.getpid(), signal.SIGSEGV)\n"
        "    print(json.dumps({'case': name, 'operator': 'X', 'kind': 'right'}), flush=True)\n"
    )
    monkeypatch.setattr(backend_suite, "__file__", str(worker))
    found = backend_suite.judged(["test_abs", "test_relu", "test_exp"])
    assert [(one.case, one.kind) for one in found] == [
        ("test_abs", "right"), ("test_relu", "died"), ("test_exp", "right"),
    ]  # fmt: skip
