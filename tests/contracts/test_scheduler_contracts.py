"""The scheduler suite over every scheduler that this repository ships, and over the third party's."""

from __future__ import annotations

import pytest

from tilewright.host import PluginHost
from tilewright.testing.scheduler import TaskSchedulerContract


class TestRoundRobin(TaskSchedulerContract):
    name = "round-robin"


class TestGradient(TaskSchedulerContract):
    name = "gradient"


class TestAcmeCostliest(TaskSchedulerContract):
    name = "acme-costliest"

    @pytest.fixture(autouse=True)
    def installed(self) -> None:
        pytest.importorskip("tilewright_acme", reason="install tests/acme_plugin")


def test_every_installed_scheduler_has_a_suite() -> None:
    tested = {value.name for value in globals().values() if hasattr(value, "name")}
    assert set(PluginHost.load().components("scheduler")) <= tested
