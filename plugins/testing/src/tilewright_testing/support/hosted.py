"""What every suite starts from: the plugins that are installed, and files that are not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tilewright.host.plugin_host import PluginHost


class HostedContract:
    """The plugins that a suite sees.

    plugin_files   files that are plugins and are not installed, from the folder of the test's file
    precision      the lowest that strategies may compute products of float32 in
    """

    plugin_files: Sequence[str | Path] = ()
    precision = "float32"

    @pytest.fixture
    def host(self, request: pytest.FixtureRequest) -> PluginHost:
        host = PluginHost.load([request.path.parent / file for file in self._files()])
        return host.at_precision(self.precision)

    def _files(self) -> Sequence[str | Path]:
        """Also those that a suite brings itself."""
        return self.plugin_files
