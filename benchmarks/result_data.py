"""Results as data: a JSON file a machine, an entry for each question that was measured there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tilewright.errors import UsageError

FOLDER = Path(__file__).parent / "results"


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Row(_Value):
    """One case of a question: medians in the entry's unit.

    speedup   how much better than the peer where that is not the ratio of both medians: the median
              of ratios taken in turns, or all that is known
    goal      of the speedup where there is a peer, else of `ours`
    details   other figures of the case, by names that say their units
    """

    case: str = Field(min_length=1)
    ours: float | None = None
    peer: float | None = None
    speedup: float | None = None
    goal: float | None = None
    details: dict[str, float | str] = {}

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.ours is None and self.speedup is None:
            raise ValueError("expected `ours` or `speedup`")
        return self


class Entry(_Value):
    """What was measured of a question at one time.

    state    of the machine meanwhile, such as `calm` or `shared`; empty where nobody looked
    run      number of one of several in that state; what is one run's takes the place of its like
    source   who wrote it down: a script's `--save`, or a page that had the figures before
    tree     commit that was measured, where known
    """

    question: str
    state: str = ""
    run: int = Field(default=1, gt=0)
    date: date
    command: str
    source: str
    tree: str | None = None
    versions: dict[str, str] = {}
    unit: str
    better: Literal["less", "more"]
    peer: str | None = None
    rows: tuple[Row, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        cases = [row.case for row in self.rows]
        if twice := next((case for case in cases if cases.count(case) > 1), None):
            raise ValueError(f"the case {twice!r} occurs twice")
        compared = [
            row.case for row in self.rows if row.peer is not None or row.speedup is not None
        ]
        if compared and self.peer is None:
            raise ValueError(f"{compared[0]!r} is compared, but `peer` names nobody")
        return self

    def figure(self, row: Row) -> float | None:
        """What the goal is about: the speedup over the peer, or ours where there is no peer."""
        if self.peer is None:
            return row.ours
        if row.speedup is not None or not row.ours or not row.peer:
            return row.speedup
        return row.peer / row.ours if self.better == "less" else row.ours / row.peer

    def reached(self, row: Row) -> bool | None:
        """Whether the goal is; None where there is none, or nothing to hold against it."""
        figure = self.figure(row)
        if figure is None or row.goal is None:
            return None
        if self.peer is None and self.better == "less":
            return figure <= row.goal
        return figure >= row.goal


class Machine(_Value):
    """Where it was measured.

    name    of its file
    title   in tables
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")
    title: str
    model: str
    cores: int = Field(gt=0)
    about: str = ""


class ResultFile(_Value):
    """All results of a machine."""

    format: Literal[1] = 1
    machine: Machine
    entries: tuple[Entry, ...] = ()

    @model_validator(mode="after")
    def _tells_each_once(self) -> Self:
        seen: set[tuple[str, str, int, str]] = set()
        for entry in self.entries:
            for row in entry.rows:
                key = (entry.question, entry.state, entry.run, row.case)
                if key in seen:
                    raise ValueError(f"{key} occurs twice")
                seen.add(key)
        return self

    def merged(self, entry: Entry) -> ResultFile:
        """With an entry more: its cases take the place of those of the same run of a question."""
        fresh = {row.case for row in entry.rows}
        kept = [_without(old, fresh) if _alike(old, entry) else old for old in self.entries]
        entries = [*(old for old in kept if old is not None), entry]
        entries.sort(key=lambda each: (each.question, each.date, each.state, each.run))
        return self.model_copy(update={"entries": tuple(entries)})


def read(path: Path) -> ResultFile:
    """A machine's file. Raises UsageError in one line where it is none."""
    place = f"{path.parent.name}/{path.name}"
    try:
        found = ResultFile.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"[{at}]" if isinstance(at, int) else f".{at}" for at in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise UsageError(
            message, where=": ".join(filter(None, (place, where.lstrip("."))))
        ) from None
    if found.machine.name != path.stem:
        raise UsageError(
            f"expected {path.stem!r}, the file's name, got {found.machine.name!r}",
            where=f"{place}: machine.name",
        )
    return found


def read_all(folder: Path = FOLDER) -> Sequence[ResultFile]:
    """Every machine's file, by name."""
    return [read(path) for path in sorted(folder.glob("*.json"))]


def add(machine: Machine, entry: Entry, folder: Path = FOLDER) -> Path:
    """Merge an entry into a machine's file, which is made where it is missing."""
    path = folder / f"{machine.name}.json"
    # What the file says of the machine was perhaps completed by hand.
    before = read(path) if path.exists() else ResultFile(machine=machine)
    write(before.merged(entry), path)
    return path


def write(file: ResultFile, path: Path) -> None:
    """A row a line, so that a diff shows which figures changed; whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".tmp")
    fresh.write_text("\n".join(_lines(file)) + "\n", encoding="utf-8")
    fresh.replace(path)


def _lines(file: ResultFile) -> Iterator[str]:
    yield "{"
    yield f' "format": {file.format},'
    yield f' "machine": {_json(file.machine)},'
    yield ' "entries": ['
    for number, entry in enumerate(file.entries, 1):
        yield "  {"
        members = json.loads(entry.model_dump_json(exclude_defaults=True, exclude={"rows"}))
        yield from (f'   "{name}": {_text(value)},' for name, value in members.items())
        yield '   "rows": ['
        yield ",\n".join(f"    {_json(row)}" for row in entry.rows)
        yield "   ]"
        yield "  }" + "," * (number < len(file.entries))
    yield " ]"
    yield "}"


def _json(value: BaseModel) -> str:
    return _text(json.loads(value.model_dump_json(exclude_defaults=True)))


def _text(value: object) -> str:
    return json.dumps(_rounded(value), ensure_ascii=False)


def _rounded(value: Any) -> Any:
    """Five digits of each number: more is noise."""
    if isinstance(value, dict):
        return {name: _rounded(member) for name, member in value.items()}
    if isinstance(value, float):
        short = float(f"{value:.5g}")
        return int(short) if short.is_integer() else short
    return value


def _alike(one: Entry, other: Entry) -> bool:
    return (one.question, one.state, one.run) == (other.question, other.state, other.run)


def _without(entry: Entry, cases: set[str]) -> Entry | None:
    rows = tuple(row for row in entry.rows if row.case not in cases)
    return entry.model_copy(update={"rows": rows}) if rows else None
