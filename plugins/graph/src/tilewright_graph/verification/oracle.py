"""The role of oracles: other systems that run what a network was read from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from tilewright.roles.reference import Array


class Oracle(Protocol):
    """Runs a network's source elsewhere: answers, and times as a peer."""

    def run(
        self, source: Any, inputs: Mapping[str, Array], extra_outputs: Sequence[str]
    ) -> Mapping[str, Array]:
        """Answers by tensor name: the outputs and the extra (inner) tensors asked for."""

    def time(self, source: Any, inputs: Mapping[str, Array], threads: int) -> Callable[[], float]:
        """A function that runs the network once and returns the seconds; set up before."""


@runtime_checkable
class AnswersInTurn(Protocol):
    """An optional part of an `Oracle`: many inputs of the same shapes, set up once."""

    def answer_each(
        self,
        source: Any,
        inputs: Iterable[Mapping[str, Array]],
        extra_outputs: Sequence[str],
    ) -> Iterator[Mapping[str, Array]]:
        """The answers to each of the inputs, as `run` gives them."""


@runtime_checkable
class ReadsFiles(Protocol):
    """An optional part of an `Oracle`: it runs files of one format only.

    A network that was made in Python is written for it, where a writer of the format is installed.

    file_format  the name of the network writer
    """

    file_format: str


@runtime_checkable
class TellsPrecision(Protocol):
    """An optional part of an `Oracle`: its products may have another precision than the model.

    used_precision  that of the last model that it ran or timed, as runs name it (`bfloat16`)
    """

    used_precision: str
