"""Reads a YAML file with the place of every value, and refuses what a pipeline file never needs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import yaml

from tilewright.errors import UsageError, raise_all
from tilewright.paths import check_is_file
from tilewright.reading import open_file

_MAX_BYTES = 1 << 20
_MAX_DEPTH = 32
_MAX_VALUES = 20_000
_MAX_DIGITS = 40
_MAX_MISTAKES = 50
# The core schema of YAML 1.2: `no` and `12:30` are texts, `1e3` is a number.
_NULL = re.compile(r"(?:null|Null|NULL|~|)\Z")
_TRUE = re.compile(r"(?:true|True|TRUE)\Z")
_FALSE = re.compile(r"(?:false|False|FALSE)\Z")
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_BASED = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
# All but those that YAML 1.1 takes, and a mark of the order of bytes in the middle.
_REFUSED = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NOT_FINITE = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True)
class YamlNode:
    """A value of the file and where it begins; lines and columns count from 1.

    A mapping's `value` is {key: YamlNode}, its `keys` {key: (line, column)}; a sequence's a list.
    `refused` means that a mistake was reported for it: its value is not used.
    """

    value: Any
    line: int
    column: int
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    refused: bool = False


@dataclass(frozen=True, slots=True)
class YamlSource:
    """A parsed file: `plain()` gives its values, `where(path)` the place of one of them.

    written   False where no user wrote the text: its lines and columns would tell them nothing
    mistakes  what of it is not allowed, but hides nothing of the rest
    """

    name: str
    root: YamlNode
    written: bool = True
    mistakes: tuple[UsageError, ...] = ()

    @classmethod
    def read(cls, path: Path) -> YamlSource:
        """Raises UsageError with file, line and column for anything wrong with the file."""
        path = check_is_file(path, "pipeline file")
        try:
            with open_file(path) as file:
                size = os.fstat(file.fileno()).st_size
                data = file.read(_MAX_BYTES)
        except OSError as error:
            raise UsageError(
                f"cannot read the file: {error.strerror}", where=str(path), remedy="check the path"
            ) from None
        if size > _MAX_BYTES:
            raise UsageError(
                f"{size} bytes, at most {_MAX_BYTES} are read",
                where=f"{path}:1:1",
                remedy="a pipeline file is small; is this the right one?",
            )
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line, column = _place(data[: error.start].decode("utf-8-sig", "replace"))
            raise UsageError(
                "not UTF-8", where=f"{path}:{line}:{column}", remedy="save the file as UTF-8"
            ) from None
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, name: str) -> YamlSource:
        """The source of a text; `name` stands for the file in messages."""
        if found := _REFUSED.search(text):
            line, column = _place(text[: found.start()])
            raise UsageError(
                f"the control character {found[0]!r} is not allowed",
                where=f"{name}:{line}:{column}",
                remedy="remove it",
            )
        parser = _Parser(name, text)
        return cls(name, parser.document(), mistakes=tuple(parser.mistakes))

    @classmethod
    def parse_value(cls, text: str, name: str) -> Any:
        """The plain value of an option on the command line; blank is an empty text."""
        return cls.parse(text if text.strip() else "''", name).plain()

    def plain(self) -> Any:
        """Nested dicts, lists and scalars. Raises UsageError for anything else."""
        raise_all(self.mistakes)
        return self.readable()

    def readable(self) -> Any:
        """As `plain`, without raising: see `mistakes` and `is_refused`."""
        return _Expansion(self.name).plain(self.root)

    def where(self, path: Iterable[str | int]) -> str:
        """`file:line:column: dotted.path` of a value, or of the nearest one around it."""
        path = tuple(path)
        line, column = self.line_and_column(path)
        dotted = dotted_path(path)
        spot = f"{self.name}:{line}:{column}" if self.written else self.name
        return f"{spot}: {dotted}" if dotted else spot

    def line_and_column(self, path: Iterable[str | int]) -> tuple[int, int]:
        """Where a value stands, or the nearest one around it; a mapping's where its key does."""
        *_, (_, place) = self._along(path)
        return place

    def is_refused(self, path: Iterable[str | int]) -> bool:
        """Whether a mistake was reported for this value or one that contains it."""
        return any(node.refused for node, _ in self._along(path))

    def _along(self, path: Iterable[str | int]) -> Iterator[tuple[YamlNode, tuple[int, int]]]:
        """The values on the way to a path, as far as there are some, each with its place."""
        node = self.root
        yield node, (node.line, node.column)
        for step in path:
            if isinstance(node.value, dict) and step in node.value:
                place = node.keys[str(step)]
                node = node.value[step]
            elif isinstance(node.value, list) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                place = node.line, node.column
            else:
                return
            yield node, place


