"""Optuna's samplers as searches: TPE and CMA-ES."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from tilewright.errors import UsageError, did_you_mean
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import Trial
from tilewright_search.cli.peers.flat_space import config_of, parameters
from tilewright_search.cli.searches.curve import Search

if TYPE_CHECKING:
    from tilewright_records.spaces.recorded_space import RecordedSpace

SAMPLERS = ("tpe", "cmaes")
_QUESTIONS = 1000
"""A study is asked so often at most, known and infeasible points included."""


def optuna_search(name: str) -> Search:
    """The search of a sampler, which is told of each trial before it is asked for the next.

    TPE is asked for an alternative first and for its parameters then; CMA-ES, which knows no
    conditions, for the parameters of all alternatives, each as a place in the order of its values.
    Infeasible points are told as twice as slow as the slowest, and known ones again.

    Raises ModuleNotFoundError without Optuna, UsageError for another name.
    """
    import optuna

    if name not in SAMPLERS:
        remedy = did_you_mean(name, [*SAMPLERS])
        raise UsageError(f"no sampler '{name}'", where="optuna", remedy=remedy)
    if name == "cmaes":
        import cmaes  # noqa: F401  Optuna imports it late, in the middle of a study
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def search(space: RecordedSpace, seed: int) -> Generator[ConfigEntity, Trial, None]:
        sampler = (
            optuna.samplers.TPESampler(seed=seed)
            if name == "tpe"
            else optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)
        )
        study = optuna.create_study(sampler=sampler)
        slow = 0.0
        told: dict[ConfigEntity, float] = {}
        for _ in range(_QUESTIONS):
            asked = study.ask()
            config = _suggested(asked, space, conditional=name == "tpe")
            if config not in space.space:
                study.tell(asked, 2 * slow or 1.0)
                continue
            if config not in told:
                seconds = (yield config).result.seconds
                slow = max(slow, seconds or 0.0)
                # Told of a failure, it would ask for the like for ever.
                told[config] = seconds or slow or 1.0
            study.tell(asked, told[config])

    return search


def _suggested(asked: Any, space: RecordedSpace, *, conditional: bool) -> ConfigEntity:
    alternatives = space.space.alternatives
    names = [alternative.name for alternative in alternatives]
    if conditional:
        name = asked.suggest_categorical("alternative", names)
        alternatives = (alternatives[names.index(name)],)
    else:
        name = names[asked.suggest_int("alternative", 0, len(names) - 1)]
    chosen = {}
    for alternative in alternatives:
        for parameter in parameters(alternative):
            most = len(parameter.values) - 1
            if parameter.ordered or not conditional:
                place = asked.suggest_int(parameter.name, 0, most)
            else:
                place = asked.suggest_categorical(parameter.name, list(range(most + 1)))
            chosen[parameter.name] = parameter.values[place]
    return config_of(space.space, name, chosen)
