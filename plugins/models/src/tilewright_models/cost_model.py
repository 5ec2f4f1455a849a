"""A trained cost model as a file: what it may say something of, and what it was trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import UsageError
from tilewright.vocabulary.target import Target
from tilewright_models.columns import VERSION
from tilewright_models.examples import Examples
from tilewright_models.model_file import decoded, remedy, unpacked
from tilewright_search.models.trees import Trees

if TYPE_CHECKING:
    from tilewright.vocabulary.device import Device
    from tilewright_search.models.features import Floats

FORMAT = 2
_MOST_MEMBERS, _MOST_COLUMNS, _MOST_EXAMPLES, _MOST_MACHINES = 16, 4096, 65536, 256


@dataclass(frozen=True, slots=True)
class Machine:
    """What was measured on: a processor, and the target, its threads among it.

    Processors of several generations may have one model name, but not the same caches.
    """

    model: str
    l1_bytes: int
    l2_bytes: int
    target: str

    @property
    def processor(self) -> tuple[str, int, int]:
        """All but the target."""
        return self.model, self.l1_bytes, self.l2_bytes

    @classmethod
    def of(cls, device: Device, target: Target) -> Machine:
        """A device that code for a target runs on."""
        known = device.attributes
        l1, l2 = (int(known.get(name, 0)) for name in ("l1_bytes", "l2_bytes"))
        return cls(str(known.get("model", "")), l1, l2, str(target))

    def resembles(self, other: Machine) -> bool:
        """Whether what was fast on the other may be fast here: equal kind of target and threads.

        With other threads other configs are fast, as was measured; instruction sets matter less.
        """
        own, others = Target.parse(self.target), Target.parse(other.target)
        return (own.kind, own.threads) == (others.kind, others.threads)


@dataclass(frozen=True)
class CostModel:
    """An ensemble: its members were fitted on different halves of the workloads.

    columns   names of the features, in order
    told      what it was trained on, for people
    examples  by the machine that they were measured on
    """

    columns: tuple[str, ...]
    told: str
    examples: Mapping[Machine, Examples]
    members: tuple[Trees, ...]

    def scores(self, rows: Floats) -> Floats:
        """Of each member and row, of shape (members, rows): ln(best seconds / seconds)."""
        return np.stack([member.sums(rows) for member in self.members])

    def examples_for(self, machine: Machine) -> tuple[Examples, ...]:
        """A known machine's own, for any other those of every one that it resembles."""
        own = self.examples.get(machine)
        if own is not None:
            return (own,)
        return tuple(each for known, each in self.examples.items() if machine.resembles(known))

    @classmethod
    def read(cls, packed: bytes, where: str) -> CostModel:
        """The model of a file's bytes: JSON, packed by gzip or zlib.

        Raises UsageError for what is no model, and for one of another version of features.
        """
        data = decoded(unpacked, packed, where)
        version = data.get("format"), data.get("features")
        if version == (FORMAT, VERSION):
            return decoded(lambda some: cls._of(some, where), data, where)
        raise UsageError(
            f"a cost model of another version: {str(version)[:40]}, expected {FORMAT, VERSION}, "
            "its format and its features",
            where=where,
            remedy=remedy(),
        )

    @classmethod
    def _of(cls, data: Mapping[str, Any], where: str) -> CostModel:
        columns = _texts(data["columns"], _MOST_COLUMNS)
        machines = [_machine(each) for each in data["machines"][:_MOST_MACHINES]]
        if len({*columns}) != len(columns):
            raise ValueError("a column is there twice")
        members, examples = data["members"], data["examples"]
        if not 0 < len(members) <= _MOST_MEMBERS or len(examples) > _MOST_EXAMPLES:
            raise ValueError(f"expected 1 to {_MOST_MEMBERS} members, got {len(members)}")
        of_machine: dict[Machine, list[Any]] = {machine: [] for machine in machines}
        for each in examples:
            of_machine[machines[_place(each["machine"], len(machines))]].append(each)
        return cls(
            columns,
            str(data["told"])[:500],
            {machine: Examples(some, where) for machine, some in of_machine.items()},
            tuple(Trees.read(member, len(columns)) for member in members),
        )


def _machine(data: Mapping[str, Any]) -> Machine:
    l1, l2, target = int(data["l1_bytes"]), int(data["l2_bytes"]), str(data["target"])
    if Target.parse(target).threads < 1:
        raise ValueError(f"expected a target, got {target[:40]}")
    return Machine(str(data["model"]), l1, l2, target)


def _place(data: Any, count: int) -> int:
    if type(data) is not int or not 0 <= data < count:
        raise ValueError(f"expected a machine below {count}, got {str(data)[:40]}")
    return data


def _texts(data: Any, most: int) -> tuple[str, ...]:
    if not isinstance(data, Sequence) or isinstance(data, str) or len(data) > most:
        raise ValueError(f"expected a list of at most {most} texts")
    if not all(isinstance(text, str) for text in data):
        raise ValueError("a text is none")
    return tuple(data)
