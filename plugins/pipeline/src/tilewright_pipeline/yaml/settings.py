"""`--set stage.option=value`: values laid over a pipeline file before it is checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.errors import UsageError, did_you_mean
from tilewright.options import Place
from tilewright_pipeline.yaml.yaml_source import YamlSource


@dataclass(frozen=True, slots=True)
class Setting:
    """`stage.option=value`, and the flag that messages name, which stands for it."""

    text: str
    where: str

    @classmethod
    def of(cls, given: Setting | str) -> Setting:
        """A text is what follows `--set`."""
        return given if isinstance(given, Setting) else cls(given, f"--set {given}")


class NoSuchSettingError(UsageError):
    """What `--set` begins with is no stage and no key of the file.

    stages   those that the file has
    """

    def __init__(self, where: str, name: str, stages: Sequence[str], keys: Sequence[str]) -> None:
        self.name, self.stages = name, stages
        remedy = did_you_mean(name, [*stages, *keys])
        super().__init__(f"no stage or key '{name}'", where=where, remedy=remedy)


def apply_setting(data: dict[str, Any], setting: Setting) -> list[Place]:
    """Change the plain file in place, in each of its stages of that name; returns what was set.

    Raises UsageError.
    """
    where = setting.where
    name, equals, text = setting.text.partition("=")
    steps = name.strip().split(".")
    if not equals or not all(steps):
        remedy = "such as --set tune.budget=5min"
        raise UsageError("expected stage.option=value", where=where, remedy=remedy)
    paths = _paths(data, steps, where)
    for path in paths:
        _put(data, path, YamlSource.parse_value(text, where), where)
    return paths


def _put(data: dict[str, Any], path: Place, value: Any, where: str) -> None:
    holder: Any = data
    for place, step in enumerate(path[:-1]):
        if isinstance(holder, dict):
            # `tuner: xgb` and `tuner:` become mappings when an option below is set, which also
            # chooses another one.
            if isinstance(holder.get(step), str):
                holder[step] = {path[place + 1]: {}}
            elif holder.get(step) is None:
                holder[step] = {}
        holder = holder[step]
        if not isinstance(holder, list if isinstance(path[place + 1], int) else dict):
            own = path[2:] if path[0] == "stages" else path
            raise UsageError(
                f"'{step}' has a value of its own, and no options below it",
                where=where,
                remedy=f"set {'.'.join(map(str, own[: own.index(step) + 1]))} itself",
            )
    holder[path[-1]] = value


def _paths(data: dict[str, Any], steps: list[str], where: str) -> list[Place]:
    stages = data.get("stages")
    if steps[0].startswith("stages"):
        remedy = "name the stage: --set STAGE.OPTION=VALUE, such as --set tune.budget=5min"
        raise UsageError("stages are set one option at a time", where=where, remedy=remedy)
    names = [
        next(iter(stage)) if isinstance(stage, dict) and len(stage) == 1 else None
        for stage in (stages if isinstance(stages, list) else [])
    ]
    if steps[0] in names:
        if len(steps) == 1:
            remedy = f"write --set {steps[0]}.OPTION=VALUE"
            raise UsageError("names a stage, not an option of it", where=where, remedy=remedy)
        return [("stages", at, *steps) for at, name in enumerate(names) if name == steps[0]]
    from tilewright_pipeline.yaml.file_model import PipelineFile

    top = [name for name in PipelineFile.model_fields if name != "stages"]
    if steps[0] in top:
        return [tuple(steps)]
    known = list(dict.fromkeys(name for name in names if name is not None))
    raise NoSuchSettingError(where, steps[0], known, top)
