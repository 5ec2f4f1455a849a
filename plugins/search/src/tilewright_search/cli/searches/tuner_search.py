"""An installed tuner as a search."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tilewright.host.contexts import TunerContext
from tilewright.options import Choice
from tilewright.plugins.blamed import Blamed
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import Trial
from tilewright_pipeline.tuning.proposed import batch_of, shared_things
from tilewright_search.cli.searches.curve import Search

if TYPE_CHECKING:
    from tilewright.host.contexts import Prior
    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import Tuner
    from tilewright_records.spaces.recorded_space import RecordedSpace

Lead: TypeAlias = "Callable[[RecordedSpace], tuple[Sequence[ConfigEntity], Prior | None]]"
"""Starts and prior of a tuner of a space."""


def from_nothing(_space: RecordedSpace) -> tuple[tuple[ConfigEntity, ...], None]:
    """Neither in any space."""
    return (), None


def tuner_search(host: PluginHost, choice: Choice, lead: Lead = from_nothing) -> Search:
    """The search of a tuner that sees a batch of its own size at a time, as in a run.

    Not as in a run, trained models say nothing unless asked: they may have seen recorded spaces.
    What it proposes again is left out; it ends with a batch in which nothing is new. Raises
    UsageError for a tuner that is not installed, and for bad options.
    """
    batch = batch_of(host, choice)

    def search(space: RecordedSpace, seed: int) -> Generator[ConfigEntity, Trial, None]:
        tuner = make_tuner(host, choice, space, seed, lead=lead(space))
        seen: set[ConfigEntity] = set()
        while fresh := [each for each in tuner.propose(batch) if each not in seen]:
            trials = []
            for config in fresh:
                trials.append((yield config))  # noqa: PERF401  no comprehension may yield
            seen.update(fresh)
            tuner.observe(trials)

    return search


def make_tuner(
    host: PluginHost,
    choice: Choice,
    space: RecordedSpace,
    seed: int,
    shared: Callable[[Any, Callable[[], Any]], Any] | None = None,
    *,
    lead: tuple[Sequence[ConfigEntity], Prior | None] = ((), None),
) -> Tuner:
    """A tuner of a space, from nothing; of several tasks, `shared` is one for all of them."""
    if shared is None:
        shared = shared_things()
    starts, prior = lead
    context = TunerContext(
        space.task,
        space.space,
        seed,
        (),
        host,
        shared,
        batch_of(host, choice),
        conditions=space.conditions,
        starts=starts,
        prior=prior,
    )
    tuner: Tuner = Blamed(host.choose("tuner", choice, context), host, "tuner", choice.name)
    return tuner
