"""What a saved cost model says of the features it was fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.errors import UsageError
from tilewright_search.models.features import FeatureKind
from tilewright_search.models.knob_features import ALTERNATIVE


@dataclass(frozen=True, slots=True)
class FeatureSignature:
    """Kind (`knobs` or `loops`) and column names, in order."""

    kind: FeatureKind
    names: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"features": self.kind, "names": list(self.names)}

    @classmethod
    def from_json(cls, data: Any, path: Path) -> FeatureSignature:
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

    def knows(self, names: Sequence[str], path: Path) -> bool:
        """Whether the model can say anything of rows with these columns, of its kind.

        Of a space's alternatives it has to know one. Loop features are the same for every program:
        raises UsageError where they are others here.
        """
        if self.kind == "knobs":
            return any(name.startswith(ALTERNATIVE) for name in set(self.names) & set(names))
        if differing := sorted(set(self.names) ^ set(names)):
            raise UsageError(
                f"a cost model of {len(self.names)} {self.kind} features does not fit: here are "
                f"{len(names)}, and {differing[0]!r} is not in both",
                where=str(path),
                remedy="fit one on records of such tasks: `tilewright bench models --save`",
            )
        return True
