"""What every suite of a component starts from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tilewright.host.plugin_host import PluginHost
from tilewright_testing.support.hosted import HostedContract


class ComponentContract(HostedContract):
    """A component that a subclass names; the suites of its role inherit this.

    role      what the host calls the role; a suite says it
    name      what a pipeline file says
    options   what a pipeline file would say of it, where it says anything

    `plugin_files` are those that the component is in, where it is not installed.
    """

    role: ClassVar[str]
    name: str
    options: Mapping[str, Any] = {}

    def made(self, host: PluginHost, context: Any) -> Any:
        """A fresh instance; `context` is what the role's factories are called with."""
        return host.make(self.role, self.name, self.options, context)
