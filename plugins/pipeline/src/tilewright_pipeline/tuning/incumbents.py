"""What every task is measured with first: its fallback, and what is known to be good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from tilewright.vocabulary.config import ConfigEntity
from tilewright_pipeline.tuning.history import adopted_configs, best_of_anchor
from tilewright_pipeline.tuning.task_track import TaskTrack

if TYPE_CHECKING:
    from tilewright_pipeline.context.run_context import RunContext


def in_columns(
    tracks: Sequence[TaskTrack], context: RunContext
) -> Iterator[tuple[TaskTrack, ConfigEntity]]:
    """The first incumbent of every task, then the second ones, and so on.

    Those of a task are looked up when its first is due.
    """
    others = []
    for track in tracks:
        found = [(track, config) for config in _incumbents(track, context)]
        yield from found[:1]
        others.append(found[1:])
    for column in zip_longest(*others):
        yield from (found for found in column if found is not None)


def _incumbents(track: TaskTrack, context: RunContext) -> list[ConfigEntity]:
    task = track.entry.task
    found = [context.host.fallback_config(task, track.space)]
    found += best_of_anchor(context, task)
    found += adopted_configs(context, task)
    return track.unmeasured(config for config in found if track.space.is_valid(config))
