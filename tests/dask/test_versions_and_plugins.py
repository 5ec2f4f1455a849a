"""Workers have what the run has: plugins of equal versions, and files that they accept."""

from __future__ import annotations

import pytest
from fault_bench import FAULTS
from fleet_bench import until

from tilewright.errors import UsageError


def test_a_worker_of_another_version_is_refused(fleet, drive, other_version):
    fleet.scheduler()
    fleet.worker(environment=other_version)
    with pytest.raises(
        UsageError, match=r"its worker has tilewright-measure 9.0, here "
    ) as refused:
        drive()
    assert refused.value.where.startswith("fake@127.0.0.1:")


def test_one_of_another_version_that_comes_late_is_left_out(fleet, drive, other_version, caplog):
    fleet.scheduler()
    fleet.worker()
    bench = drive()
    fleet.worker(environment=other_version)
    until(lambda: "left out: fake@" in caplog.text, "warning")
    assert bench.runner.batches_at_once == 2


def test_a_plugin_file_goes_only_to_who_accepts_it(fleet, drive, tmp_path):
    changed = tmp_path / FAULTS.name
    changed.write_text(FAULTS.read_text() + "\n# changed\n")
    fleet.scheduler()
    refusing = fleet.worker()
    with pytest.raises(UsageError, match=r"takes no plugin files, and the run has fault_target.py"):
        drive(files=(changed,))
    refusing.end()
    fleet.worker("--accept-plugins")
    assert drive(files=(changed,)).measure().seconds == 1e-3


def test_a_file_that_does_not_import_there_is_told(fleet, drive, tmp_path):
    extra = tmp_path / "extra.py"
    extra.write_text("import os\nassert 'FAR_AWAY' not in os.environ, 'no such library'\n")
    fleet.scheduler()
    fleet.worker("--accept-plugins", environment={"FAR_AWAY": "1"})
    with pytest.raises(UsageError, match=r"does not import: AssertionError: no such library"):
        drive(files=(FAULTS, extra))
