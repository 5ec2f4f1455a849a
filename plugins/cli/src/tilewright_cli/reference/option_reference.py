"""The options there are, as values and as a page: from the models that check them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, get_args, get_origin

from pydantic import BaseModel

from tilewright.options import Choice, role_of
from tilewright.plugins.offers import word_of
from tilewright.plugins.plugin import Component
from tilewright_pipeline.yaml.file_model import PipelineFile
from tilewright_pipeline.yaml.schema import written_defaults

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost

_HEAD = """\
# Options

`tilewright plugins --options` prints this page, from the models of the installed plugins that check
options. Those of a pipeline file are the keys of the file. A stage is one key with its options:
`tune: {budget: 60s}`. Any other component is chosen by its name, or by `{name: {options}}`, where
an option takes its role: `tuner: {xgb: {batch: 8}}`. On the command line, `--tuner`, `--runner` and
their like take either form, and `--set tune.tuner.xgb.batch=8` reaches every option.
[Pipelines](pipelines.md) says how stages work together; `tilewright schema` tells an editor."""
_TYPES = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "object": "mapping",
    "array": "list",
    "any": "anything",
}
_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    name      with a dot for what stands in a mapping: `measure.repeat`
    takes     what may be given, in words; where components are chosen whether it is a list of them
    role      the role of the component that is chosen; empty where none is
    default   as a file has it; empty where there is none, which the meaning then explains
    required  whether it has to be given
    """

    name: str
    takes: str
    role: str
    default: str
    required: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class OptionReference:
    """The options of a component, or of the pipeline file itself, whose role and name are empty."""

    role: str
    name: str
    summary: str
    options: tuple[Option, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def option_references(host: PluginHost) -> Iterator[OptionReference]:
    """The pipeline file, its stages, and the components of every other role."""
    file = tuple(_options(PipelineFile, host))
    yield OptionReference("", "", "", file)
    for role in sorted(host.roles(), key=lambda role: (role != "stage", role)):
        for name, component in host.components(role).items():
            if isinstance(component, Component):
                asked = partial(_of, role, name, host)
                found, _ = host.tried(role, name, "options()", asked)
                yield OptionReference(role, name, component.summary, found or ())


def options_page(host: PluginHost) -> Iterator[str]:
    """Lines of Markdown: a table for the pipeline file and for every component, by role."""
    yield _HEAD
    file, *components = option_references(host)
    yield "\n## The pipeline file\n"
    yield from _table(file.options)
    for role in dict.fromkeys(one.role for one in components):
        yield f"\n## {_title(role)}"
        ours = [one for one in components if one.role == role]
        for one in ours:
            if one.options:
                yield f"\n### {_title(role)} {one.name}\n\n{_sentence(one.summary)}\n"
                yield from _table(one.options)
        if without := [f"`{one.name}`" for one in ours if not one.options]:
            yield f"\nWithout options: {', '.join(without)}."


def _of(role: str, name: str, host: PluginHost) -> tuple[Option, ...]:
    return tuple(_options(host.options_of(role, name), host))


def _options(model: type[BaseModel], host: PluginHost, within: str = "") -> Iterator[Option]:
    schema = model.model_json_schema()
    defaults = _defaults(model, host)
    for name, field in model.model_fields.items():
        kinds = (field.annotation, *get_args(field.annotation))
        takes = _takes(schema["properties"][name], schema.get("$defs", {}))
        role = role_of(model, name) if Choice in kinds else ""
        if role:
            several = get_origin(field.annotation) is tuple
            takes = "list, each" if several else ""
        yield Option(
            within + name,
            takes,
            role,
            defaults.get(name, ""),
            field.is_required(),
            field.description or "",
        )
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from _options(kind, host, f"{within}{name}.")


def _defaults(model: type[BaseModel], host: PluginHost) -> Mapping[str, str]:
    """The defaults that can be written, as texts."""
    written = written_defaults(model, host)
    return {name: _written(value) for name, value in written.items() if value not in ("", [], {})}


def _written(value: Any) -> str:
    if isinstance(value, dict):  # a section, whose options have rows of their own
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _takes(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """A JSON Schema in words."""
    if "$ref" in schema:
        return _takes(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return ", ".join(f"`{value}`" for value in values)
    if "anyOf" in schema:
        parts = [part for part in schema["anyOf"] if part != {"type": "null"}]
        return ", or ".join(_takes(part, definitions) for part in parts)
    kind = schema.get("type", "any")
    kinds = [kind] if isinstance(kind, str) else kind
    words = " or ".join(_TYPES[one] for one in kinds)
    of = schema.get("items") or schema.get("additionalProperties")
    if of:
        words += f", each {_takes(of, definitions)}"
    bounds = (f"{sign} {schema[name]}" for name, sign in _BOUNDS.items() if name in schema)
    return " ".join([words, ", ".join(bounds)]).strip()


def _table(options: Iterable[Option]) -> Iterator[str]:
    yield "| option | takes | default | meaning |\n|---|---|---|---|"
    for one in options:
        link = f"[{word_of(one.role)}](#{one.role.replace('_', '-')})" if one.role else ""
        takes = f"{one.takes} {link}".strip()
        default = "required" if one.required else f"`{one.default}`" if one.default else ""
        meaning = _sentence(one.meaning).replace("|", "\\|")
        yield f"| `{one.name}` | {takes} | {default} | {meaning} |"


def _title(role: str) -> str:
    return word_of(role).capitalize()


def _sentence(text: str) -> str:
    """A description or summary as one, whatever case it begins in."""
    text = " ".join(text.split())
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}." if text else ""
