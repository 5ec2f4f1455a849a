"""What verbs that run a pipeline have in common: their options, and how they run it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.errors import UsageError
from tilewright_cli.terminal import shared_options as shared
from tilewright_cli.terminal.choice_text import choice_of
from tilewright_pipeline.context.exit_codes import INTERRUPTED

if TYPE_CHECKING:
    from tilewright_pipeline.yaml.settings import Setting
    from tilewright_pipeline.yaml.yaml_source import YamlSource

_OPTIONS = (
    click.option("--out", type=shared.NAMED_PATH, help="The run's folder.  [runs/NAME]"),
    click.option("--target", help="In place of the file's target."),
    shared.precision,
    shared.runner,
    shared.builder,
    shared.device,
    shared.dims,
    shared.settings,
    click.option("--seed", type=int, default=None, help="In place of the file's seed."),
    shared.foreign_records,
    click.option(
        "--frozen", is_flag=True, help="Measure nothing, and refuse a kernel without a record."
    ),
    shared.plugin_files,
    shared.watch_options,
    shared.as_json,
)

_STAGES = ("extract", "tune", "graph-tune", "compile", "verify", "benchmark")
"""What is done to a model behind `import`."""


def pipeline_options(function: Any) -> Any:
    """Declare the options that `run_pipeline` takes."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def pipeline_of(source: str) -> Path | YamlSource:
    """A pipeline file as it is; for a model, a pipeline of the stages' defaults, named after it."""
    from tilewright_pipeline.api.task_text import names_a_task
    from tilewright_pipeline.yaml.yaml_source import YamlSource

    if source.endswith((".yaml", ".yml")):
        return Path(source)
    if not source.strip():
        raise UsageError("expected a pipeline file or a model, got nothing", remedy="name one")
    if names_a_task(source) and not source.endswith(".json"):
        raise UsageError(
            "a task, not a model or a pipeline file",
            where=source,
            remedy="`tilewright tune TASK` tunes one, `explain` and `space` say more",
        )
    path = Path(source)
    told = path.name if ":" in source else path.stem  # `zoo:squeezenet_v1.1` is no file
    name = re.sub(r"[^\w.-]+", "-", told).strip("-._")[:100] or "model"
    stages: list[dict[str, Any]] = [{"import": {"model": source}}]
    stages += [{stage: {}} for stage in _STAGES]
    text = json.dumps({"version": 1, "name": name, "stages": stages}, ensure_ascii=False)
    return replace(YamlSource.parse(text, source), written=False)


def run_pipeline(
    source: Path | YamlSource,
    *,
    out: Path | None,
    target: str | None,
    precision: str | None,
    runner: str | None,
    builder: str | None,
    device: str | None,
    dims: Mapping[str, str],
    settings: Sequence[Setting | str],
    seed: int | None,
    foreign_records: bool,
    frozen: bool,
    plugin: tuple[Path, ...],
    quiet: bool,
    events: Path | None,
    as_json: bool,
    more: str | None = None,
    only: str | None = None,
    verify: bool | None = None,
) -> int:
    """Run a pipeline with progress and results shown; the exit code.

    only    this stage, with what leads to it
    verify  whether answers are compared; None: as the pipeline says
    """
    from tilewright_cli.progress.watched import watched
    from tilewright_pipeline.pipeline import Pipeline

    if precision is not None:
        asked = shared.setting("precision", precision, f"--precision {precision}")
        settings = (*settings, asked)
    settings = (*settings, *shared.dims_settings(dims))
    for role, text in (("runner", runner), ("builder", builder)):
        if text is not None:
            chosen = choice_of(f"--{role}", text)
            value = {chosen.name: dict(chosen.options)} if chosen.options else chosen.name
            asked = shared.setting(f"measure.{role}", value, f"--{role} {text}")
            settings = (*settings, asked)
    with watched(quiet=quiet or as_json, events=events, summary=not as_json) as watchers:
        pipeline = Pipeline.load(
            source,
            settings=settings,
            plugins=plugin,
            observers=watchers.observers,
            target=target,
            only=only,
            verify=verify,
        )
        watchers.watch(pipeline.plan.host)
        result = pipeline.run(
            out=out,
            device=device,
            seed=seed,
            more=more,
            foreign_records=foreign_records,
            frozen=frozen,
        )
    if result.exit_code == INTERRUPTED:
        shared.say("what was measured is kept: the same command goes on from there", err=True)
    if as_json:
        networks = {name: branch.report for name, branch in result.branches.items()}
        shared.print_json({**result.report, **({"networks": networks} if networks else {})})
    return result.exit_code


def stage_verb(name: str, stage: str) -> Callable[[Any], click.Command]:
    """Make a function the verb of a stage: its docstring is the help, its flags are options."""

    def decorate(declared: Any) -> click.Command:
        own = getattr(declared, "__click_params__", [])

        @click.argument("source", metavar="FILE.yaml|MODEL")
        @pipeline_options
        def run_stage(*, source: str, settings: tuple[str, ...], **options: Any) -> int:
            given = [(option, options.pop(option.name)) for option in own]
            asked = [
                shared.setting(f"{stage}.{option.name}", value, option.opts[0])
                for option, value in given
                if value is not None
            ]
            return run_pipeline(
                pipeline_of(source), only=stage, settings=(*settings, *asked), **options
            )

        run_stage.__click_params__ += own
        return click.command(name, help=declared.__doc__)(run_stage)

    return decorate
