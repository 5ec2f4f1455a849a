"""What model-guided tuners share: learn from every trial of the run, look around, pick a batch."""

from __future__ import annotations

import logging
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, FilePath

from tilewright.options import Choice, Options
from tilewright.paths import path_of
from tilewright_search.models.checked_model import checked_model
from tilewright_search.models.experience import Experience
from tilewright_search.models.features import FeatureKind, Floats
from tilewright_search.models.interface import CostModel
from tilewright_search.models.ranker import PretrainedRanker, Ranker
from tilewright_search.moves.diverse import pick_diverse
from tilewright_search.moves.unmeasured import Unmeasured

if TYPE_CHECKING:
    from tilewright.host.contexts import Prior, TunerContext
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.measure import Trial

# The diverse pick looks at so many times the batch; what the model ranks lower is not worth a
# measurement. A row of loop features costs a lowering, so there are fewer of them.
_SHORTLIST = 8
_LOOP_SHORTLIST = 2

# One config in so many is random in a batch that a prior chooses.
_RANDOM = 4

_log = logging.getLogger("tilewright")

Score = Callable[[Sequence[int]], Floats]


def _expanded(path: Any) -> Any:
    return str(path_of(path)) if isinstance(path, str) else path


class GuidedOptions(Options):
    """Options of every model-guided tuner."""

    batch: int = Field(
        16, ge=1, description="configs a batch; the model decides once it knows so many trials"
    )
    loss: Literal["rank", "reg"] = Field("reg", description="rank pairs, or fit throughput")
    cost_model: Choice | None = Field(None, description="another cost model than the default")
    features: FeatureKind = Field(
        "knobs", description="`loops`: a second model, of the lowered programs, ranks the best few"
    )
    pretrained: Annotated[FilePath, BeforeValidator(_expanded)] | None = Field(
        None, description="saved cost model that ranks configs before there are trials"
    )
    epsilon: float = Field(0.05, ge=0, le=1, description="chance of a config to be random")
    diversity: float = Field(0.2, ge=0, description="score given up for a config far from others")
    sample: int = Field(
        128, ge=16, description="random configs, balanced over the alternatives, behind a batch"
    )


