"""A CUDA program: texts of kernels, and the launches that make up one run of it. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Pointer:
    """An argument of a launch: the address of a slot plus bytes.

    slot   number of an operand, and behind the operands of a workspace buffer
    """

    slot: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch.

    module         number of the text that holds the kernel
    kernel         its `extern "C"` name there
    grid, block    (x, y, z) numbers of blocks, and of threads in a block
    shared_bytes   dynamic shared memory of a block
    arguments      one pointer a parameter, in the kernel's order
    """

    module: int
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: tuple[Pointer, ...]


@dataclass(frozen=True, slots=True)
class CudaProgram:
    """What a candidate or a whole network is before and after compilation.

    modules          CUDA C texts, each compiled on its own; the prelude stands in them
    launches         in order, on one stream: each sees what those before it wrote
    operands         (shape, dtype) of each: inputs, then outputs
    workspace_bytes  size of every further slot, which the kernel provides; content undefined
    """

    modules: tuple[str, ...]
    launches: tuple[Launch, ...]
    operands: tuple[tuple[tuple[int, ...], str], ...]
    workspace_bytes: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """All but the texts."""
        return {
            "launches": [
                {
                    "module": launch.module,
                    "kernel": launch.kernel,
                    "grid": list(launch.grid),
                    "block": list(launch.block),
                    "shared_bytes": launch.shared_bytes,
                    "arguments": [[p.slot, p.offset] for p in launch.arguments],
                }
                for launch in self.launches
            ],
            "operands": [[list(shape), dtype] for shape, dtype in self.operands],
            "workspace_bytes": list(self.workspace_bytes),
        }

    @classmethod
    def from_json(cls, modules: tuple[str, ...], data: Any) -> CudaProgram:
        """The inverse of `to_json`. KeyError, TypeError or ValueError for anything else."""
        launches = tuple(
            Launch(
                int(one["module"]),
                str(one["kernel"]),
                _three(one["grid"]),
                _three(one["block"]),
                int(one["shared_bytes"]),
                tuple(Pointer(int(slot), int(offset)) for slot, offset in one["arguments"]),
            )
            for one in data["launches"]
        )
        operands = tuple((tuple(map(int, shape)), str(dtype)) for shape, dtype in data["operands"])
        return cls(modules, launches, operands, tuple(map(int, data["workspace_bytes"])))


def _three(numbers: Any) -> tuple[int, int, int]:
    x, y, z = map(int, numbers)
    return x, y, z
