"""What the model says of a task that was never measured."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

import numpy as np

from tilewright_models.columns import ModelRows
from tilewright_models.cost_model import Machine
from tilewright_pipeline.dispatch.unmeasured import Advice, Advised
from tilewright_search.models.knob_features import ALTERNATIVE
from tilewright_tensor.logs.nearest import NearestPoints

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tilewright.host.contexts import Prior
    from tilewright.host.plugin_host import PluginHost
    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.task import Task
    from tilewright_models.cost_model import CostModel
    from tilewright_models.examples import Example
    from tilewright_pipeline.dispatch.unmeasured import UnmeasuredTask
    from tilewright_search.models.features import Floats

NEAR = 6
"""Workloads of a machine whose best configs are looked at, at most."""
LEAST_GAIN = 1.05
"""Less is not worth leaving the fallback for: a model errs by more."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A config with the gain that the model predicts over the fallback, and its certainty.

    gain    seconds of the fallback over its own, as the mean member takes it
    agree   members that take it to be faster, of so many
    near    the measured workload whose config it was
    """

    config: ConfigEntity
    gain: float
    agree: int
    members: int
    near: Example

    @property
    def is_sure(self) -> bool:
        """Whether it is worth leaving the fallback for: all members but one at most agree."""
        return self.gain >= LEAST_GAIN and self.agree >= self.members - 1

    @property
    def doubt(self) -> str:
        """Why the fallback stays."""
        return (
            f"the fallback stays: what was fast for {self.near.workload} is taken to be "
            f"{self.gain:.2f} times as fast, by {self.agree} of {self.members} to be faster"
        )

    def advised(self, told: str) -> Advised:
        """The config, with what it rests on."""
        source = (
            f"model: {self.gain:.2f} times as fast as the fallback, say {self.agree} of "
            f"{self.members}, as was fast for {self.near.workload}; {told}"
        )
        return Advised(self.config, None, source)


class Advisor:
    """Chooses among what was fast for similar workloads, moved to the nearest points of the space.

    Only configs count that read and write the layouts of the fallback: any other may cost
    transforms, which a model of single kernels does not see. For a machine that it has not learned
    from, it looks at the similar workloads of every machine with equal threads.
    """

    def __init__(self, model: CostModel, machine: Machine, host: PluginHost) -> None:
        self._model, self._host = model, host
        self._examples = model.examples_for(machine)
        known = machine in model.examples
        self._told = model.told if known else f"{model.told}, none of this machine and target"

    def advice(self, asked: UnmeasuredTask) -> Advice | None:
        """What the model says of a task, None where nothing similar was measured."""
        prior = self.prior(asked.task, asked.space, asked.device)
        if prior is None:
            return None
        near = self._near(asked.task, asked.space)
        verdict = self._verdict(asked, near)
        choice, unsure = None, ""
        if verdict is not None and verdict.is_sure:
            choice = verdict.advised(self._told)
        elif verdict is not None:
            unsure = f"; {verdict.doubt}"
        fast = f", and {len(near)} configs that were fast for similar workloads" if near else ""
        told = f"model: its scores{fast}{unsure}; {self._told}"
        return Advice(choice, tuple(near), told, prior)

    def prior(self, task: Task, space: ConfigSpace, device: Device) -> Prior | None:
        """What the mean member takes configs of a task to be.

        None where it learned from no similar task, or from none of the space's alternatives. One of
        them may be enough that was never among the fastest.
        """
        known = {*self._model.columns}
        if not any(f"{ALTERNATIVE}{each.name}" in known for each in space.alternatives):
            return None
        if not any(examples.most_similar(task.workload, 1) for examples in self._examples):
            return None
        table = ModelRows(self._model.columns, device, task.target)
        return lambda configs: self._model.scores(table.rows(task, configs)).mean(axis=0)

    def starts(self, task: Task, space: ConfigSpace) -> tuple[ConfigEntity, ...]:
        """Those of its advice alone, of a space whose strategies need not be installed."""
        return tuple(self._near(task, space))

    def scores(self, task: Task, configs: Sequence[ConfigEntity], device: Device) -> Floats:
        """Of each member and config, of shape (members, configs): ln(best seconds / seconds)."""
        rows = ModelRows(self._model.columns, device, task.target).rows(task, configs)
        return self._model.scores(rows)

    def _verdict(
        self, asked: UnmeasuredTask, near: Mapping[ConfigEntity, Example]
    ) -> Verdict | None:
        """The most promising config, None where nothing fits."""
        task, fallback = asked.task, asked.fallback
        layouts = self._host.layouts(task, fallback).signature
        others = [
            config
            for config in near
            if config != fallback and self._host.layouts(task, config).signature == layouts
        ]
        if not others:
            return None
        scores = self.scores(task, [fallback, *others], asked.device)
        gains = scores[:, 1:] - scores[:, :1]
        best = int(gains.mean(axis=0).argmax())
        gain = float(np.exp(gains[:, best].mean()))
        agree = int((gains[:, best] > 0).sum())
        return Verdict(others[best], gain, agree, len(gains), near[others[best]])

    def _near(self, task: Task, space: ConfigSpace) -> dict[ConfigEntity, Example]:
        """What was fast for similar workloads, the most similar first, as points of its space."""
        found: dict[ConfigEntity, Example] = {}
        for example, config in self._moved(task, space):
            found.setdefault(config, example)
        return found

    def _moved(self, task: Task, space: ConfigSpace) -> Iterator[tuple[Example, ConfigEntity]]:
        points = {each.name: NearestPoints(each) for each in space.alternatives}
        similar = (examples.most_similar(task.workload, NEAR) for examples in self._examples)
        in_turns = chain.from_iterable(zip_longest(*similar))
        for example in filter(None, in_turns):
            for config in map(self._host.present, example.configs):
                known = points.get(config.strategy)
                if known is None:
                    continue
                try:
                    moved = known.to(config.values)
                except (TypeError, ValueError):  # a knob of this name had values of another kind
                    continue
                if moved is not None:
                    yield example, moved


def advise(asked: UnmeasuredTask, host: PluginHost, model: CostModel) -> Advice | None:
    """What the model says where it learned from tasks like this one."""
    machine = Machine.of(asked.device, asked.task.target)
    return Advisor(model, machine, host).advice(asked)
