"""What is computed, without saying how: the same value on every target and in every network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from tilewright.canonical import canonical_json, content_key, freeze, thaw
from tilewright.sizes import check_shape
from tilewright.terminal_text import brief

Role = Literal["activation", "constant"]


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An operand in logical axis order, whatever the model's layout.

    Raises UsageError for more elements than a tensor may have (see `sizes.py`).
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    role: Role = "activation"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(n) for n in self.shape))
        check_shape(self.shape, self.dtype)
        if self.role not in ("activation", "constant"):
            raise ValueError(f"an operand is an activation or a constant, not {self.role!r}")

    def __repr__(self) -> str:
        role = "" if self.role == "activation" else f", {self.role!r}"
        return f"TensorSpec({self.shape}, {self.dtype!r}{role})"

    def __str__(self) -> str:
        """As in `float32[1, 3, 224, 224]`."""
        return f"{self.dtype}{list(self.shape)}"

    def to_json(self) -> list[Any]:
        return [list(self.shape), self.dtype, self.role]

    @classmethod
    def from_json(cls, data: Any) -> TensorSpec:
        shape, dtype, role = data
        return cls(tuple(shape), dtype, role)


@dataclass(frozen=True)
class EpilogueOp:
    """One operator applied to the running value, its first argument unless `position` differs.

    `operands` index the workload's inputs; the running value takes argument number `position`, the
    operands fill the other arguments in order. So `x - y` with the running value as `y` is
    `position=1`. `definition` is as in a `Workload`.
    """

    operator: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    operands: tuple[int, ...] = ()
    position: int = 0
    definition: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", freeze(self.attributes))
        object.__setattr__(self, "operands", tuple(self.operands))

    def __hash__(self) -> int:
        return hash((self.operator, canonical_json(self.attributes), self.operands, self.position))

    def to_json(self) -> list[Any]:
        definition = [self.definition] if self.definition else []
        step = [self.operator, thaw(self.attributes), list(self.operands), self.position]
        return [*step, *definition]

    @classmethod
    def from_json(cls, data: Any) -> EpilogueOp:
        operator, attributes, operands, position, *definition = data
        return cls(operator, attributes, tuple(operands), position, *definition)


@dataclass(frozen=True)
class Workload:
    """An operator on ordered inputs, its attributes, and the epilogue fused behind it.

    inputs       operands of the anchor operator first, then those of the epilogue, even where one
                 of them is a tensor that the anchor reads too
    attributes   what the operator's definition knows (`strides`, `padding`, ...); JSON values
    epilogue     in execution order; every step keeps the anchor's output shape
    definition   tells what the operator computes from what it computed earlier under this name:
                 a hash of its definition, or a revision; empty where it is the first one
    """

    operator: str
    inputs: tuple[TensorSpec, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    epilogue: tuple[EpilogueOp, ...] = ()
    definition: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", tuple(self.inputs))
        object.__setattr__(self, "attributes", freeze(self.attributes))
        object.__setattr__(self, "epilogue", tuple(self.epilogue))

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        """Operator, operands and epilogue, as in `NAME(1x64, 10x64)+OTHER`.

        The text form, which tells attributes too, is what its `Reference.format` gives.
        """
        operands = ("x".join(map(str, spec.shape)) or "scalar" for spec in self.anchor.inputs)
        head = f"{self.operator}({', '.join(operands)})"
        return brief("+".join([head, *(op.operator for op in self.epilogue)]), 200)

    def __repr__(self) -> str:
        return f"<Workload {self}, key {self.key}>"

    @cached_property
    def key(self) -> str:
        """16 hexadecimal digits; equal for equal workloads in any network, on any target."""
        return content_key(self.to_json())

    @cached_property
    def anchor(self) -> Workload:
        """The workload without its epilogue and the operands that only the epilogue reads."""
        if not self.epilogue:
            return self
        first = min((i for op in self.epilogue for i in op.operands), default=len(self.inputs))
        return replace(self, inputs=self.inputs[:first], epilogue=())

    @property
    def anchor_key(self) -> str:
        """Key without the epilogue: what a schedule mostly depends on."""
        return self.anchor.key

    @property
    def definitions(self) -> tuple[str, ...]:
        """Of all its operators that have one."""
        every = (self.definition, *(op.definition for op in self.epilogue))
        return tuple(filter(None, every))

    def to_json(self) -> dict[str, Any]:
        """Without `definition` where it is empty, as for all built-in operators at first."""
        definition = {"definition": self.definition} if self.definition else {}
        return {
            "operator": self.operator,
            "inputs": [spec.to_json() for spec in self.inputs],
            "attributes": thaw(self.attributes),
            "epilogue": [op.to_json() for op in self.epilogue],
            **definition,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Workload:
        return cls(
            data["operator"],
            tuple(TensorSpec.from_json(spec) for spec in data["inputs"]),
            data["attributes"],
            tuple(EpilogueOp.from_json(op) for op in data["epilogue"]),
            data.get("definition", ""),
        )
