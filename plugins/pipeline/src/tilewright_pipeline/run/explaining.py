"""What says why it is as it was chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tilewright.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from tilewright_pipeline.run.run_context import RunContext


class Explanation(Protocol):
    """Why something is as it was chosen, for people and for programs."""

    def lines(self) -> Iterator[str]: ...

    def to_json(self) -> Mapping[str, Any]: ...


@runtime_checkable
class Explains(Protocol):
    """A value of a pipeline, such as a network, that says why its parts have their configs."""

    @property
    def parts(self) -> Sequence[str]:
        """Their names."""
        ...

    def explain(
        self, context: RunContext, part: str | None, options: Sequence[Any]
    ) -> Iterator[Explanation]:
        """From the records, measuring nothing: all parts of a name or key, which may be none.

        Without `part`, those that are not at their own best. `options` are those of the pipeline's
        stages, in order: the choice is explained that these stages make.
        """
        ...


def no_such_part(part: str, networks: Sequence[Explains]) -> UsageError:
    """The message where nothing has that name or key."""
    return UsageError(
        f"no node and no task is named {part!r}",
        remedy=did_you_mean(part, [name for network in networks for name in network.parts]),
    )