class GuidedTuner(ABC):
    """Proposes what a cost model, trained on the whole run's trials, predicts to be fastest.

    >>> tuner.propose(16)       # what the context's prior rates best; without one random ones, or
    ...                         # what other tasks taught, and half of them its starts
    >>> tuner.observe(trials)
    >>> tuner.propose(16)       # the best that `explore` found, spread out; a few at random

    Exploring takes hundreds of scores and is led by a model of the knobs; a second model, of the
    loops of the lowered programs, may be asked about the few best. On recordings it saved between
    none and a fifth of the trials, and took more time than all the rest of the search. Equal seed
    and equal trials give equal batches.
    """

    def __init__(self, options: Any, context: TunerContext) -> None:
        self._options = options
        self._task = context.task
        self._space = context.space
        self._alternatives = {alternative.name for alternative in context.space.alternatives}
        self._unmeasured = Unmeasured(context)
        self._saved = self._pretrained(context)
        # Whom the user names comes before whom plugins offer.
        self._starts = context.starts if self._saved is None else ()
        self._prior = context.prior if self._saved is None else None
        self._knobs = self._ranker(context, "knobs", self._prior)
        self._loops = self._ranker(context, "loops") if options.features == "loops" else None

    @abstractmethod
    def explore(
        self,
        best: Iterator[int],
        sample: Sequence[int],
        score: Score,
        generator: random.Random,
    ) -> dict[int, float]:
        """The indexes of feasible configs with their scores, the sample's among them.

        best     what was measured, fastest first
        sample   random ones that were not measured, every alternative alike
        """

    def propose(self, count: int) -> Sequence[ConfigEntity]:
        indexes = self._batch(count)
        self._unmeasured.mark(indexes)
        return self._configs(indexes)

    def observe(self, trials: Sequence[Trial]) -> None:
        self._unmeasured.observe(trials)
        for ranker in (self._knobs, self._loops):
            if ranker is not None:
                ranker.experience.add(trials)

    def _pretrained(self, context: TunerContext) -> PretrainedRanker | None:
        """The saved model, if there is one that knows an alternative of the task."""
        path = self._options.pretrained
        if path is None:
            return None
        saved = PretrainedRanker(path, _make_model(self._options, context), context.host)
        some = self._space.sample(random.Random(0), 2 * len(self._alternatives), balanced=True)
        if not some or saved.knows(self._task, some):
            return saved
        operator = self._task.workload.operator
        said = f"{path}: the cost model was fitted on no alternative of '{operator}'"
        context.shared((__name__, operator), lambda: _log.warning("%s: it is not asked", said))
        return None

    def _batch(self, count: int) -> list[int]:
        generator = self._unmeasured.generator()
        sample = self._unmeasured.draw(
            generator, max(2 * count, self._options.sample), balanced=True
        )
        if not sample:
            return []
        experience, batch, prior = self._knobs.experience, self._options.batch, self._prior
        is_first = experience.trials(self._task) < batch
        starts = list(self._found(self._starts)) if is_first else []
        is_taught = experience.count(self._task, self._alternatives) >= batch
        if prior is not None and (is_first or not is_taught):
            found = self._foretold(prior, starts, sample, count, generator)
        elif is_taught:
            found = self._ranked(sample, count, generator)
        elif self._saved is not None:
            shortlist = sample[: _SHORTLIST * count]
            scores = self._saved.score(self._task, self._configs(shortlist))
            found = self._pick(shortlist, _shares(scores), count)
        else:
            # Not the most spread out: these lie at the edges, where tiles are useless.
            found = list(sample)
        if prior is None:  # nobody rates the starts: half a batch of them, for they may be wrong
            likely = [index for index in starts if index in self._unmeasured]
            found = [*likely[: -(-count // 2)], *found]
        return list(dict.fromkeys(found))[:count]

    def _foretold(
        self,
        prior: Prior,
        starts: Sequence[int],
        sample: Sequence[int],
        count: int,
        generator: random.Random,
    ) -> list[int]:
        """The best by what was learned before the run, then random ones, for it may be wrong."""

        def score(indexes: Sequence[int]) -> Floats:
            return np.fromiter(prior(self._configs(indexes)), np.float32)

        candidates, scores = self._sorted(self.explore(iter(starts), sample, score, generator))
        shortlist = candidates[: _SHORTLIST * count]
        likely = self._pick(shortlist, scores[: len(shortlist)], count - count // _RANDOM)
        return [*likely, *sample]

    def _ranked(self, sample: Sequence[int], count: int, generator: random.Random) -> list[int]:
        """The best that the models find; with a small chance each, a random one instead."""
        self._knobs.fit(self._task)
        visited = self.explore(self._best(), sample, self._score, generator)
        candidates, scores = self._sorted(visited)
        if self._loops is not None:
            candidates = candidates[: _LOOP_SHORTLIST * count]
            self._loops.fit(self._task)
            second = _shares(self._loops.score(self._task, self._configs(candidates)))
            scores = np.mean([scores[: len(candidates)], second], axis=0, dtype=np.float32)
        shortlist = candidates[: _SHORTLIST * count]
        chosen = self._pick(shortlist, scores[: len(shortlist)], count)
        lucky = [
            place for place in range(len(chosen)) if generator.random() < self._options.epsilon
        ]
        strangers = (index for index in sample if index not in chosen)
        for place, index in zip(lucky, strangers, strict=False):
            chosen[place] = index
        return chosen

    def _sorted(self, visited: dict[int, float]) -> tuple[list[int], Floats]:
        """What was not measured, the most promising first, with scores from 0 to 1."""
        candidates = [index for index in visited if index in self._unmeasured]
        candidates.sort(key=visited.__getitem__, reverse=True)
        return candidates, _shares(np.array([visited[index] for index in candidates], np.float32))

    def _best(self) -> Iterator[int]:
        """What was measured and is feasible here, fastest first."""
        return self._found(self._knobs.experience.best(self._task))

    def _found(self, configs: Iterable[ConfigEntity]) -> Iterator[int]:
        """The indexes of those that are feasible here."""
        for config in configs:
            index = self._space.find(config)
            if index is not None and self._space.is_index_valid(index):
                yield index

    def _score(self, indexes: Sequence[int]) -> Floats:
        return self._knobs.score(self._task, self._configs(indexes))

    def _configs(self, indexes: Sequence[int]) -> list[ConfigEntity]:
        return list(map(self._space.get, indexes))

    def _pick(self, indexes: Sequence[int], scores: Floats, count: int) -> list[int]:
        features = self._knobs.experience.features(self._task, self._configs(indexes))
        by_name = np.argsort(self._knobs.experience.names)  # sums depend on their order
        places = pick_diverse(features[:, by_name], scores, count, self._options.diversity)
        return [indexes[place] for place in places]

    def _ranker(
        self, context: TunerContext, kind: FeatureKind, prior: Prior | None = None
    ) -> Ranker:
        model = _make_model(self._options, context)
        return Ranker(Experience.of(context, kind), model, prior)


def _shares(scores: Floats) -> Floats:
    """Scores as shares of the way from the worst to the best."""
    shares: Floats = (scores - scores.min()) / max(float(np.ptp(scores)), 1e-9)
    return shares


def _make_model(options: GuidedOptions, context: TunerContext) -> CostModel:
    host, choice = context.host, options.cost_model
    if choice is None:
        name = host.default("cost_model")
        takes_loss = "loss" in host.options_of("cost_model", name).model_fields
        choice = Choice(name, {"loss": options.loss} if takes_loss else {})
    return checked_model(host.choose("cost_model", choice, context), host, choice.name)
