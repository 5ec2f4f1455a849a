"""One JSON Schema of pipeline files, put together from the installed components' options."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pydantic import BaseModel

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice, choices, role_of
from tilewright_pipeline.yaml.file_model import MeasureSection, PipelineFile

_TARGET = {
    "anyOf": [
        {"type": "string"},
        {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}},
    ]
}


def pipeline_schema(host: PluginHost) -> dict[str, Any]:
    """The schema; each stage and each choice lists what is installed, with its options.

    A plugin's defect is noted as its own, and the rest of the schema stays.
    """
    writer = _Writer(host)
    schema = PipelineFile.model_json_schema()
    stages = [_named(name, writer.options_of("stage", name)) for name in host.components("stage")]
    for name, written in {
        "measure": writer.options(MeasureSection),
        "record_store": writer.choice("record_store"),
        "stages": {"type": "array", "minItems": 1, "items": {"anyOf": stages}},
        "target": dict(_TARGET),
    }.items():
        described = {"description": PipelineFile.model_fields[name].description}
        schema["properties"][name] = written | described
    writer.with_defaults(schema, PipelineFile)
    for role in ("target", "record_store"):
        with suppress(UsageError):  # where none is the default, or several are
            schema["properties"][role]["default"] = host.default(role)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["$defs"] = writer.definitions
    return schema


class _Writer:
    """Writes options models; what pydantic defines inside one moves to the schema's own `$defs`."""

    def __init__(self, host: PluginHost) -> None:
        self.definitions: dict[str, Any] = {}
        self._host = host

    def options(self, model: type[BaseModel]) -> dict[str, Any]:
        """What a mapping of options may hold."""
        space = f"{model.__module__}.{model.__name__}"
        schema: dict[str, Any] = _moved(model.model_json_schema(), space)
        for name, definition in schema.pop("$defs", {}).items():
            self.definitions[f"{space}.{name}"] = definition
        properties = schema.get("properties", {})
        for name, field in model.model_fields.items():
            parts = getattr(field.annotation, "__args__", ())
            if name not in properties or (field.annotation is not Choice and Choice not in parts):
                continue
            chosen = self.choice(role_of(model, name))
            several = getattr(field.annotation, "__origin__", None) in (tuple, list)
            properties[name] = {"type": "array", "items": chosen} if several else chosen
            if field.description:
                properties[name]["description"] = field.description
        return self.with_defaults(schema, model)

    def options_of(self, role: str, name: str) -> dict[str, Any]:
        """What a component's options may hold; anything, where it cannot say."""
        written, _ = self._host.tried(
            role, name, "options()", lambda: self.options(self._host.options_of(role, name))
        )
        return written or {"type": "object"}

    def choice(self, role: str) -> dict[str, Any]:
        """A name, or `{name: {options}}`."""
        known = list(self._host.components(role))
        return {"anyOf": [{"enum": known}, *(_named(n, self.options_of(role, n)) for n in known)]}

    def with_defaults(self, schema: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
        """The schema with what each option is where a file does not say."""
        written = written_defaults(model, self._host)
        for name in schema.get("properties", {}).keys() & written.keys():
            schema["properties"][name]["default"] = written[name]
        return schema


def written_defaults(model: type[BaseModel], host: PluginHost) -> dict[str, Any]:
    """What each option is where a file does not say, as a file would write it.

    A choice is what its role declares; it is left out where that has no default, or several.
    """
    options = model.model_construct()
    written = options.model_dump(mode="json", exclude_none=True)
    for (name, *_), role, choice in choices(options):
        if not choice.name:
            del written[str(name)]
            with suppress(UsageError):
                written[str(name)] = host.default(role)
    return written


def _moved(schema: Any, space: str) -> Any:
    """The schema with its references to `$defs` pointing at the names they have there now."""
    if isinstance(schema, list):
        return [_moved(item, space) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value.replace("#/$defs/", f"#/$defs/{space}.", 1)
        if key == "$ref"
        else _moved(value, space)
        for key, value in schema.items()
    }


def _named(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """`{name: options}`; nothing after the colon means no options."""
    return {
        "type": "object",
        "properties": {name: {"anyOf": [options, {"type": "null"}]}},
        "required": [name],
        "additionalProperties": False,
    }
