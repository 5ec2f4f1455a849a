"""A compiled network as a folder: `code`, `constants` and a manifest with their hashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.canonical import thaw
from tilewright.roles import Artifact
from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_graph.compiled.saved.saved_folder import SINGLE, read_folder, reading, write_folder
from tilewright_tensor.expressions.dtype import ITEM_BYTES

_CODE = "code"


@dataclass(frozen=True, slots=True)
class NetworkSignature:
    """What a compiled network is called and takes and gives, by tensor name, in order.

    precision  the lowest of its products
    max_error  within which graph-tune kept the error of its answers
    counted    tensors of two dimensions of which values decide how many rows they have
    untuned    workloads of kernels whose config rests on no measurement
    masks      inputs that say which rows are given (see `Network.masks`)
    """

    name: str
    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec]
    observed: Mapping[str, TensorSpec]
    precision: str = "float32"
    max_error: float | None = None
    counted: tuple[str, ...] = ()
    untuned: tuple[Workload, ...] = ()
    masks: tuple[str, ...] = ()

    @property
    def asked(self) -> dict[str, TensorSpec]:
        """Inputs that a caller gives."""
        return {name: spec for name, spec in self.inputs.items() if name not in self.masks}

    @property
    def tensors(self) -> dict[str, TensorSpec]:
        """All of them."""
        return {**self.inputs, **self.outputs, **self.observed}

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "precision": self.precision,
            **({} if self.max_error is None else {"max_error": self.max_error}),
            **({"counted": list(self.counted)} if self.counted else {}),
            **({"untuned": [one.to_json() for one in self.untuned]} if self.untuned else {}),
            **({"masks": list(self.masks)} if self.masks else {}),
            **{
                role: _specs_to_json(getattr(self, role))
                for role in ("inputs", "outputs", "observed")
            },
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> NetworkSignature:
        inputs, outputs, observed = (
            _specs_from_json(data[role]) for role in ("inputs", "outputs", "observed")
        )
        precision = data.get("precision", "float32")
        max_error = data.get("max_error")
        if not (max_error is None or (isinstance(max_error, float) and max_error > 0)):
            raise ValueError(f"max_error {max_error!r}")
        counted = tuple(data.get("counted", ()))
        if any(len({**outputs, **observed}[name].shape) != 2 for name in counted):
            raise ValueError(f"counted {counted!r}")
        untuned = tuple(Workload.from_json(one) for one in data.get("untuned", ()))
        masks = tuple(data.get("masks", ()))
        if any((len(inputs[name].shape), inputs[name].dtype) != (1, "bool") for name in masks):
            raise ValueError(f"masks {masks!r}")
        results = (inputs, outputs, observed)
        return cls(data["name"], *results, precision, max_error, counted, untuned, masks)


def save(folder: Path, artifact: Artifact, constants: Any, signature: NetworkSignature) -> None:
    """Write the folder, whole or not at all. Raises UsageError where it cannot be."""
    manifest = {"version": SINGLE, **entry(artifact, signature)}
    write_folder(folder, manifest, {_CODE: artifact.data}, constants)


def load(folder: Path) -> tuple[Artifact, Any, NetworkSignature]:
    """Artefact, constants and signature. Raises UsageError unless every byte is as it was saved."""
    with reading(folder):
        manifest, codes, constants = read_folder(folder, SINGLE)
        artifact, signature = from_entry(manifest, codes[_CODE])
    return artifact, constants, signature


def entry(artifact: Artifact, signature: NetworkSignature) -> dict[str, Any]:
    """What a manifest says of a network."""
    return {
        "signature": signature.to_json(),
        "target": artifact.target,
        "format": artifact.format,
        "metadata": thaw(artifact.metadata),
    }


def from_entry(told: Mapping[str, Any], code: bytes) -> tuple[Artifact, NetworkSignature]:
    """The artefact and signature of an entry. Raises ValueError, KeyError or TypeError."""
    signature = NetworkSignature.from_json(told["signature"])
    if unknown := {spec.dtype for spec in signature.tensors.values()} - ITEM_BYTES.keys():
        raise ValueError(f"dtypes {unknown!r}")
    target, format_ = told["target"], told["format"]
    _check_texts(signature.name, signature.precision, target, format_, *signature.tensors)
    return Artifact(target, format_, code, told["metadata"]), signature


def _check_texts(*texts: object) -> None:
    for text in texts:
        if not isinstance(text, str):
            raise TypeError("expected a text")


def _specs_to_json(specs: Mapping[str, TensorSpec]) -> list[Any]:
    return [[name, *spec.to_json()] for name, spec in specs.items()]


def _specs_from_json(data: list[Any]) -> dict[str, TensorSpec]:
    return {name: TensorSpec.from_json(spec) for name, *spec in data}
