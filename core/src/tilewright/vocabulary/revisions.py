"""What is installed of strategies: revisions by name, and which names they had before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.record import GraphRecord, Record


class Revisions(Mapping[str, int]):
    """The installed revision of each strategy, by its name or by one that it had before.

    >>> known = Revisions({"mine.toy": 2}, {"mine": "mine.toy"})
    >>> known["mine"], list(known), known.present("mine/wide")
    (2, ['mine.toy'], 'mine.toy/wide')

    What iterates sees present names only.
    """

    def __init__(self, installed: Mapping[str, int], renamed: Mapping[str, str]) -> None:
        self._installed = dict(installed)
        self._renamed = {old: new for old, new in renamed.items() if old not in installed}

    def __getitem__(self, name: str) -> int:
        return self._installed[self._renamed.get(name, name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._installed)

    def __len__(self) -> int:
        return len(self._installed)

    def present(self, alternative: str) -> str:
        """The present name of a strategy or alternative; one that never changed stays."""
        strategy, slash, variant = alternative.partition("/")
        return f"{self._renamed.get(strategy, strategy)}{slash}{variant}"


def present_name(alternative: str, revisions: Mapping[str, int]) -> str:
    """The present name of an alternative; a plain mapping knows no other one."""
    return revisions.present(alternative) if isinstance(revisions, Revisions) else alternative


def present_config(config: ConfigEntity, revisions: Mapping[str, int]) -> ConfigEntity:
    """The config under the present name of its strategy."""
    name = present_name(config.strategy, revisions)
    return config if name == config.strategy else replace(config, strategy=name)


def present_record(record: Record, revisions: Mapping[str, int]) -> Record:
    """The record with its config under the present name of its strategy."""
    config = present_config(record.config, revisions)
    if config is record.config:
        return record
    trial = record.trial
    return replace(record, trial=replace(trial, input=replace(trial.input, config=config)))


def present_choice(choice: GraphRecord, revisions: Mapping[str, int]) -> GraphRecord:
    """The choice with its configs under the present names of their strategies."""
    won = choice.won and replace(choice.won, over=present_config(choice.won.over, revisions))
    return replace(choice, config=present_config(choice.config, revisions), won=won)
