"""The documentation of a class in its source, read without importing its module."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.abc import InspectLoader
from importlib.util import find_spec

_ENTRY = re.compile(r"(\w+(?:, \w+)*) {2,}(\S.*)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_OURS = re.compile(r"tilewright(_\w+)?(\.|$)")


@dataclass(frozen=True, slots=True)
class Member:
    """A field or a method.

    text       the annotation of a field, with its default; the signature of a method, from `(` on
    meaning    what its author says of it; may be empty
    """

    name: str
    text: str
    meaning: str
    is_method: bool


@dataclass(frozen=True, slots=True)
class TypeSource:
    """A class, or a name for a type.

    place      what it is imported from
    module     where it is written
    kind       `protocol`, `values` (a dataclass or an enumeration), `class`, or `alias`
    text       the docstring without the lines on fields
    mentions   names in annotations, which `find_type` finds in `module`
    """

    name: str
    place: str
    module: str
    kind: str
    text: str
    members: tuple[Member, ...]
    mentions: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str]:
        """Equal for equal types, however they were found."""
        return self.module, self.name


def find_type(name: str, module: str) -> TypeSource | None:
    """The type that a name means in a module; None for what is none or is not Tilewright's."""
    while (tree := _tree(module)) is not None:
        for statement, behind in zip(tree.body, [*tree.body[1:], None], strict=True):
            if isinstance(statement, ast.ClassDef) and statement.name == name:
                return _class(statement, module)
            if isinstance(statement, ast.Assign | ast.AnnAssign) and _assigned(statement) == name:
                return _alias(statement, behind, module)
        if name not in _imports(module):
            return None
        module, name = _imports(module)[name]
    return None


def optional_parts(of: TypeSource) -> Iterator[TypeSource]:
    """The protocols beside a type that call themselves an optional part of it."""
    tree = _tree(of.module)
    for statement in tree.body if tree else ():
        if isinstance(statement, ast.ClassDef):
            told = ast.get_docstring(statement) or ""
            if re.match(rf"An optional part of an? `{of.name}`", told):
                yield _class(statement, of.module)


def words(annotation: str) -> Iterator[str]:
    """The names in an annotation, each once, in order."""
    yield from dict.fromkeys(_WORD.findall(annotation))


@cache
def _tree(module: str) -> ast.Module | None:
    if not _OURS.match(module):
        return None
    found = find_spec(module)
    if found is None or not isinstance(found.loader, InspectLoader):
        return None
    source = found.loader.get_source(module)
    return None if source is None else ast.parse(source)


@cache
def _imports(module: str) -> Mapping[str, tuple[str, str]]:
    tree = _tree(module)
    return {
        alias.asname or alias.name: (statement.module, alias.name)
        for statement in (ast.walk(tree) if tree else ())
        if isinstance(statement, ast.ImportFrom) and statement.module
        for alias in statement.names
    }


def _place(name: str, module: str) -> str:
    """Where others import a name from: the outermost package that exports it, else its module."""
    parts = module.split(".")
    for package in (".".join(parts[:count]) for count in range(1, len(parts))):
        tree = _tree(package)
        exports = [each for each in (tree.body if tree else ()) if isinstance(each, ast.ImportFrom)]
        if any(alias.name == name for each in exports for alias in each.names):
            return package
    return module


def _assigned(statement: ast.Assign | ast.AnnAssign) -> str:
    target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _alias(
    statement: ast.Assign | ast.AnnAssign, behind: ast.stmt | None, module: str
) -> TypeSource | None:
    name = _assigned(statement)
    if statement.value is None or not name[0].isupper() or name.isupper():
        return None
    value = ast.unparse(statement.value)
    told = ""
    if isinstance(behind, ast.Expr) and isinstance(behind.value, ast.Constant):
        told = inspect.cleandoc(str(behind.value.value))
    text = f"`{value}`" + (f": {told}" if told else "")
    return TypeSource(name, _place(name, module), module, "alias", text, (), tuple(words(value)))


def _class(made: ast.ClassDef, module: str) -> TypeSource:
    bases = {ast.unparse(base) for base in made.bases}
    marks = {ast.unparse(mark).partition("(")[0] for mark in made.decorator_list}
    kind = "class"
    if "Protocol" in bases:
        kind = "protocol"
    elif "dataclass" in marks or bases & {"NamedTuple", "Enum", "IntEnum", "StrEnum"}:
        kind = "values"
    text, meanings = _split(ast.get_docstring(made) or "")
    members = tuple(_members(made, meanings))
    if kind == "class":
        members = (*_inherited(bases, members, module), *members)
    told = [member.text for member in members]
    if kind == "class":  # its users call it; they make none of what its methods take
        told = []
    mentions = tuple(dict.fromkeys(word for one in told for word in words(one)))
    return TypeSource(made.name, _place(made.name, module), module, kind, text, members, mentions)


def _inherited(bases: Iterable[str], own: Sequence[Member], module: str) -> Iterator[Member]:
    """The members of Tilewright's classes among the bases that a class does not replace."""
    replaced = {member.name for member in own}
    for base in sorted(bases):
        found = find_type(base, module)
        if found is not None and found.kind == "class":
            yield from (member for member in found.members if member.name not in replaced)


def _members(made: ast.ClassDef, meanings: Mapping[str, str]) -> Iterator[Member]:
    for part in made.body:
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            if not part.target.id.startswith("_"):
                told = ast.unparse(part.annotation)
                value = _default(part.value)
                name = part.target.id
                yield Member(name, told + value, meanings.get(name, ""), is_method=False)
        elif isinstance(part, ast.Assign) and (name := _assigned(part)).isupper():
            yield Member(name, ast.unparse(part.value), meanings.get(name, ""), is_method=False)
        elif isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
            said = " ".join((ast.get_docstring(part) or "").split())
            returned = f" -> {ast.unparse(part.returns)}" if part.returns else ""
            arguments = re.sub(r"^(self|cls)(, |$)", "", ast.unparse(part.args))
            marks = {ast.unparse(mark) for mark in part.decorator_list}
            if marks & {"property", "cached_property"}:
                yield Member(part.name, returned[4:], said, is_method=False)
            else:
                yield Member(part.name, f"({arguments}){returned}", said, is_method=True)


def _default(value: ast.expr | None) -> str:
    if value is None:
        return ""
    told = ast.unparse(value)
    if made := re.fullmatch(r"field\(.*default_factory=(\w+).*\)", told):
        return f" = {made[1]}()"
    if given := re.fullmatch(r"field\(default=([^,]+).*\)", told):
        return f" = {given[1]}"
    return "" if told.startswith(("field(", "_")) else f" = {told}"


def _split(docstring: str) -> tuple[str, dict[str, str]]:
    """The prose, and the meaning of each field from aligned lines `name   meaning`."""
    prose: list[str] = []
    meanings: dict[str, str] = {}
    current: tuple[str, ...] = ()
    for line in docstring.splitlines():
        if entry := _ENTRY.fullmatch(line):
            current = tuple(entry[1].split(", "))
            meanings.update(dict.fromkeys(current, entry[2]))
        elif current and line.startswith("  "):
            meanings.update({name: f"{meanings[name]} {line.strip()}" for name in current})
        else:
            current = ()
            prose.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(prose)).strip(), meanings
