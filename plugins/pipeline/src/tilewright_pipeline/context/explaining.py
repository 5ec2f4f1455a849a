"""Why the parts of a value, such as a network's kernels, have their configs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tilewright.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from tilewright_pipeline.context.run_context import RunContext


class Explanation(Protocol):
    """Why something is as it was chosen, for people and for programs."""

    def lines(self) -> Iterator[str]: ...

    def to_json(self) -> Mapping[str, Any]: ...


@runtime_checkable
class Explains(Protocol):
    """Says why the parts of one value have their configs: what `tilewright_explain` gives."""

    @property
    def parts(self) -> Sequence[str]:
        """Their names."""

    def explain(self, part: str | None) -> Iterator[Explanation]:
        """From the records, measuring nothing: all parts of a name or key, which may be none.

        Without `part`, those that are not at their own best.
        """


def explainers(
    values: Iterable[object], context: RunContext, options: Sequence[Any]
) -> Iterator[Explains]:
    """What explains each of the values that a plugin knows to explain."""
    for value in values:
        given = {"value": value, "context": context, "options": options}
        found = context.host.decide("tilewright_explain", _wrong, **given)
        if found is not None:
            yield found


def _wrong(answer: object) -> str:
    return "" if isinstance(answer, Explains) else f"a {type(answer).__name__} explains nothing"


def no_such_part(part: str, networks: Sequence[Explains]) -> UsageError:
    """The message where nothing has that name or key."""
    return UsageError(
        f"no node and no task is named {part!r}",
        remedy=did_you_mean(part, [name for network in networks for name in network.parts]),
    )
