"""Errors that a user can mend, as opposed to bugs and to candidates that fail."""

from __future__ import annotations


class UsageError(Exception):
    """A mistake in what the user asked for; printed without a traceback, exit code 2.

    `where` names the place (`file.yaml:7:5`, an option, a node), the message says what was expected
    and got, `remedy` what to do. Candidate failures are values (`Failure`), never exceptions;
    anything else is a bug and keeps its traceback.
    """

    def __init__(self, message: str, *, where: str = "", remedy: str = "") -> None:
        self.message = message
        self.where = where
        self.remedy = remedy
        head = f"{where}: {message}" if where else message
        super().__init__(f"{head}\n  {remedy}" if remedy else head)

    def placed(self, where: str) -> UsageError:
        """The same error, at this place where it names none."""
        return UsageError(self.message, where=self.where or where, remedy=self.remedy)


def did_you_mean(name: str, known: list[str]) -> str:
    """`did you mean 'xgb'?` for the nearest of the known names, or the list of them."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1, cutoff=0.5)
    listed = f"known: {', '.join(sorted(set(known)))}" if known else "none is installed"
    return f"did you mean '{near[0]}'? {listed}" if near else listed
