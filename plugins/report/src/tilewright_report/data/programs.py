"""The program and the code of a kernel, generated anew from its config."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.errors import UsageError
from tilewright.roles import ShowsCode
from tilewright.vocabulary.config import ConfigEntity
from tilewright_report.data.records import TunedTask

_MOST = 40_000
"""Characters of a text; fully unrolled kernels have millions."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Texts of one kernel, each cut where it is long; empty where there is none, then `lacks`."""

    loops: str = ""
    code: str = ""
    lacks: str = ""


def programs_of(tuned: TunedTask, config: ConfigEntity) -> Programs:
    """What the installed strategies make of a config, which may be another than was measured."""
    host = tuned.history.host
    try:
        program = host.lower(tuned.task, config)
        backend = host.backend(tuned.task.target.kind)
        code = ""
        if isinstance(backend, ShowsCode):
            code = backend.code_text(program, tuned.task.target)
    except (UsageError, ValueError, KeyError, TypeError) as error:
        # A config of another revision, or written by hand, is none that the strategy knows.
        return Programs(lacks=f"not generated: {error}")
    loops = str(program)
    return Programs(_cut(loops) if "\n" in loops else "", _cut(code))


def _cut(text: str) -> str:
    if len(text) <= _MOST:
        return text
    end = text.rfind("\n", 0, _MOST)
    left_out = text.count("\n", end + 1) + 1
    return f"{text[: end if end > 0 else _MOST]}\n... {left_out:,} more lines"
