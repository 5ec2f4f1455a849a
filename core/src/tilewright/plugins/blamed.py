"""A component in use: what it does wrong bears its name, its plugin, and where it is written."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import wraps
from typing import Any

from tilewright.plugins.host import PluginHost


class Blamed:
    """A component's instance, every call of whose methods is made under `PluginHost.blaming`.

    >>> tuner = Blamed(host.choose("tuner", choice, context), host, "tuner", choice.name)
    >>> with tuner.blaming():  # an answer that no tuner may give is told likewise
    ...     check(tuner.propose(8))
    """

    def __init__(self, instance: Any, host: PluginHost, role: str, name: str) -> None:
        self._instance, self._host, self._role, self._name = instance, host, role, name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(self._instance, attribute)
        if not callable(value):
            return value

        @wraps(value)
        def called(*arguments: Any, **named: Any) -> Any:
            with self.blaming():
                return value(*arguments, **named)

        return called

    def __str__(self) -> str:
        return type(self._instance).__name__

    def blaming(self) -> AbstractContextManager[None]:
        """What is raised inside is the component's mistake."""
        return self._host.blaming(self._role, self._name)
