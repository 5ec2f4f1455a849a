"""`--set stage.option=value`: values laid over a pipeline file before it is checked."""

from __future__ import annotations

from typing import Any

from tilewright.errors import UsageError, did_you_mean
from tilewright.pipeline.yaml_source import YamlSource

Place = tuple[str | int, ...]


def apply_setting(data: dict[str, Any], setting: str) -> Place:
    """Change the plain file in place; the path of what was set, for messages. Raises UsageError."""
    where = f"--set {setting}"
    name, equals, text = setting.partition("=")
    steps = name.strip().split(".")
    if not equals or not all(steps):
        raise UsageError("expected stage.option=value", where=where)
    value = YamlSource.parse(text or "''", where).plain()
    path = _start(data, steps, where)
    holder: Any = data
    for step in path[:-1]:
        if isinstance(holder, dict):
            # `tuner: xgb` and `tuner:` become mappings when an option below is set.
            if isinstance(holder.get(step), str):
                holder[step] = {holder[step]: {}}
            elif holder.get(step) is None:
                holder[step] = {}
        holder = holder[step]
    if not isinstance(holder, dict):
        raise UsageError("the option above it takes no options", where=where)
    holder[path[-1]] = value
    return path


def _start(data: dict[str, Any], steps: list[str], where: str) -> Place:
    stages = data.get("stages")
    found = {
        next(iter(stage)): index
        for index, stage in reversed(list(enumerate(stages if isinstance(stages, list) else [])))
        if isinstance(stage, dict) and len(stage) == 1
    }
    if steps[0] in found:
        if len(steps) == 1:
            raise UsageError("names a stage, not an option of it", where=where)
        return ("stages", found[steps[0]], *steps)
    from tilewright.pipeline.file_model import PipelineFile

    top = [name for name in PipelineFile.model_fields if name != "stages"]
    if steps[0] in top:
        return tuple(steps)
    raise UsageError(
        f"no stage or key '{steps[0]}'", where=where, remedy=did_you_mean(steps[0], [*found, *top])
    )
