"""The hooks there are, as values and as a page: from the specifications, the one source."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from tilewright.host import hookspecs

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost

Mode = Literal["collect", "decide", "notify"]

_MODES: Mapping[Mode, str] = {
    "collect": "Every implementation is asked and gives a list; all lists together are the answer.",
    "decide": "Implementations are asked until one gives an answer that is not `None`.",
    "notify": "Every implementation is called; what it returns is ignored. One that raises is "
    "listed, and the others are still called.",
}

_HEAD = """\
# Hooks

`tilewright plugins --hooks` prints this page, from the specifications themselves. An implementation
is a function of the hook's name, marked `@hookimpl`. It takes by name those of the arguments that
it wants, and returns values that import late what is heavy. Brackets such as (options, host) are
what a component's factory is called with; "First" names the first plugin with an implementation."""


@dataclass(frozen=True, slots=True)
class HookSpecification:
    """One hook.

    arguments  name to type, in order; an implementation takes any of them, by name
    module     where it is specified, and what its types are imported from
    """

    name: str
    arguments: Mapping[str, str]
    result: str
    mode: Mode
    text: str
    module: str

    @property
    def signature(self) -> str:
        """As one would write it."""
        arguments = ", ".join(f"{name}: {kind}" for name, kind in self.arguments.items())
        return f"{self.name}({arguments}) -> {self.result}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def hook_specifications(host: PluginHost) -> list[HookSpecification]:
    """Core's hooks and those that the installed plugins add, in order of definition."""
    added = host.hook_values("tilewright_hookspecs")
    modules = [hookspecs, *(module for module in added if module is not hookspecs)]
    return [found for module in modules for found in _specifications(module)]


def hooks_page(host: PluginHost) -> Iterator[str]:
    """Lines of Markdown: every hook with its exact arguments, by calling mode."""
    yield _HEAD
    found = hook_specifications(host)
    for mode, meaning in _MODES.items():
        yield f"\n## {mode.capitalize()}\n\n{meaning}"
        for hook in found:
            if hook.mode == mode:
                yield f"\n### {hook.name}\n"
                yield f"```\n{hook.signature}\n```\n\n{hook.text}\n\nSpecified in `{hook.module}`."


def _specifications(module: ModuleType) -> Iterator[HookSpecification]:
    for name, function in vars(module).items():
        options = getattr(function, "tilewright_spec", None)
        if options is None:
            continue
        signature = inspect.signature(function)
        result = str(signature.return_annotation)
        mode: Mode = "collect"
        if options["firstresult"]:
            mode = "decide"
        elif result == "None":
            mode = "notify"
        yield HookSpecification(
            name,
            {p.name: str(p.annotation) for p in signature.parameters.values()},
            result,
            mode,
            inspect.getdoc(function) or "",
            module.__name__,
        )
