"""What ends a run at once: trials in a row that find no device, or no worker that starts."""

from __future__ import annotations

import sys

import pytest

from tilewright.vocabulary.measure import Failure, FailureKind
from tilewright_pipeline.measuring.losses import Losses


def after(*failures, others=False):
    """Of a device, after trials that failed so."""
    losses = Losses("cpu", lambda: others)
    for each in failures:
        losses.note(each)
    return losses


LOST = Failure(FailureKind.DEVICE_LOST, "gone")
KILLED = Failure(FailureKind.INTERNAL, "ended by SIGKILL", "SIGKILL")
OTHER = Failure(FailureKind.INTERNAL, "the task's inputs do not fit into memory_gib=1")


@pytest.mark.parametrize(
    ("failure", "reason"),
    [(LOST, "device_lost"), (KILLED, "workers_lost")],
    ids=["lost", "killed"],
)
def test_three_losses_in_a_row_end_a_run_and_say_why(failure, reason):
    assert not after(failure, failure, None, failure).ends
    losses = after(failure, failure, failure)
    assert (losses.ends, losses.reason) == (True, reason)
    assert not after(*[failure] * 9, others=True).ends


def test_what_one_task_lacks_is_no_loss():
    assert not after(*[OTHER] * 9).ends


@pytest.fixture(params=["has no folder", "ends as it starts"])
def no_worker(request, monkeypatch, tmp_path):
    """no_worker(): from now on none starts."""
    from tilewright_measure.worker.scratch import Scratch

    folder, program = Scratch.folder, tmp_path / "program"
    program.write_text(
        f"#!{sys.executable}\nimport os, sys\nos.read(int(sys.argv[5]), 1)\nsys.exit(3)\n"
    )
    program.chmod(0o700)

    def full(scratch, prefix):
        if prefix == "worker-":
            raise OSError(28, "No space left on device")
        return folder(scratch, prefix)

    def act():
        if request.param == "has no folder":
            monkeypatch.setattr(Scratch, "folder", full)
        else:
            monkeypatch.setattr(sys, "executable", str(program))

    return act


@pytest.mark.needs("measure")
def test_no_worker_that_starts_is_a_loss_in_builder_and_runner(make_bench, no_worker, caplog):
    asked = make_bench().ask()
    builds = make_bench().builder.build([asked])
    no_worker()
    bench = make_bench()
    (unbuilt,) = bench.builder.build([asked])
    (future,) = bench.runner.run([asked], builds)
    for failure in (unbuilt.failure, future.result(120).failure):
        losses = after(failure, failure, failure)
        assert failure.kind.retried
        assert (losses.ends, losses.reason) == (True, "workers_lost")
        assert "nothing can be measured, tuning ends: no worker process can start" in caplog.text
        caplog.clear()
