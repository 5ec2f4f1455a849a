"""The checked plan: every component known, every option valid, every input made by someone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from tilewright.errors import UsageError
from tilewright.host import PluginHost
from tilewright.options import choices, mistakes
from tilewright.pipeline.file_model import PipelineFile
from tilewright.pipeline.settings import Place, apply_setting
from tilewright.pipeline.yaml_source import YamlSource
from tilewright.plugin import Component
from tilewright.target import Target


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """A stage's name, its checked options, the factory that makes it, and where it stands."""

    name: str
    options: Any
    factory: Any
    place: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A pipeline file that can be run: its checked content and its stages in order.

    target_place   where the target stands, for messages
    """

    file: PipelineFile
    target: Target
    target_place: str
    stages: tuple[PlannedStage, ...]
    host: PluginHost


class Planner:
    """Checks one file and says where in it a mistake is."""

    def __init__(
        self, source: YamlSource, settings: Sequence[str] = (), target: str | None = None
    ) -> None:
        self._source = source
        self._set: dict[Place, str] = {}
        self._data = source.plain()
        if not isinstance(self._data, dict):
            raise UsageError(
                f"expected a mapping, got a {type(self._data).__name__}",
                where=source.where(()),
                remedy="begin with `version: 1`",
            )
        for setting in settings:
            self._set[apply_setting(self._data, setting)] = f"--set {setting}"
        if target is not None:
            self._data["target"] = target
            self._set["target",] = "--target"

    def file(self) -> PipelineFile:
        """The file's shape, checked by core's model; first mistake as UsageError."""
        file: PipelineFile = self._check(PipelineFile, self._data, ())
        return file

    def plugin_files(self, folder: Path) -> list[Path]:
        """The plugin files that the file names, relative to its folder. Raises UsageError."""
        files = [folder / name for name in self.file().plugins]
        for position, path in enumerate(files):
            if not path.is_file():
                raise UsageError(
                    f"no plugin file {path}",
                    where=self._where(("plugins", position)),
                    remedy=f"give a path of a .py file, relative to {folder.resolve()}",
                )
        return files

    def plan(self, host: PluginHost, *, only: str | None = None) -> Plan:
        """The stages, each checked by its own model; with `only`, it and those that lead to it."""
        file = self.file()
        given = [option for place, option in self._set.items() if place[0] == "target"]
        target_place = given[-1] if given else self._where(("target",))
        try:
            target = host.resolve_target(file.target)
        except UsageError as error:
            raise error.placed(target_place) from None
        host.check_strategies(file.strategies, target, self._where(("strategies",)))
        self._check_choices(host, file, ())
        self._check_choices(host, file.measure, ("measure",))
        stages = []
        for position, entry in enumerate(file.stages):
            if len(entry) != 1:
                raise UsageError(
                    f"expected one key, the stage's name, got {', '.join(entry) or 'none'}",
                    where=self._where(("stages", position, *list(entry)[1:2])),
                    remedy="begin each stage with its own dash",
                )
            ((name, options),) = entry.items()
            stages.append(self._stage(host, name, options, ("stages", position)))
        self._check_inputs(host, stages)
        if only is not None:
            stages = self._leading_to(only, stages)
        return Plan(file, target, target_place, tuple(stages), host)

    def _stage(self, host: PluginHost, name: str, options: Any, path: Place) -> PlannedStage:
        path += (name,)
        component = self._component(host, "stage", name, path)
        if options is not None and not isinstance(options, Mapping):
            raise UsageError(
                f"expected a mapping of options, got {options!r}",
                where=self._where(path),
                remedy=f"write `- {name}: {{}}` where there are none",
            )
        checked = self._check(component.options(), options or {}, path)
        self._check_choices(host, checked, path)
        return PlannedStage(name, checked, component.load(), self._where(path))

    def _check_choices(self, host: PluginHost, options: BaseModel, path: Place) -> None:
        for below, role, choice in choices(options):
            place = path + below
            component = self._component(host, role, choice.name, place)
            place += (choice.name,)
            self._check_choices(
                host, self._check(component.options(), choice.options, place), place
            )

    def _component(self, host: PluginHost, role: str, name: str, path: Place) -> Component[Any]:
        try:
            return host.component(role, name)
        except UsageError as error:
            raise error.placed(self._where(path)) from None

    def _check_inputs(self, host: PluginHost, stages: Sequence[PlannedStage]) -> None:
        for position, stage in enumerate(stages):
            for kind in stage.factory.consumes:
                if not any(_makes(before.factory, {kind}) for before in stages[:position]):
                    raise UsageError(
                        f"'{stage.name}' needs a {kind.__name__} and no earlier stage makes one",
                        where=stage.place,
                        remedy=self._how_to_make(kind, host, stages),
                    )

    def _how_to_make(self, kind: type, host: PluginHost, stages: Sequence[PlannedStage]) -> str:
        later = [stage.name for stage in stages if _makes(stage.factory, {kind})]
        if later:
            return f"move '{later[0]}' before it"
        maker = stage_that_makes(kind, host)
        return f"put '{maker}' before it" if maker else "no installed stage makes one"

    def _leading_to(self, name: str, stages: Sequence[PlannedStage]) -> list[PlannedStage]:
        """The last stage of that name and, before it, those that make what it takes."""
        names = [stage.name for stage in stages]
        if name not in names:
            raise UsageError(
                f"no stage '{name}' in this pipeline",
                where=self._where(("stages",)),
                remedy=f"add `- {name}: {{}}`",
            )
        kept: list[PlannedStage] = []
        wanted: set[type] = set()
        for stage in reversed(stages):
            if _makes(stage.factory, wanted) or (not kept and stage.name == name):
                kept.append(stage)
                wanted |= {*stage.factory.consumes, *stage.factory.optional}
        return kept[::-1]

    def _check(self, model: type[Any], values: Mapping[str, Any], path: Place) -> Any:
        try:
            return model.model_validate(dict(values))
        except UsageError as error:  # of what the component needs, by a validator of the model
            raise error.placed(self._where(path)) from None
        except ValidationError as error:
            below, message, remedy = next(iter(mistakes(error, model)))
            where = self._where(path + tuple(below))
            raise UsageError(message, where=where, remedy=remedy) from None

    def _where(self, path: Place) -> str:
        for place, option in self._set.items():
            if path[: len(place)] == place:
                return option
        return self._source.where(path)


def stage_that_makes(kind: type, host: PluginHost) -> str | None:
    """The name of an installed stage that makes values of a type."""
    for name, component in host.components("stage").items():
        if _makes(component.load(), {kind}):
            return name
    return None


def _makes(factory: Any, kinds: Set[type]) -> bool:
    return any(issubclass(made, kind) for made in factory.produces for kind in kinds)
