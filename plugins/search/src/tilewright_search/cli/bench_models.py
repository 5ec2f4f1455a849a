"""`tilewright bench models`: which cost model ranks best what it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tilewright_cli.terminal import shared_options as shared

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.options import Choice
    from tilewright.vocabulary.measure import Trial
    from tilewright.vocabulary.task import Task
    from tilewright_search.models.features import FeatureKind
    from tilewright_search.models.held_out import Quality, TaskTrials
    from tilewright_search.models.interface import CostModel

_KINDS: tuple[FeatureKind, ...] = ("knobs", "loops")
_PREDICTED = 2048
"""Configs of a recorded space that are predicted, at most: pairs are counted in memory."""


@click.command()
@click.argument("records", type=shared.RECORDS_FILE, required=False)
@shared.recorded_spaces
@click.option("--model", "models", multiple=True, help="NAME or {NAME: {option: value}}.  [all]")
@click.option("--features", "kinds", multiple=True, type=click.Choice(_KINDS), help="[both]")
@click.option("--rows", type=click.IntRange(32), default=256, show_default=True, help="Per task.")
@click.option("--save", type=shared.NAMED_PATH, help="Fit on all tasks and write the model.")
@shared.plugin_files
@shared.seed
@shared.as_json
def models(
    *,
    records: Path | None,
    spaces: str | None,
    models: tuple[str, ...],
    kinds: tuple[FeatureKind, ...],
    rows: int,
    save: Path | None,
    plugin: tuple[Path, ...],
    seed: int,
    as_json: bool,
) -> None:
    """Show how well cost models rank what they have not seen: recall@16, pairs, ranks, regret.

    With RECORDS, each task by models fitted on the others; without, each recorded space by models
    fitted on --rows of its configs. `--save` needs RECORDS, one --model and one --features; the
    tuners' option `pretrained` reads the file.
    """
    from tilewright.errors import UsageError
    from tilewright.options import Choice
    from tilewright_cli.terminal.choice_text import choice_of
    from tilewright_pipeline.writing import check_file, writing_file
    from tilewright_search.models.held_out import FeatureTable
    from tilewright_search.models.interface import saving

    host = shared.load_host(plugin)
    chosen = [choice_of("--model", text) for text in models]
    chosen = chosen or [Choice(name) for name in host.components("cost_model")]
    if records is not None and spaces is not None:
        raise UsageError("RECORDS and --spaces are two ways to be asked", remedy="give one")
    if save is not None and (records is None or len(chosen) != 1 or len(kinds) != 1):
        raise UsageError(
            "--save writes one model of RECORDS",
            remedy="say which: RECORDS --model xgboost --features knobs",
        )
    if save is not None:
        check_file(save, "--save")
    tasks = _of_spaces(spaces, rows, seed) if records is None else _of_records(records, host, rows)
    found: list[tuple[str, str, Quality | None]] = []
    for kind in kinds or _KINDS:
        table = FeatureTable(host, kind, tasks)
        for choice in chosen:
            make = _maker(host, choice, tasks[0].task, seed)
            kept = saving(make(), choice.name) if save is not None else None
            quality = table.evaluate_within(make, rows) if records is None else table.evaluate(make)
            found.append((choice.name, kind, quality))
            if save is not None and kept is not None:
                with writing_file(save, "--save"):
                    table.save(kept, save)
    if as_json:
        members = [
            {"model": name, "features": kind, **(asdict(quality) if quality else {})}
            for name, kind, quality in found
        ]
        asked = {"spaces": len(tasks)} if records is None else {"records": str(records)}
        shared.print_json({**asked, "models": members})
    else:
        _print(found)


def _of_spaces(text: str | None, rows: int, seed: int) -> list[TaskTrials]:
    """Random configs of each recorded space: those to fit, and up to 2048 to predict."""
    import random

    from tilewright.errors import UsageError
    from tilewright_search.cli.recorded_spaces import recorded_spaces
    from tilewright_search.models.held_out import TaskTrials

    tasks = []
    for space in recorded_spaces(text):
        count = min(len(space.results), rows + _PREDICTED)
        configs = random.Random(seed).sample(list(space.results), count)
        tasks += TaskTrials.group(space.measure_all(configs), count)
    if not tasks:
        raise UsageError("no space has 32 configs", where="--spaces", remedy="name larger ones")
    return tasks


def _of_records(records: Path, host: PluginHost, rows: int) -> list[TaskTrials]:
    from tilewright.errors import UsageError
    from tilewright_search.models.held_out import TaskTrials

    tasks = TaskTrials.group(_trials(records, host), rows)
    if len(tasks) < 2:
        raise UsageError(
            f"{len(tasks)} tasks with 32 trials of the installed strategies, expected 2 or more",
            where=str(records),
            remedy="tune a network into this file first",
        )
    return tasks


def _trials(records: Path, host: PluginHost) -> list[Trial]:
    """The trials of the installed strategies on the device that has most of them."""
    from tilewright_records.store.store import JsonlRecordStore

    store = JsonlRecordStore(records)
    common = store.devices().most_common(1)
    return store.trials(common[0][0][1], host.revisions) if common else []


def _maker(host: PluginHost, choice: Choice, task: Task, seed: int) -> Callable[[], CostModel]:
    from tilewright.host.contexts import TunerContext
    from tilewright.space.config_space import ConfigSpace

    context = TunerContext(task, ConfigSpace(()), seed, (), host, lambda _, make: make())
    return lambda: host.choose("cost_model", choice, context)


def _print(found: Sequence[tuple[str, str, Quality | None]]) -> None:
    shared.say("model     features  recall@16  pairwise   ranks  regret  tasks  row ms   fit ms")
    for name, kind, quality in found:
        if quality is None:
            shared.say(f"{name:9} {kind:9} nothing to predict: no other task of an operator")
            continue
        shared.say(
            f"{name:9} {kind:9} {quality.recall:9.3f} {quality.pairwise:9.3f}"
            f" {quality.correlation:7.3f} {quality.regret:7.3f} {quality.tasks:6}"
            f" {quality.row_seconds * 1e3:7.3f} {quality.fit_seconds * 1e3:8.1f}"
        )
