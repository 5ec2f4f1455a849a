"""The error of a compiler that refuses a text."""

from __future__ import annotations


class CompileError(RuntimeError):
    """The compiler's log, after its name."""

    def __init__(self, log: str, compiler: str) -> None:
        super().__init__(f"{compiler}: {log}")
        self.log = log