def dotted_path(path: Iterable[str | int]) -> str:
    """`stages[2].tune.tuner`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _place(before: str) -> tuple[int, int]:
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _short(word: object) -> str:
    text = str(word)
    return text if len(text) <= 80 else f"{text[:77]}..."


class _Parser:
    """Builds nodes from parser events, so that depth and size are bounded while reading.

    mistakes  those after which reading continues
    """

    def __init__(self, name: str, text: str) -> None:
        self.mistakes: list[UsageError] = []
        self._name = name
        self._text = text
        self._events = self._checked_events()
        self._anchors: dict[str, YamlNode] = {}
        self._count = 0

    def document(self) -> YamlNode:
        root = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    self._refuse(event, "a second document", "keep one document in the file")
                root = self._node(next(self._events), 1)
        if root is None:
            raise UsageError(
                "the file is empty", where=f"{self._name}:1:1", remedy="write a mapping"
            )
        return root

    def _checked_events(self) -> Iterator[Any]:
        try:
            yield from yaml.parse(self._text, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            # What is left open is told where it begins; the parser notices only at its end.
            unclosed = "end of stream" in str(error.problem) or "flow" in str(error.context)
            unclosed = unclosed or "quoted scalar" in str(error.context)
            unclosed = unclosed or "simple key" in str(error.context)
            mark = error.context_mark if unclosed and error.context_mark else error.problem_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            problem, remedy = str(error.problem), "correct the YAML here"
            near = error.problem_mark.line if error.problem_mark else line - 1
            lines = self._text.splitlines()
            tabbed = next(
                (i for i in (near, near + 1) if i < len(lines) and re.match(r" *\t", lines[i])),
                None,
            )
            if tabbed is not None:
                line, column = tabbed + 1, lines[tabbed].index("\t") + 1
                problem, remedy = "a tab in the indentation", "indent with spaces"
            elif unclosed:
                problem = f"{error.context}: {problem}"
            where = f"{self._name}:{line}:{column}"
            unreadable = UsageError(problem, where=where, remedy=remedy)
            raise UsageError.several([*self.mistakes, unreadable]) from None

    def _node(self, event: Any, depth: int) -> YamlNode:
        self._count += 1
        if self._count > _MAX_VALUES:
            self._refuse(event, f"more than {_MAX_VALUES} values", "is this the right file?")
        node = YamlNode(None, event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, yaml.AliasEvent):
            known = self._anchors.get(str(event.anchor))
            if known is None:
                message = f"the alias '*{_short(event.anchor)}' has no anchor"
                self._note(event, message, "define it before")
                node.refused = True
            return known or node
        if depth > _MAX_DEPTH:
            self._refuse(event, f"nested deeper than {_MAX_DEPTH}", "flatten it")
        if event.tag not in (None, "!"):
            self._note(event, f"the tag '{_short(event.tag)}' is not allowed", "write plain values")
            node.refused = True
        if isinstance(event, yaml.MappingStartEvent):
            self._mapping(node, depth)
        elif isinstance(event, yaml.SequenceStartEvent):
            node.value = []
            while not isinstance(item := next(self._events), yaml.SequenceEndEvent):
                node.value.append(self._node(item, depth + 1))
        else:
            node.value = self._scalar(event, node) if event.implicit[0] else event.value
        if event.anchor:
            # Known only when complete, so that no value can hold itself.
            self._anchors[event.anchor] = node
        return node

    def _mapping(self, node: YamlNode, depth: int) -> None:
        node.value = {}
        twice: set[str] = set()
        while not isinstance(key := next(self._events), yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent):
                self._refuse(key, "a key is no plain text", "write KEY: VALUE")
            if key.tag not in (None, "!"):
                self._note(key, f"the tag '{_short(key.tag)}' is not allowed", "write plain keys")
            if key.value in node.value:
                line, column = node.keys[key.value]
                said = f"the key '{_short(key.value)}' is there twice, first at {line}:{column}"
                if key.value not in twice:
                    self._note(key, said, "keep one of them")
                twice.add(key.value)
                self._node(next(self._events), depth + 1)
                continue
            mark: Any = key.start_mark
            node.keys[key.value] = mark.line + 1, mark.column + 1
            node.value[key.value] = self._node(next(self._events), depth + 1)

    def _scalar(self, event: Any, node: YamlNode) -> Any:
        text = event.value
        if _NULL.match(text):
            return None
        if _TRUE.match(text) or _FALSE.match(text):
            return bool(_TRUE.match(text))
        if len(text) > _MAX_DIGITS:
            return text
        if _INTEGER.match(text):
            return int(text)
        if _BASED.match(text):
            return int(text, 0)
        if _FLOAT.match(text):
            number = float(text)
            if number in (float("inf"), float("-inf")):
                self._note(event, f"the number {text} is too large", "write a smaller one")
                node.refused = True
            return number
        if _NOT_FINITE.match(text):
            self._note(event, f"{text} is not allowed", "write a finite number")
            node.refused = True
        return text

    def _note(self, event: Any, message: str, remedy: str) -> None:
        """A mistake after which reading continues, unless there are very many."""
        self.mistakes.append(self._mistake(event, message, remedy))
        if len(self.mistakes) == _MAX_MISTAKES:
            raise_all(self.mistakes)

    def _refuse(self, event: Any, message: str, remedy: str) -> NoReturn:
        """A mistake after which the file cannot be read; earlier ones are reported too."""
        raise UsageError.several([*self.mistakes, self._mistake(event, message, remedy)])

    def _mistake(self, event: Any, message: str, remedy: str) -> UsageError:
        mark = event.start_mark
        where = f"{self._name}:{mark.line + 1}:{mark.column + 1}"
        return UsageError(message, where=where, remedy=remedy)


class _Expansion:
    """Turns nodes into plain values; bounds what aliases expand to."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._left = _MAX_VALUES

    def plain(self, node: YamlNode, depth: int = 1) -> Any:
        self._left -= 1
        if self._left < 0 or depth > _MAX_DEPTH:
            limit = f"more than {_MAX_VALUES} values" if self._left < 0 else f"depth {depth}"
            where = f"{self._name}:{node.line}:{node.column}"
            raise UsageError(f"aliases expand to {limit}", where=where, remedy="write it out")
        if isinstance(node.value, dict):
            return {key: self.plain(item, depth + 1) for key, item in node.value.items()}
        if isinstance(node.value, list):
            return [self.plain(item, depth + 1) for item in node.value]
        return node.value
