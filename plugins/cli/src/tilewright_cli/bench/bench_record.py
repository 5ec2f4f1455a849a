"""`tilewright bench record`: a task's whole space, for tuners to be compared on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright_cli.terminal import shared_options as shared

if TYPE_CHECKING:
    from tilewright.space.config_space import ConfigSpace
    from tilewright.space.entities.knob_values import KnobValues
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.record import Record
    from tilewright.vocabulary.task import Task
    from tilewright_pipeline.context.run_context import RunContext
    from tilewright_pipeline.measuring.measurement import Measurement
    from tilewright_pipeline.tuning.task_track import TaskTrack

_MOST = 50_000
"""Configs of a space that is recorded, at most."""
_BATCH = 16


@click.command()
@click.argument("task")
@click.argument("name")
@shared.target
@click.option("--strategies", default="*", show_default=True, help="Glob over alternatives.")
@click.option(
    "--keep",
    multiple=True,
    metavar="KNOB=VALUES",
    help="Keep some values of a knob: a list of them, or a number of them, evenly spread.",
)
@click.option("--count", is_flag=True, help="Say how many configs there are, and measure none.")
@click.option(
    "--passes",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How often to measure what may be the fastest; of each config the fastest trial counts.",
)
@click.option(
    "--out",
    type=shared.NAMED_PATH,
    default=Path("runs/recordings"),
    show_default=True,
    help="Folder of the files.",
)
@shared.runner
@shared.builder
@shared.plugin_files
@shared.watch_options
@shared.as_json
def record(
    *,
    task: str,
    name: str,
    target: str | None,
    strategies: str,
    keep: tuple[str, ...],
    count: bool,
    passes: int,
    out: Path,
    runner: str | None,
    builder: str | None,
    plugin: tuple[Path, ...],
    quiet: bool,
    events: Path | None,
    as_json: bool,
) -> None:
    """Measure every feasible config of a task, for `bench tuners`.

    Writes NAME.space.json and NAME.records.jsonl.gz. Seven samples of a millisecond, constants as
    in a run, in random order, so that the machine's moods do not look like a property of a knob. A
    host that others share has phases: the second pass measures once more what takes at most twice
    the fastest's time, the third one and a half times, the fourth one and a third; what a pause
    made slower than that stays so. Interrupted and started again, it goes on.
    """
    from dataclasses import replace

    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.measure import Conditions
    from tilewright_cli.progress.watched import watched
    from tilewright_cli.terminal.choice_text import choice_of
    from tilewright_cli.terminal.key_records import store_for
    from tilewright_pipeline.api.task_text import find_task
    from tilewright_pipeline.context.run_setup import make_context
    from tilewright_pipeline.writing import check_folder, writing
    from tilewright_records.spaces.space_files import write_space

    check_folder(out, "--out")
    watchers = click.get_current_context().with_resource(
        watched(quiet=quiet or as_json, events=events)
    )
    host = PluginHost.load(plugin, watchers.observers)
    watchers.watch(host)
    context = make_context(
        host,
        name="record",
        folder=out,
        target=target,
        records=out / f"{name}.measured.jsonl",
        conditions=Conditions(repeat=7, min_repeat_ms=1.0),
        runner=choice_of("--runner", runner),
        builder=choice_of("--builder", builder),
        packs=False,
    )
    store = store_for(task, context.host)
    found = find_task(task, context.target, context.host, store)
    context = replace(context, conditions=context.conditions.for_task(found))
    space = _narrowed(context.host.space(found, strategies), keep)
    configs = _checked_count(space)
    said: dict[str, Any] = {"space": name, "configs": configs}
    if not (quiet or as_json):
        shared.say(f"{task}: {configs} feasible of {space.size} points")
    if not count:
        records = _measured(found, space, context, passes)
        watchers.terminal.stop()
        with writing(out, "--out"):
            files = write_space(out, name, space, records, context.device)
        said |= _facts(records) | {"files": list(map(str, files))}
    if as_json:
        shared.print_json(said)
    elif not count:
        shared.say("\n".join(_lines(said)))


def _checked_count(space: ConfigSpace) -> int:
    """How many feasible configs there are. Raises UsageError for none, and for too many."""
    from itertools import islice

    from tilewright.errors import UsageError

    configs = sum(1 for _ in islice(space.indexes(), _MOST + 1))
    if not 0 < configs <= _MOST:
        told = "none" if not configs else f"more than {_MOST} of {space.size} points"
        raise UsageError(
            f"expected 1 to {_MOST} feasible configs, got {told}",
            remedy="narrow it by --strategies GLOB and --keep KNOB=VALUES"
            if configs
            else "keep other values",
        )
    return configs


def _narrowed(space: ConfigSpace, keep: Sequence[str]) -> ConfigSpace:
    """The space with only some values of some knobs. Raises UsageError for knobs it has not."""
    from dataclasses import replace

    from tilewright.errors import UsageError, did_you_mean
    from tilewright.space.alternative import Alternative
    from tilewright.space.config_space import ConfigSpace
    from tilewright_pipeline.yaml.yaml_source import YamlSource

    wanted = {
        knob: YamlSource.parse_value(values, "--keep")
        for knob, _, values in (each.partition("=") for each in keep)
    }
    known = {knob.name for alternative in space.alternatives for knob in alternative.knobs}
    for knob, values in wanted.items():
        if knob not in known:
            remedy = did_you_mean(knob, sorted(known))
            raise UsageError(f"no knob '{knob}'", where="--keep", remedy=remedy)
        if not (isinstance(values, list) or (type(values) is int and values > 0)):
            raise UsageError(
                f"expected a list of values or their number, got {values!r}", where="--keep"
            )

    def narrow(knob: KnobValues) -> KnobValues:
        return replace(knob, values=tuple(_kept(knob, wanted.get(knob.name, len(knob)))))

    return ConfigSpace(
        Alternative(each.name, tuple(map(narrow, each.knobs)), each.constraints)
        for each in space.alternatives
    )


def _kept(knob: KnobValues, kept: list[Any] | int) -> Iterator[Any]:
    from tilewright.canonical import thaw

    if isinstance(kept, list):
        yield from (value for value in knob.values if thaw(value) in kept)
        return
    count = min(kept, len(knob))
    yield from (knob.values[place * len(knob) // count] for place in range(count))


def _measured(task: Task, space: ConfigSpace, context: RunContext, passes: int) -> list[Record]:
    """The fastest record of every feasible config, in order of the space.

    What is known is not repeated.
    """
    from tilewright.errors import UsageError
    from tilewright.vocabulary.task_set import WeightedTask
    from tilewright_pipeline.measuring.interrupt import Interrupt
    from tilewright_pipeline.measuring.measurement import Measurement
    from tilewright_pipeline.tuning.task_track import TaskTrack

    host = context.host
    known = _known(task, space, context)
    track = TaskTrack(WeightedTask(task), context.conditions, lambda: space)
    track.add((record.trial for some in known.values() for record in some), fresh=False)
    with Interrupt() as interrupt, Measurement(context, interrupt.shield) as measurement:
        host.notify("tilewright_task_started", task=task, space=space)
        for number in range(1, passes + 1):
            wanted = space.points() if number == 1 else _close(known, number)
            fewer = [config for config in wanted if len(known.get(config, ())) < number]
            _measure(fewer, track, measurement, context)
            known = _known(task, space, context)
        host.notify("tilewright_task_finished", task=task, outcome=track.outcome("finished"))
    spoiled = sum(config not in known for config in space.points())
    if spoiled:
        raise UsageError(
            f"{spoiled} configs could not be measured, through no fault of theirs",
            remedy="the same command measures them again",
        )
    return [min(known[config], key=_seconds) for config in space.points()]


def _close(known: Mapping[ConfigEntity, Sequence[Record]], number: int) -> Iterator[ConfigEntity]:
    """What may be the fastest: in each further pass of fewer doubts."""
    least = {config: min(map(_seconds, records)) for config, records in known.items()}
    most = (1 + 1 / (number - 1)) * min(least.values(), default=0.0)
    yield from (config for config, seconds in least.items() if seconds <= most < inf)


def _measure(
    configs: list[ConfigEntity], track: TaskTrack, measurement: Measurement, context: RunContext
) -> None:
    """Measure them once, in random order."""
    import random

    from tilewright.vocabulary.budget import Budget
    from tilewright.vocabulary.measure import MeasureInput
    from tilewright_pipeline.tuning.budget_tracker import BudgetTracker
    from tilewright_pipeline.tuning.progress import Progress

    random.Random(0).shuffle(configs)
    trials = measurement.spent.trials + max(1, len(configs))
    budget = BudgetTracker.of(Budget(trials=trials), measurement)
    progress = Progress([track], budget, context)
    for start in range(0, len(configs), _BATCH):
        progress.tell(track)
        asked = [
            MeasureInput(track.entry.task, config, context.conditions)
            for config in configs[start : start + _BATCH]
        ]
        measured = measurement.measure(asked)
        track.add(measured, fresh=True)
        context.host.notify("tilewright_batch_measured", task=track.entry.task, trials=measured)


def _known(task: Task, space: ConfigSpace, context: RunContext) -> dict[ConfigEntity, list[Record]]:
    """What was measured of each config here, as asked for and as it is now."""
    from tilewright.strategies.strategy import strategy_of

    revisions = context.host.revisions
    known: dict[ConfigEntity, list[Record]] = {}
    for record in context.store.records(task.key):
        if (
            record.trial.input.conditions == context.conditions
            and record.fingerprint == context.device.fingerprint
            and record.revision == revisions.get(strategy_of(record.config.strategy))
            and not record.trial.result.spoiled
            and space.is_valid(record.config)
        ):
            known.setdefault(record.config, []).append(record)
    return known


def _seconds(record: Record) -> float:
    """Infinity where it failed."""
    return inf if record.seconds is None else record.seconds


def _facts(records: Sequence[Record]) -> dict[str, Any]:
    """How hard the space is."""
    from statistics import median

    seconds = sorted(each.seconds for each in records if each.seconds is not None)
    best = seconds[0] if seconds else None
    return {
        "failures": len(records) - len(seconds),
        "best_seconds": best,
        "median_seconds": median(seconds) if seconds else None,
        "within_2_percent": sum(value <= 1.02 * seconds[0] for value in seconds),
    }


def _lines(said: dict[str, Any]) -> Iterator[str]:
    from tilewright_pipeline.context.time_text import time_text

    yield f"configs   {said['configs']}, {said['failures']} failed"
    if said["best_seconds"] is not None:
        best, middle = time_text(said["best_seconds"]), time_text(said["median_seconds"])
        near = said["within_2_percent"]
        yield f"best      {best}, median {middle}, {near} configs within 2 % of the best"
    yield from (f"written   {path}" for path in said["files"])
