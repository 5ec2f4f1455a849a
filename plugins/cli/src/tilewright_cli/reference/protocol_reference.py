"""The protocols that plugins implement, as values and as a page: from the source itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tilewright.plugins.hook_names import role_of_hook
from tilewright_cli.reference.hook_specification import HookSpecification, hook_specifications
from tilewright_cli.reference.type_source import TypeSource, find_type, optional_parts, words

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost

_HEAD = """\
# Protocols

`tilewright plugins --protocols` prints this page, from the source of the installed plugins. For
each role it says what a component offers and what its factory is called with. The values that go in
and come out stand behind, by name. A protocol is kept by having its methods: there is nothing to
inherit from. Times are in seconds and sizes in bytes, unless a name says otherwise.
[hooks.md](hooks.md) lists the hooks, and [writing plugins](writing-plugins.md) the contract suites;
[writing an operator](writing-an-operator.md) and [writing a target](writing-a-target.md) have pages
of their own."""

_CALLED_WITH = re.compile(r"\(options, (\w+)\)")
_EXAMPLE = re.compile(r"^(>>> .*(?:\n(?:>>>|\.\.\.) .*)*)", re.MULTILINE)
_PLACES = (
    "tilewright.roles",
    "tilewright.host.plugin_host",
    "tilewright.host.contexts",
    "tilewright_pipeline.context.run_context",
)
_ARGUMENTS = {"host": "PluginHost"}
_NO_VALUES = {"Component", "ModuleType"}


@dataclass(frozen=True, slots=True)
class RoleReference:
    """What a plugin needs to know for one role.

    protocols   what its components keep, the optional parts behind
    contexts    what their factories are called with, besides options
    values      further types that go in or come out
    """

    role: str
    hook: HookSpecification
    protocols: tuple[TypeSource, ...]
    contexts: tuple[TypeSource, ...]
    values: tuple[TypeSource, ...]


def role_references(host: PluginHost) -> list[RoleReference]:
    """Of each role that the installed plugins know, in order of definition."""
    hooks = hook_specifications(host)
    roles = [(role_of_hook(hook.name), hook) for hook in hooks if hook.mode == "collect"]
    return [_reference(role, hook, hooks) for role, hook in roles if role is not None]


def protocols_page(host: PluginHost) -> Iterator[str]:
    """Lines of Markdown: every role with its protocols, then every value."""
    yield _HEAD
    references = role_references(host)
    protocols = {one.key: one for each in references for one in each.protocols}
    values = {one.key: one for each in references for one in (*each.contexts, *each.values)}
    values = {key: found for key, found in values.items() if key not in protocols}
    titles = _titles([*protocols.values(), *values.values()])
    for reference in references:
        yield f"\n## Role: {reference.role.replace('_', ' ')}\n"
        yield f"Hook: [`{reference.hook.name}`](hooks.md#{reference.hook.name})."
        yield " ".join(reference.hook.text.split())
        for found in reference.protocols:
            if found.key in protocols:
                yield from _section(protocols.pop(found.key), titles)
        others = [*reference.contexts, *reference.values]
        if others:
            links = (f"[`{one.name}`](#{_anchor(titles[one.key])})" for one in others)
            yield f"\nValues: {', '.join(links)}."
    yield "\n## Values"
    for found in sorted(values.values(), key=lambda one: (one.name, one.module)):
        yield from _section(found, titles)


def to_json(reference: RoleReference) -> dict[str, Any]:
    """A role's names by kind, and the members of each of its types."""
    kinds = {kind: getattr(reference, kind) for kind in ("protocols", "contexts", "values")}
    return {
        "role": reference.role,
        "hook": reference.hook.name,
        **{
            kind: [
                {
                    "name": found.name,
                    "module": found.place,
                    "text": found.text,
                    "members": [
                        {"name": m.name, "type": m.text, "text": m.meaning} for m in found.members
                    ],
                }
                for found in types
            ]
            for kind, types in kinds.items()
        },
    }


