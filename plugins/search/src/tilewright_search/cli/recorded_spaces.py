"""Finds recorded spaces by what a user says of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.errors import UsageError, did_you_mean
from tilewright_cli.terminal.entry_point_choices import entry_point_choices

if TYPE_CHECKING:
    from tilewright_records.spaces.recorded_space import RecordedSpace

GROUP = "tilewright.recordings"
"""Entry points whose values are folders of a distribution with recorded spaces."""

_SPACE = ".space.json"
_NONE = "pip install 'tilewright[bench]' brings some, or name files that `bench record` wrote"


def recorded_spaces(text: str | None) -> list[RecordedSpace]:
    """The spaces of a list with commas between: files, folders, names or globs of installed ones.

    All installed ones without a text. A file is one of ours, of Kernel Tuner's, of BAT's or in
    format T4.

    Raises UsageError where something is not found or cannot be read, and for two of one name.
    """
    spaces = list(map(_read, dict.fromkeys(_all_files(text))))
    if not spaces:
        raise UsageError(f"no name in {text!r}", where="--spaces", remedy=_NONE)
    twice = [name for name, times in Counter(s.name for s in spaces).items() if times > 1]
    if twice:
        remedy = "leave one out, or rename its files"
        raise UsageError(f"two spaces are called '{twice[0]}'", where="--spaces", remedy=remedy)
    return spaces


def _all_files(text: str | None) -> Iterator[Path]:
    installed = {_name(path): path for path in _installed()}
    if text is None:
        if not installed:
            raise UsageError("no recorded spaces are installed", remedy=_NONE)
        yield from installed.values()
        return
    for word in filter(None, map(str.strip, text.split(","))):
        matching = [path for name, path in installed.items() if fnmatchcase(name, word)]
        path = Path(word)
        if matching:
            yield from matching
        elif path.is_dir() and (inside := sorted(path.glob(f"*{_SPACE}"))):
            yield from inside
        elif path.is_file():
            yield path
        else:
            remedy = did_you_mean(word, list(installed), _NONE)
            raise UsageError(f"no recorded space '{word}'", where="--spaces", remedy=remedy)


def _installed() -> Iterator[Path]:
    for offer in entry_point_choices(GROUP, "recording").offers.values():
        found = find_spec(offer.value.value)
        for place in (found.submodule_search_locations or ()) if found is not None else ():
            yield from sorted(Path(place).glob(f"*{_SPACE}"))


def _read(path: Path) -> RecordedSpace:
    from tilewright_records.spaces.foreign_spaces import read_foreign_space
    from tilewright_records.spaces.space_files import read_space

    return read_space(path) if path.name.endswith(_SPACE) else read_foreign_space(path)


def _name(path: Path) -> str:
    return path.name.removesuffix(_SPACE)
