"""Errors that a user can fix, as opposed to bugs and to candidates that fail."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tilewright.terminal_text import printable

_LINE_BREAKS = re.compile(r"\s*[\r\n]\s*")
_SHOWN = 60


class _Blame(str):
    """A note that names the component and plugin that raised an error."""

    __slots__ = ()


def blame(error: Exception, whose: str) -> None:
    """Note the innermost component that raised it; its callers only passed it on."""
    if not any(isinstance(note, _Blame) for note in getattr(error, "__notes__", ())):
        error.add_note(_Blame(whose))


class UsageError(Exception):
    """A mistake in what the user asked for; printed without a traceback, exit code 2.

    `where` names the place (`file.yaml:7:5`, an option, a node), the message says what was expected
    and got, `remedy` what to do; each is one line that a terminal can show, whatever the names in
    it. `also` are further mistakes, told behind this one. Candidate failures are values
    (`Failure`), never exceptions; anything else is a bug and keeps its traceback.
    """

    def __init__(
        self, message: str, *, where: str = "", remedy: str = "", also: Sequence[UsageError] = ()
    ) -> None:
        self.message = _one_line(message)
        self.where = _one_line(where)
        self.remedy = _one_line(remedy)
        self.also = tuple(also)
        super().__init__(message)

    @classmethod
    def several(cls, mistakes: Sequence[UsageError]) -> UsageError:
        """All of them as one, in order; at least one."""
        first, *others = mistakes
        also = (*first.also, *others)
        return cls(first.message, where=first.where, remedy=first.remedy, also=also)

    def __str__(self) -> str:
        head = f"{self.where}: {self.message}" if self.where else self.message
        own = f"{head}\n  {self.remedy}" if self.remedy else head
        return "\n".join((own, *map(str, self.also)))

    def within(self, place: str) -> UsageError:
        """The same error, its place inside of this one."""
        where = ": ".join(filter(None, (place, self.where)))
        return UsageError(self.message, where=where, remedy=self.remedy, also=self.also)

    def placed(self, where: str) -> UsageError:
        """The same error, at this place where it names none."""
        place = self.where or where
        return UsageError(self.message, where=place, remedy=self.remedy, also=self.also)

    @property
    def each(self) -> tuple[UsageError, ...]:
        """The single mistakes, each without `also`."""
        own = UsageError(self.message, where=self.where, remedy=self.remedy)
        return (own, *(one for error in self.also for one in error.each))


def raise_all(errors: Sequence[UsageError]) -> None:
    """Raise them as one, nothing where there is none."""
    if errors:
        raise UsageError.several(errors)


def _one_line(text: str) -> str:
    return printable(_LINE_BREAKS.sub(" ", text))


def shown(value: object) -> str:
    """A value in a message: as Python writes it, at most 60 characters."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def did_you_mean(name: str, known: list[str], none: str = "there are none") -> str:
    """`did you mean 'xgb'?` for the nearest of the known names, or the list of them.

    `none` is said where no name is known.
    """
    near = nearest(name, known)
    listed = f"known: {', '.join(sorted(set(known)))}" if known else none
    return f"did you mean '{near}'? {listed}" if near else listed


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The known name that is most like another, None where none is; case does not count."""
    from difflib import get_close_matches

    spelt = {one.lower(): one for one in known}
    found = get_close_matches(name.lower(), list(spelt), n=1, cutoff=0.5)
    return spelt[found[0]] if found else None