def _reference(
    role: str, hook: HookSpecification, hooks: Iterable[HookSpecification]
) -> RoleReference:
    named = list(_found(words(hook.result), hook.module))
    contexts = list(_contexts(hook, named))
    values = [*_more(role, hooks), *_found(words(" ".join(hook.arguments.values())), hook.module)]
    protocols = [found for found in named if found.kind == "protocol"] or named
    parts = [part for found in protocols for part in optional_parts(found)]
    every = list(_reached([*named, *parts, *contexts, *values]))
    behind = [found for found in every if found.kind == "protocol" and found not in protocols]
    more = [part for found in behind for part in optional_parts(found)]
    protocols = list({found.key: found for found in (*protocols, *parts, *behind, *more)}.values())
    taken = {found.key for found in (*protocols, *contexts)}
    values = [found for found in every if found.key not in taken]
    return RoleReference(role, hook, tuple(protocols), tuple(contexts), tuple(values))


def _contexts(hook: HookSpecification, named: Iterable[TypeSource]) -> Iterator[TypeSource]:
    """What the hook's words say that a factory is called with."""
    for told in _CALLED_WITH.findall(hook.text):
        name = _ARGUMENTS.get(told, told)
        for module in (*_PLACES, *(one.module for one in named)):
            if found := find_type(name, module):
                yield found
                break


def _more(role: str, hooks: Iterable[HookSpecification]) -> Iterator[TypeSource]:
    """What the modules that specify hooks say of a role besides: `MORE_VALUES`."""
    for module in dict.fromkeys(hook.module for hook in hooks):
        told = getattr(import_module(module), "MORE_VALUES", {})
        for place, name in told.get(role, ()):
            found = find_type(name, place)
            assert found is not None, f"{module}.MORE_VALUES: no {place}.{name}"
            yield found


def _found(names: Iterable[str], module: str) -> Iterator[TypeSource]:
    for name in names:
        if name not in _NO_VALUES and (found := find_type(name, module)):
            yield found


def _reached(start: Iterable[TypeSource]) -> Iterator[TypeSource]:
    """These types and, transitively, those that their annotations mention."""
    waiting, known = list(start), set[tuple[str, str]]()
    while waiting:
        found = waiting.pop(0)
        if found.key not in known:
            known.add(found.key)
            yield found
            waiting += _found(found.mentions, found.module)


def _titles(types: Iterable[TypeSource]) -> dict[tuple[str, str], str]:
    """A heading for each type: its name, with its module where several have the name."""
    found = {one.key: one for one in types}
    counts = Counter(one.name for one in found.values()) + Counter(("Values",))
    return {
        key: one.name if counts[one.name] == 1 else f"{one.name} of {one.place}"
        for key, one in found.items()
    }


def _anchor(title: str) -> str:
    """What a link to a heading ends in, as Markdown viewers make it."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _section(found: TypeSource, titles: Mapping[tuple[str, str], str]) -> Iterator[str]:
    yield f"\n### {titles[found.key]}\n"
    text = f"{_fenced(found.text)}\n\n" if found.text else ""
    yield f"{text}`from {found.place} import {found.name}`"
    fields = [member for member in found.members if not member.is_method]
    if fields:
        yield "\n| field | type | meaning |\n|---|---|---|"
        for member in fields:
            meaning = member.meaning.replace("|", "\\|")
            yield f"| `{member.name}` | `{member.text.replace('|', chr(92) + '|')}` | {meaning} |"
    methods = [member for member in found.members if member.is_method]
    if methods:
        yield ""
    for member in methods:
        yield f"* `{member.name}{member.text}`" + (f": {member.meaning}" * bool(member.meaning))


def _fenced(text: str) -> str:
    """Examples of a docstring as code."""
    return _EXAMPLE.sub(r"```\n\1\n```", text)
