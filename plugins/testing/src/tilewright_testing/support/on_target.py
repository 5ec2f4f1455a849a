"""What the suites of targets and strategies start from."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright_testing.support.hosted import HostedContract


class OnTarget(HostedContract):
    """A target, a device of it, and tasks to run there.

    target        text of the target; skipped where this machine has no device of its kind
    tasks         text forms of tasks, odd sizes among them
    device_name   the device to take where there are several; the first where it is left out
    """

    target: str
    tasks: Sequence[str]
    device_name: str = ""

    @pytest.fixture
    def resolved(self, host: PluginHost) -> Target:
        return host.resolve_target(self.target)

    @pytest.fixture
    def device(self, host: PluginHost, resolved: Target) -> Device:
        devices = host.backend(resolved.kind).probe()
        found = [d for d in devices if self.device_name in ("", d.name)]
        if not found:
            pytest.skip(f"no device {self.device_name} for {self.target} on this machine")
        return found[0]
