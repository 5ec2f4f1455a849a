"""Checks a pipeline file and reports all its mistakes at once."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from tilewright.errors import UsageError, did_you_mean, raise_all, shown
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice, Place, choices, completed
from tilewright.paths import check_is_file
from tilewright.plugins.offers import word_of
from tilewright.plugins.plugin import Component
from tilewright.vocabulary.target import Target
from tilewright_pipeline.context.reach import resolver
from tilewright_pipeline.options.mistakes import not_a_mapping, read_options
from tilewright_pipeline.options.takers import takers_of
from tilewright_pipeline.stages.planned_stage import ChecksOptions, PlannedStage
from tilewright_pipeline.stages.stage_order import idle, leading_to, misplaced
from tilewright_pipeline.yaml.file_model import PipelineFile
from tilewright_pipeline.yaml.plan import Plan
from tilewright_pipeline.yaml.settings import NoSuchSettingError, Setting, apply_setting
from tilewright_pipeline.yaml.yaml_source import YamlSource

_log = logging.getLogger("tilewright")

_INSTEAD = {"version": 1, "stages": [{}]}
"""What stands in for required keys that are wrong or missing, so that the rest is read."""

_VERIFY = "verify"

M = TypeVar("M", bound=BaseModel)


class Planner:
    """Checks one file, and gives each mistake its place in the file.

    >>> planner = Planner(YamlSource.read(path))
    >>> host = PluginHost.load(planner.plugin_files())
    >>> planner.plan(host)      # raises all mistakes, those of the plugin files included

    A mistake that follows from another one is not told: what lies below a value that is wrong, what
    needs a missing plugin file, and values that an unknown stage would have made.
    """

    def __init__(
        self,
        source: YamlSource,
        settings: Sequence[Setting | str] = (),
        target: Target | str | None = None,
        *,
        verify: bool | None = None,
    ) -> None:
        self._source = source
        self._set: dict[Place, str] = {}
        self._wrong: list[tuple[tuple[int, ...], UsageError]] = []
        self._bad: set[Place] = set()
        self._unknown: list[tuple[tuple[int, ...], NoSuchSettingError]] = []
        self._absent: list[tuple[Place, UsageError]] = []
        self._data = source.readable()
        if not isinstance(self._data, dict):
            message = f"expected a mapping, got {shown(self._data)}"
            shape = UsageError(message, where=source.where(()), remedy="begin with `version: 1`")
            raise UsageError.several([*source.mistakes, *([] if source.mistakes else [shape])])
        self._verify = verify
        if verify:
            self._require_verdict()
        for setting in settings:
            self._apply(Setting.of(setting))
        if target is not None:
            self._data["target"] = str(target)
            self._set["target",] = "--target"
        self.file = self._file()
        """The file as far as it is right."""

    def plugin_files(self) -> list[Path]:
        """The plugin files that the file names and that are there."""
        found = []
        for position, name in enumerate(self.file.plugins):
            place, beside = ("plugins", position), Path(self._source.name).parent / name
            hint = f"write {beside}" if beside.is_file() else ""
            try:
                where = self._where(place)
                found.append(check_is_file(name, "plugin file", hint, where=where))
            except UsageError as error:
                self._note(place, error)
        return found

    def with_mistakes(self, error: UsageError) -> UsageError:
        """An error that ends the planning, with the mistakes found before it."""
        return UsageError.several([*self._mistakes(), error])

    def plan(self, host: PluginHost, *, only: str | None = None, whole: bool = True) -> Plan:
        """The stages, each checked by its own model; with `only`, it and those that lead to it.

        Raises UsageError with all mistakes. A component of a role without implementation here is
        wrong where its stage is to be run: not beside `only`, nor where the plan is no `whole` run.
        """
        host = host.at_precision(self.file.precision)
        self._tell_unknown_settings(host)
        measure = self._check_choices(host, self.file.measure, ("measure",))
        target = self._target(host, measure.runner)
        file = self._check_choices(host, self.file, ()).model_copy(update={"measure": measure})
        entries = () if ("stages",) in self._bad else self.file.stages
        stages = {
            place: self._stage(host, entry, ("stages", place))
            for place, entry in enumerate(entries)
            if not self._is_left_out(entry)
        }
        known = [stage for stage in stages.values() if stage is not None]
        if len(known) == len(stages):
            self._wrong += [((2, 0), error) for error in misplaced(known, host)]
        if whole and only is None:
            self._tell_absent(stages, every=True)
        raise_all(self._mistakes())
        assert target is not None  # or something was wrong with it
        for said in idle(known):
            _log.warning("%s", said)
        if only is not None:
            kept = self._able(leading_to(only, known, self._where(("stages",))))
            places = [place for place, stage in stages.items() if stage in kept]
            self._tell_absent(places, every=len(places) == len(stages))
            raise_all(self._mistakes())
            known = kept
        given = [option for place, option in self._set.items() if place[0] == "target"]
        target_place = given[-1] if given else self._where(("target",))
        return Plan(file, target, target_place, tuple(known), host)

    def _able(self, stages: Sequence[PlannedStage]) -> list[PlannedStage]:
        """The stages that the last one needs, except those that would measure without a runner."""
        lacks = [error for path, error in self._absent if path[0] == "measure"]
        *leading, last = stages
        able = [one for one in leading if not (lacks and getattr(one.factory, "measures", False))]
        for stage in leading:
            if stage not in able:
                _log.warning("'%s' is left out, it would measure: %s", stage.name, lacks[0])
        return [*able, last]

    def _is_left_out(self, entry: Any) -> bool:
        return self._verify is False and isinstance(entry, Mapping) and _VERIFY in entry

    def _tell_absent(self, places: Collection[int], *, every: bool) -> None:
        """Note what the stages at these places choose, and `measure` where `every` stage is run."""
        for path, error in self._absent:
            if path[1] in places if path[0] == "stages" else every:
                self._note(path, error, names=True)

    # --- the parts of the file -------------------------------------------------------------------

    def _apply(self, setting: Setting) -> None:
        order = (1, len(self._set), 0, len(self._wrong) + len(self._unknown))
        try:
            self._set |= dict.fromkeys(apply_setting(self._data, setting), setting.where)
        except NoSuchSettingError as error:
            self._unknown.append((order, error))
        except UsageError as error:
            self._wrong.append((order, error))

    def _require_verdict(self) -> None:
        """A stage `verify` that has to find an oracle: the file's, or one at the end."""
        stages = self._data.get("stages")
        if not isinstance(stages, list):
            return
        verifying = [stage for stage in stages if isinstance(stage, dict) and _VERIFY in stage]
        for stage in verifying:
            options = stage[_VERIFY]
            if options is None or isinstance(options, dict):
                stage[_VERIFY] = {**(options or {}), "required": True}
        if not verifying:
            self._set["stages", len(stages)] = "--verify"
            stages.append({_VERIFY: {"required": True}})

    def _tell_unknown_settings(self, host: PluginHost) -> None:
        """`budget=3s` means `tune.budget`: say so now that the stages' options are known."""
        for order, error in self._unknown:
            meant = [
                f"{stage}.{error.name}"
                for stage in error.stages
                if stage in host.components("stage")
                and error.name in host.options_of("stage", stage).model_fields
            ]
            remedy = f"did you mean '{meant[0]}'?" if meant else error.remedy
            told = UsageError(error.message, where=error.where, remedy=remedy)
            self._wrong.append((order, told))

    def _file(self) -> PipelineFile:
        file, wrong = read_options(PipelineFile, self._data, _INSTEAD)
        for mistake in wrong:
            self._note(mistake.path, UsageError(mistake.message, remedy=mistake.remedy))
        if file is None:
            raise UsageError.several(self._mistakes())
        return file

    def _target(self, host: PluginHost, runner: Choice) -> Target | None:
        """The target where the runner measures; on this machine where its options are wrong."""
        if ("target",) in self._bad:
            return None
        refused = any(place[:2] == ("measure", "runner") for place in self._bad)
        try:
            target = resolver(None if refused else runner, host)(self.file.target)
        except UsageError as error:
            self._note(("target",), error, names=True)
            return None
        try:
            host.check_strategies(self.file.strategies, target, "")
        except UsageError as error:
            self._note(("strategies",), error, names=True)
        return target

    def _stage(self, host: PluginHost, entry: Any, path: Place) -> PlannedStage | None:
        """A planned stage; None where its name is unknown or its options are wrong."""
        if not isinstance(entry, Mapping):
            message, remedy = not_a_mapping(entry)
            self._note(path, UsageError(message, remedy=remedy))
            return None
        if len(entry) != 1:
            listed, second = ", ".join(entry) or "none", list(entry)[1:2]
            message = f"expected one key, the stage's name, got {listed}"
            remedy = "begin each stage with its own dash"
            self._note((*path, *second), UsageError(message, remedy=remedy))
            return None
        ((name, options),) = entry.items()
        path += (name,)
        component = self._component(host, "stage", name, path)
        if component is None:
            return None
        with host.blaming("stage", name):
            factory = component.load()
        checked = None
        if options is None or isinstance(options, Mapping):
            checked = self._options(host, "stage", name, options or {}, path)
            if checked is not None and isinstance(factory, ChecksOptions):
                for below, error in factory.option_mistakes(checked, host):
                    told = f"{error.where}: {error.message}" if error.where else error.message
                    inside = UsageError(told, remedy=error.remedy)
                    self._note(path + below, inside if self._source.written else error)
        else:
            message = f"expected a mapping of options, got {shown(options)}"
            known = ", ".join(host.options_of("stage", name).model_fields)
            remedy = f"write `- {name}: {{OPTION: VALUE}}`, with {known}" if known else ""
            remedy = remedy or f"write `- {name}: {{}}`, as there are none"
            self._note(path, UsageError(message, remedy=remedy))
        return PlannedStage(name, checked, factory, self._where(path))

    def _check_choices(self, host: PluginHost, options: M, path: Place) -> M:
        """The options with each choice named, the default of its role where the file says none."""
        for below, role, choice in choices(options):
            place = path + below
            component = self._component(host, role, choice.name, place)
            if component is not None and choice.name:
                self._options(host, role, choice.name, choice.options, (*place, choice.name))
        with suppress(UsageError):  # of a role without a default: noted above
            return completed(options, host.default)
        return options

    def _component(
        self, host: PluginHost, role: str, name: str, path: Place
    ) -> Component[Any] | None:
        try:
            return host.component(role, name)
        except UsageError as error:
            if role == "stage" or (name and host.components(role)):
                self._note(path, error, names=True)
            else:
                self._absent.append((path, error))
            return None

    def _options(
        self,
        host: PluginHost,
        role: str,
        name: str,
        values: Mapping[str, Any],
        path: Place,
    ) -> BaseModel | None:
        """The options of a component without their mistakes, with their choices checked."""
        model = host.options_of(role, name)
        try:
            options, wrong = read_options(model, values)
        except UsageError as error:  # of what the component needs, by a validator of the model
            self._note(path, error)
            return None
        for mistake in wrong:
            message, remedy = mistake.message, mistake.remedy
            owners = takers_of(mistake.unknown, host) if len(mistake.path) == 1 else []
            if mistake.unknown and owners:
                message = f"{word_of(role)} '{name}' takes no option"
                message += f" '{mistake.unknown}'; that is an option of {' and '.join(owners)}"
                remedy = did_you_mean(mistake.unknown, list(model.model_fields))
                remedy = remedy if model.model_fields else "there are no options here"
            self._note(path + mistake.path, UsageError(message, remedy=remedy))
        if options is not None:
            options = self._check_choices(host, options, path)
        return options

    # --- what is wrong ---------------------------------------------------------------------------

    def _note(self, path: Place, error: UsageError, *, names: bool = False) -> None:
        """A mistake at a place, unless it follows from another one.

        names   what is wrong is an unknown name, which a missing plugin file may
        """
        given = [n for n, place in enumerate(self._set) if path[: len(place)] == place]
        missing = any(place[0] == "plugins" for place in self._bad if place)
        self._bad.add(path)
        if (not given and self._source.is_refused(path)) or (names and missing):
            return
        order = (1, given[-1], 1) if given else (0, *self._source.line_and_column(path))
        self._wrong.append((order, error.placed(self._where(path))))

    def _mistakes(self) -> list[UsageError]:
        """Everything found so far, in the order of the file."""
        found = [error for _, error in sorted(self._wrong, key=lambda item: item[0])]
        # A flag that sets several options of a stage that is not there is wrong once.
        return [*{str(error): error for error in (*self._source.mistakes, *found)}.values()]

    def _where(self, path: Place) -> str:
        # The last one counts, as its value does.
        for place, option in reversed(self._set.items()):
            if path[: len(place)] == place:
                return option
        return self._source.where(path)
