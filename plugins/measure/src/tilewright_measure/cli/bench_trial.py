"""`tilewright bench trial`: where the time of a trial goes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tilewright_cli.terminal import shared_options as shared
from tilewright_cli.terminal.model_flags import flags_of
from tilewright_pipeline.options.tune_options import TuneOptions

if TYPE_CHECKING:
    from tilewright.vocabulary.task_set import TaskSet
    from tilewright_pipeline.context.run_context import RunContext


@click.command()
@click.argument("source", metavar="[FILE.yaml|MODEL|TASK]", default="onnx-light:resnet50")
@shared.target
@shared.precision
@shared.device
@click.option("--count", type=click.IntRange(1), default=16, show_default=True, help="Per task.")
@flags_of(TuneOptions, ("tuner",))
@shared.seed
@shared.plugin_files
@shared.as_json
def trial(
    *,
    source: str,
    target: str | None,
    precision: str | None,
    device: str | None,
    count: int,
    tuner: str | None,
    seed: int,
    plugin: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Show where a trial's time goes, over the tasks of a network, by default ResNet-50's.

    Measures --count candidates of each task, cold and by the local builder and runner, as tuning
    does. Nothing of it is kept.
    """
    from tilewright.vocabulary.budget import Budget
    from tilewright_cli.terminal.choice_text import choice_of
    from tilewright_measure.local.trial_profile import TrialProfile
    from tilewright_pipeline.context.run_setup import make_context
    from tilewright_pipeline.tuning.tune_stage import TuneStage

    host = shared.load_host(plugin).at_precision(precision or "float32")
    with tempfile.TemporaryDirectory(prefix="tilewright-trial-") as folder:
        context = make_context(
            host,
            name="trial",
            folder=Path(folder),
            target=target,
            device=device,
            seed=seed,
            packs=False,
        )
        tasks = _tasks(source, context, plugin)
        report = TuneStage(
            TuneOptions(
                tuner=choice_of("--tuner", tuner), budget=Budget(trials=count * len(tasks))
            ),
            context,
        ).tune(tasks)
        profile = TrialProfile.of(context.store.records(), report.measurement)
    if as_json:
        shared.print_json({"target": str(context.target), **profile.to_json()})
        return
    for line in profile.lines():
        shared.say(line)


def _tasks(source: str, context: RunContext, plugin: tuple[Path, ...]) -> TaskSet:
    from tilewright.vocabulary.task_set import TaskSet, WeightedTask
    from tilewright_cli.terminal.key_records import store_for
    from tilewright_cli.terminal.pipeline_verb import pipeline_of
    from tilewright_pipeline.api.task_text import find_tasks, names_a_task
    from tilewright_pipeline.pipeline import Pipeline

    if names_a_task(source):
        host = context.host
        found = find_tasks(source, context.target, host, store_for(source, host))
        return TaskSet(tuple(WeightedTask(task, 1.0, source) for task in found))
    pipeline = Pipeline.load(
        pipeline_of(source),
        settings=(f"precision={context.host.precision}",),
        plugins=plugin,
        target=str(context.target),
        whole=False,
    )
    return pipeline.tasks()[1]
