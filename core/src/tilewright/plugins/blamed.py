"""A component in use: its errors name it, its plugin, and its source."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import wraps
from typing import Any

from tilewright.plugins.component_host import ComponentHost


class Blamed:
    """A component's instance; each call of a method runs under `ComponentHost.blaming`.

    >>> tuner = Blamed(host.choose("tuner", choice, context), host, "tuner", choice.name)
    >>> with tuner.blaming():  # so does an answer that no tuner may give
    ...     check(tuner.propose(8))
    """

    def __init__(self, instance: Any, host: ComponentHost, role: str, name: str) -> None:
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
        """Errors raised inside are reported as the component's."""
        return self._host.blaming(self._role, self._name)
