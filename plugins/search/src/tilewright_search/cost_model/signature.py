"""What a saved cost model says of the features it was fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.errors import UsageError

if TYPE_CHECKING:
    from tilewright_search.featurizer import FeatureKind


@dataclass(frozen=True, slots=True)
class Signature:
    """Kind (`knobs` or `loops`) and column names, in order."""

    kind: FeatureKind
    names: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"features": self.kind, "names": list(self.names)}

    @classmethod
    def from_json(cls, data: Any, path: Path) -> Signature:
        """The inverse of `to_json`. Raises UsageError for anything else."""
        match data:
            case {"features": "knobs" | "loops" as kind, "names": [*names]} if all(
                isinstance(name, str) for name in names
            ):
                return cls(kind, tuple(names))
        raise UsageError(
            "no cost model with named features",
            where=str(path),
            remedy="write one with `tilewright bench models --save`",
        )

    def check(self, given: Signature, path: Path) -> None:
        """Raise UsageError where rows have columns that the model does not know.

        Loop features are the same for every program, so there the names have to be equal; of the
        knobs and words of a space some may be missing.
        """
        strange = [name for name in given.names if name not in set(self.names)]
        missing = [name for name in self.names if name not in set(given.names)]
        if self.kind != given.kind or strange or (missing and self.kind == "loops"):
            differing = (strange or missing or [given.kind])[0]
            raise UsageError(
                f"a cost model of {len(self.names)} {self.kind} features does not fit: here are "
                f"{len(given.names)} of {given.kind}, and {differing!r} is not in both",
                where=str(path),
                remedy="fit it again: `tilewright bench models --save`",
            )
