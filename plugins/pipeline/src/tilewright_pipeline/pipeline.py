"""A pipeline file, loaded and checked, ready to be run."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.paths import names_a_file, path_of
from tilewright.terminal_text import brief
from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task_set import TaskSet
from tilewright_pipeline.context.exit_codes import DONE, FAILED, INTERRUPTED, PARTIAL
from tilewright_pipeline.context.explaining import Explains, explainers
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.context.run_setup import make_context
from tilewright_pipeline.options.budget_text import parse_budget, together
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.run.running import PipelineRun, RunResult
from tilewright_pipeline.stages.values import RunValues
from tilewright_pipeline.writing import check_folder
from tilewright_pipeline.yaml.file_model import PipelineFile
from tilewright_pipeline.yaml.plan import Plan
from tilewright_pipeline.yaml.planner import Planner
from tilewright_pipeline.yaml.settings import Setting
from tilewright_pipeline.yaml.yaml_source import YamlSource

_log = logging.getLogger("tilewright")

_GRAVITY = (DONE, PARTIAL, FAILED, INTERRUPTED)
"""Exit codes, the worst last: of several networks' the worst is that of the run."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A checked pipeline.

    >>> result = Pipeline.load("network.yaml").run()
    >>> result.exit_code, result.report["benchmark"]
    """

    path: Path
    plan: Plan

    def __repr__(self) -> str:
        stages = brief(", ".join(stage.name for stage in self.plan.stages), 200)
        return f"<Pipeline {brief(self.name)} for {self.plan.target}: {stages}>"

    @classmethod
    def load(
        cls,
        source: str | Path | YamlSource,
        *,
        settings: Sequence[Setting | str] = (),
        plugins: Sequence[Path] = (),
        observers: Sequence[object] = (),
        target: Target | str | None = None,
        only: str | None = None,
        whole: bool = True,
        verify: bool | None = None,
    ) -> Pipeline:
        """Read and check a file; nothing is run and nothing created. Raises UsageError.

        source     a file, or a text as `YamlSource.parse` gives it
        settings   `stage.option=value`, laid over the file
        plugins    plugin files besides those that the file names
        observers  objects with notify hooks, such as a progress display
        target     in place of the file's
        only       this stage, with the earlier ones that it needs a value of
        whole      False: it is looked at, not run; what only its run needs may be absent
        verify     True: the answers have to be compared, by a stage `verify` at the end where the
                   file has none; False: they are not
        """
        source = source if isinstance(source, YamlSource) else YamlSource.read(Path(source))
        path = Path(source.name)
        planner = Planner(source, settings, target, verify=verify)
        try:
            host = PluginHost.load([*plugins, *planner.plugin_files()], observers)
        except UsageError as error:
            raise planner.with_mistakes(error) from error
        return cls(path, planner.plan(host, only=only, whole=whole))

    @property
    def file(self) -> PipelineFile:
        return self.plan.file

    @property
    def name(self) -> str:
        """The file's `name`, or its stem."""
        return self.file.name or self.path.stem

    def run(
        self,
        *,
        out: str | Path | None = None,
        device: str | None = None,
        seed: int | None = None,
        more: Budget | str | int | None = None,
        foreign_records: bool = False,
        frozen: bool = False,
    ) -> RunResult:
        """Run the stages in order; run.json is written however they end. Raises UsageError.

        Mistakes in some of several networks are raised when the others were run.

        out    the run's folder, default `runs/NAME`
        more   adds to what each tuning stage has left, nothing once it was finished; in the unit
               of their budgets
        frozen  as in the file, which may pin the records besides
        """
        added = None if more is None else parse_budget(more, "--more")
        if added is not None and (frozen or self.file.frozen):
            remedy = "leave one of them out"
            raise UsageError("nothing is measured in a frozen run", where="--more", remedy=remedy)
        for stage in self.plan.stages:
            if added is not None and hasattr(stage.options, "budget"):
                together(
                    stage.options.budget, added
                )  # refused here, not after hours of other stages
        check_folder(self._folder(out), "--out")
        context = self.context(
            out=out,
            device=device,
            seed=seed,
            more=added,
            foreign_records=foreign_records,
            frozen=frozen,
        )
        run = PipelineRun(self.plan.stages, context)
        result = run.run()
        exit_code = result.exit_code
        branches: dict[str, RunResult] = {}
        mistakes: list[UsageError] = []
        for branch in run.branches():
            name = branch.context.name
            try:
                branches[name] = replace(branch.run(), values={})
            except UsageError as error:
                mistakes.append(error.within(name))
                continue
            exit_code = max(exit_code, branches[name].exit_code, key=_GRAVITY.index)
            if exit_code == INTERRUPTED:
                break
        if mistakes and exit_code != INTERRUPTED:
            raise UsageError.several(mistakes)
        return replace(result, exit_code=exit_code, branches=branches)

    def tasks(self, *, device: str | None = None) -> tuple[RunContext, TaskSet]:
        """The tasks to tune, by running only the stages that lead to them; creates nothing.

        No device is looked for unless one is named: without it, the context cannot measure.
        """
        context = self.context(device=device, measures=device is not None, writes=False)
        values = RunValues()
        for stage in self.plan.stages:
            values.run(stage, context)
            if (found := values.find(TaskSet)) is not None:
                return context, found
        raise UsageError("no stage of it makes tasks", where=str(self.path))

    def explainable(self, context: RunContext) -> list[Explains]:
        """What explains each network, by running the stages that lead to it.

        Creates nothing. Raises UsageError where no stage makes such a value.
        """
        values = RunValues()
        options = [stage.options for stage in self.plan.stages]
        for stage in self.plan.stages:
            values.run(stage, context)
            every = [explainers(own.latest(), context, options) for own in values.each()]
            if found := [own for own in (next(some, None) for some in every) if own is not None]:
                return found
        raise UsageError("no stage of it makes what can be explained", where=str(self.path))

    def context(
        self,
        *,
        out: str | Path | None = None,
        device: str | None = None,
        seed: int | None = None,
        more: Budget | None = None,
        foreign_records: bool = False,
        frozen: bool = False,
        measures: bool = True,
        writes: bool = True,
    ) -> RunContext:
        """What the stages share; creates nothing.

        measures   False: stages that run kernels are left out, and no device is looked for
        writes     False: the records are only read
        """
        file, plan = self.file, self.plan
        asked = [one.options for one in plan.stages if isinstance(one.options, TuneOptions)]
        records = path_of(file.records) if file.records else None
        if records is not None and not asked and not names_a_file(records):
            _log.warning("%s: no such records file: every config is a fallback", records)
        try:
            context = make_context(
                plan.host,
                name=self.name,
                folder=self._folder(out),
                target=plan.target,
                device=device or file.device,
                records=records,
                conditions=file.measure.conditions,
                seed=file.seed if seed is None else seed,
                runner=file.measure.runner,
                builder=file.measure.builder,
                record_store=file.record_store,
                strategies=file.strategies,
                more=more,
                foreign_records=foreign_records,
                frozen=file.frozen or frozen,
                measures=measures,
                searches=any(one.takes_long for one in asked),
                writes=writes,
            )
        except UsageError as error:
            raise error.placed(plan.target_place) from None
        return replace(context, unmeasured=any(one.measures_nothing for one in asked))

    def _folder(self, out: str | Path | None) -> Path:
        return Path(out or Path("runs") / self.name)
