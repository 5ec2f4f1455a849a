"""`tilewright bench dataset`: trials of many workloads, for cost models to learn from."""

from __future__ import annotations

import time
from itertools import chain
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tilewright_cli.terminal import shared_options as shared

if TYPE_CHECKING:
    from tilewright_cli.bench.sampling import Sampling
    from tilewright_pipeline.context.run_context import RunContext


@click.command()
@click.argument("folder", type=shared.NAMED_PATH)
@click.argument("networks", nargs=-1, metavar="[MODEL...]")
@shared.target
@click.option(
    "--around",
    type=click.IntRange(0, 64),
    default=0,
    show_default=True,
    help="Workloads of other shapes, made from each of the networks'.",
)
@click.option(
    "--like",
    type=shared.NAMED_PATH,
    metavar="OTHER",
    help="Another data set's folder: its workloads, and before random configs its own.",
)
@click.option(
    "--configs", type=click.IntRange(1), default=128, show_default=True, help="Of each workload."
)
@click.option(
    "--passes",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="How often to measure each config that may be the fastest of its workload.",
)
@click.option("--seconds", type=click.IntRange(1), help="Stop after so long.  [when done]")
@shared.settings
@shared.runner
@shared.builder
@shared.plugin_files
@shared.seed
@shared.as_json
def dataset(
    *,
    folder: Path,
    networks: tuple[str, ...],
    target: str | None,
    around: int,
    like: Path | None,
    configs: int,
    passes: int,
    seconds: int | None,
    settings: tuple[str, ...],
    runner: str | None,
    builder: str | None,
    plugin: tuple[Path, ...],
    seed: int,
    as_json: bool,
) -> None:
    """Measure some configs of every workload of many networks, a few of each in turn.

    FOLDER keeps the workloads (tasks.json), the trials (records.jsonl) and what they were measured
    on (device.json). Of a workload come first what its strategies advise, then random configs and
    neighbours of its fastest, in equal shares. Interrupted and started again, it goes on; without
    MODEL, with the workloads of the folder. `--like` measures on this machine what another did.
    A host that others share has phases: `--passes 2` measures all of it twice, 3 and more also what
    takes at most twice the fastest's time, all workloads once before any of them again.
    """
    from tilewright.errors import UsageError
    from tilewright.vocabulary.task import Task
    from tilewright_cli.bench.dataset_device import check_device, write_device
    from tilewright_cli.bench.dataset_trials import configs_of
    from tilewright_cli.bench.sampling import Sampling
    from tilewright_cli.bench.workloads import Workloads
    from tilewright_cli.terminal.choice_text import choice_of
    from tilewright_cli.terminal.pipeline_verb import pipeline_of
    from tilewright_pipeline.context.run_setup import make_context
    from tilewright_pipeline.pipeline import Pipeline
    from tilewright_pipeline.writing import check_folder, writing

    check_folder(folder, "FOLDER")
    with writing(folder, "FOLDER"):
        folder.mkdir(parents=True, exist_ok=True)
    context = make_context(
        shared.load_host(plugin),
        name="dataset",
        folder=folder,
        target=target,
        runner=choice_of("--runner", runner),
        builder=choice_of("--builder", builder),
        seed=seed,
        packs=False,
    )
    check_device(folder, context)
    file = folder / "tasks.json"
    kept = Workloads.read(file) if file.exists() else Workloads()
    first = {}
    if like is not None:
        kept = Workloads([*Workloads.read(like / "tasks.json"), *kept])
        first = configs_of(like, context.target.threads)
    for network in networks:
        pipeline = Pipeline.load(
            pipeline_of(network), settings=settings, plugins=plugin, target=target, whole=False
        )
        kept.add(pipeline.tasks()[1], around, context.host, seed)
    if networks or like is not None:
        kept.write(file)
    tasks = [Task(entry.workload, context.target) for entry in kept]
    if not tasks:
        raise UsageError("no workload", where=str(folder), remedy="name a MODEL, or `--like`")
    write_device(folder, context.device)
    sampling = Sampling(tasks, configs, context, first)
    before = sampling.trials
    _measure(sampling, passes, context, seconds)
    told = {"workloads": len(tasks), "trials": sampling.trials, "new": sampling.trials - before}
    if as_json:
        shared.print_json(told)
    else:
        shared.say("{workloads} workloads, {trials} trials, {new} of them new".format(**told))


def _measure(sampling: Sampling, passes: int, context: RunContext, seconds: int | None) -> None:
    from tilewright_pipeline.measuring.interrupt import Interrupt
    from tilewright_pipeline.measuring.measurement import Measurement

    end = inf if seconds is None else time.monotonic() + seconds
    with Interrupt() as interrupt, Measurement(context, interrupt.shield) as measurement:
        for turn in chain(sampling.turns(), sampling.passes(passes)):
            if time.monotonic() >= end:
                break
            for asked, trial in zip(turn, measurement.measure(turn), strict=True):
                sampling.observe(asked, trial.result.seconds)
