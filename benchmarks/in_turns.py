"""Configs measured in turns, round after round: a slow phase of the machine falls on them all."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

from tilewright.measure import MeasureInput
from tilewright.roles import MeasureContext, RunContext


def in_turns(
    context: RunContext, asked: Iterable[MeasureInput], rounds: int
) -> Mapping[MeasureInput, list[float]]:
    """Seconds of each config's samples, in rounds of another order each; none where it fails."""
    made = MeasureContext(context.host, context.device, context.seed)
    builder = context.host.make("builder", *context.builder, made)
    runner = context.host.make("runner", *context.runner, made)
    inputs = list(dict.fromkeys(asked))
    samples: dict[MeasureInput, list[float]] = {each: [] for each in inputs}
    try:
        built = list(zip(inputs, builder.build(inputs), strict=True))
        for number in range(rounds):
            random.Random(number).shuffle(built)
            futures = runner.run(*zip(*built, strict=True))
            for (each, _), future in zip(built, futures, strict=True):
                samples[each].extend(future.result().costs)
    finally:
        runner.close()
        builder.close()
    return samples
