from __future__ import annotations

import pytest

from tilewright.host.plugin_host import PluginHost


@pytest.fixture(scope="session")
def host():
    """The installed plugins, without the toy."""
    return PluginHost.load()
