"""A network as one kernel with its constants: runs, is timed, is saved and loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from statistics import fmean, median, pstdev
from threading import Lock
from typing import Any, Self

import numpy as np

from tilewright.canonical import thaw
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.notebook import notebook_html
from tilewright.roles import Artifact, Kernel, ReadsInPlace, SwapsKernels
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.compiled.given_arrays import given_arrays
from tilewright_graph.compiled.operand_parts import OperandParts
from tilewright_graph.compiled.saved import saved_network
from tilewright_graph.network.counted_rows import counted_rows
from tilewright_graph.network.network import signature_text
from tilewright_pipeline.context.find_device import find_device
from tilewright_pipeline.context.time_text import time_text
from tilewright_tensor.expressions.dtype import numpy_type
from tilewright_tensor.kernels.guarded_memory import GuardedMemory
from tilewright_tensor.kernels.shared_operand import may_be_shared

Parts = tuple[Artifact, Any, saved_network.NetworkSignature]
_LEAST_RUNS = 3
_MOST_SAMPLES = 1000  # that are written down


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds of every run, in order."""

    seconds: tuple[float, ...]

    def __repr__(self) -> str:
        return f"<Latency {self}>"

    def __str__(self) -> str:
        least, most = time_text(min(self.seconds)), time_text(max(self.seconds))
        middle = time_text(median(self.seconds))
        return f"median {middle}, {least} to {most} in {len(self.seconds)} runs"

    def to_json(self) -> dict[str, Any]:
        """What run.json says of it, in milliseconds."""
        samples = [second * 1e3 for second in self.seconds]
        return {
            "mean_ms": fmean(samples),
            "median_ms": median(samples),
            "max_ms": max(samples),
            "min_ms": min(samples),
            "std_ms": pstdev(samples),
            "runs": len(samples),
            "samples_ms": [float(f"{sample:.6g}") for sample in samples[:: self._step]],
        }

    @property
    def _step(self) -> int:
        """Of so many samples one is written down."""
        return -(-len(self.seconds) // _MOST_SAMPLES)


def affordable_runs(runs: int, once: float, seconds: float) -> int:
    """How many of `runs` runs of `once` seconds fit into `seconds`; at least three."""
    return min(runs, max(_LEAST_RUNS, int(min(seconds / max(once, 1e-9), runs))))


class CompiledNetwork:
    """Ready to run on one device; threads that share one take turns.

    >>> outputs = compiled.run({"data": image})  # or run([image]); by name
    >>> compiled.observe({"data": image})  # inner tensors too, such as the logits
    >>> compiled.benchmark(runs=100).to_json()
    >>> compiled.save("folder"); CompiledNetwork.load("folder")
    >>> with copy.copy(compiled) as another: ...  # runs beside it; closed in the end

    Pickled, it takes its code and constants along, to processes with the same plugins installed.

    inputs    specs of what the caller gives, by name, in order
    outputs   specs of what `run` returns; of those of which values decide how many rows they have,
              such as the boxes that a detector keeps, the most that there can be
    observed  specs of what `observe` returns besides; they are written by every run, at no cost
              worth naming
    precision the lowest of its products of float32
    max_error within which graph-tune kept the relative error of its answers, None if not asked to
    untuned   workloads of kernels whose config rests on no measurement
    """

    def __init__(
        self,
        artifact: Artifact,
        constants: Any,
        signature: saved_network.NetworkSignature,
        host: PluginHost,
        device: Device,
    ) -> None:
        self.name, self.precision = signature.name, signature.precision
        self.max_error, self.untuned = signature.max_error, signature.untuned
        self.target = Target.parse(artifact.target)
        self.device = device
        specs, masks = signature.inputs, signature.masks
        self.inputs = signature.asked
        self.outputs, self.observed = signature.outputs, signature.observed
        self._every_row = {name: np.ones(specs[name].shape, np.bool_) for name in masks}
        self._artifact = artifact
        self._constants = constants
        self._signature = signature
        self._host = host
        kernel: Kernel = host.backend(self.target.kind).load(artifact, device)
        results = {**self.outputs, **self.observed}
        fed = [name for name, spec in specs.items() if 0 not in spec.shape]
        made = [n for n, spec in results.items() if 0 not in spec.shape and n not in specs]
        arrays = [self._every_row.get(name, _zeros(specs[name])) for name in fed]
        operands = [*arrays, constants, *(_zeros(results[name]) for name in made)]
        if isinstance(kernel, ReadsInPlace):
            kernel.bind_shared(operands, {len(fed)})
        else:
            kernel.bind(operands, {})
        self._kernel: Kernel | None = kernel
        self._parts = OperandParts(kernel)
        self._turn = Lock()
        self._places = {name: place for place, name in enumerate([*fed, "", *made]) if name}
        self._fed = fed

    def __repr__(self) -> str:
        closed = "closed " if self._kernel is None else ""
        told = signature_text(self.name, self.inputs, self.outputs)
        return f"<{closed}CompiledNetwork {told}; for {self.target}>"

    def _repr_html_(self) -> str | None:
        return notebook_html(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __copy__(self) -> CompiledNetwork:
        return CompiledNetwork(*self.parts(), self._host, self.device)

    def __deepcopy__(self, _: Any) -> CompiledNetwork:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        with self._alone():
            plain = replace(self._artifact, metadata=thaw(self._artifact.metadata))
            arguments = (plain, self._constants, self._signature.to_json(), self.device.name)
            return unpickled, (*arguments, tuple(self._host.files))

    def run(self, inputs: Any) -> dict[str, Any]:
        """The outputs by name, of arrays by name, in a list in order, or of the one that it takes.

        Raises UsageError for inputs of another name, shape or dtype.
        """
        return self._answer(inputs, self.outputs)

    def observe(self, inputs: Any) -> dict[str, Any]:
        """Outputs and observed tensors by name, of the same run."""
        return self._answer(inputs, {**self.outputs, **self.observed})

    def benchmark(
        self,
        runs: int = 100,
        warmup: int = 10,
        seconds: float = inf,
        rows: Sequence[int] | None = None,
    ) -> Latency:
        """Latency of whole runs on the inputs written last, one sample a run.

        Fewer runs, at least three, where so many would take more than `seconds`. `rows` as for
        `run_part`.
        """
        for _ in range(warmup):
            self.time(rows)
        count = affordable_runs(runs, self.time(rows), seconds)
        return Latency(tuple(self.time(rows) for _ in range(count)))

    def run_part(
        self, arrays: Mapping[str, Any], results: Mapping[str, TensorSpec], rows: Sequence[int]
    ) -> dict[str, Any]:
        """The results, each from the beginning of its axes, of arrays that begin its inputs.

        arrays    of masks, too
        rows      of each dimension that may be smaller; those behind them are computed only by
                  kernels that cannot do without
        """
        with self._turn:
            kernel, parts = self._open(), self._parts
            for name in self._fed:
                parts.write(self._places[name], arrays[name], self._signature.inputs[name].shape)
            parts.with_rows(rows, kernel.launch)
            return {name: self._result(arrays, name, results[name]) for name in results}

    def time(self, rows: Sequence[int] | None = None) -> float:
        """Seconds of one run on the inputs written last; `rows` as for `run_part`."""
        with self._alone() as kernel:
            return self._parts.with_rows(rows, lambda: kernel.time(1))

    def swap(self, call: int, program: int) -> None:
        """Let a call launch another of the programs that it was linked with; 0 is its own.

        Of a target that has `SwapsKernels` only.
        """
        backend = self._host.backend(self.target.kind)
        assert isinstance(backend, SwapsKernels)
        with self._alone() as kernel:
            backend.swap_kernel(kernel, call, program)

    def save(self, folder: str | Path) -> None:
        """Object code, packed constants and manifest in a folder, which is replaced whole."""
        saved_network.save(Path(folder).absolute(), *self.parts())

    def parts(self) -> Parts:
        """What it is saved as, and made of by `of_parts`: code, packed constants, signature."""
        with self._alone():
            return self._artifact, self._constants, self._signature

    @classmethod
    def load(
        cls, folder: str | Path, host: PluginHost | None = None, device: Device | str | None = None
    ) -> CompiledNetwork:
        """A saved network, on a device or that of a name; by default the target's first.

        One that is emulated is used where it is named only. Nothing is generated.

        Raises UsageError for a folder that was changed since, or made for an instruction set this
        machine lacks.
        """
        parts = saved_network.load(Path(folder))
        return cls.of_parts(parts, host or PluginHost.load(), device, str(folder))

    @classmethod
    def of_parts(
        cls, parts: Parts, host: PluginHost, device: Device | str | None, folder: str
    ) -> CompiledNetwork:
        """What `load` makes of a folder's content. Raises UsageError as it does."""
        artifact, constants, signature = parts
        if not isinstance(device, Device):
            device = find_device(host, Target.parse(artifact.target), device)
        try:
            return cls(artifact, constants, signature, host, device)
        except (ValueError, MemoryError) as error:
            raise UsageError(
                f"the manifest says another thing than the code: {error}",
                where=folder,
                remedy="compile and save it again",
            ) from error

    def close(self) -> None:
        """Free the memory; the network cannot be run afterwards."""
        with self._turn:
            if self._kernel is not None:
                self._kernel.close()
            self._kernel = None

    @contextmanager
    def _alone(self) -> Iterator[Kernel]:
        with self._turn:
            yield self._open()

    def _open(self) -> Kernel:
        if self._kernel is None:
            raise UsageError(
                "the network is closed", where=self.name, remedy="compile or load it again"
            )
        return self._kernel

    def _answer(self, inputs: Any, wanted: Mapping[str, TensorSpec]) -> dict[str, Any]:
        arrays = {**given_arrays(inputs, self.inputs, self.name), **self._every_row}
        with self._turn:  # not `_alone`: its generator takes a microsecond
            kernel = self._open()
            for name in self._fed:
                kernel.write(self._places[name], arrays[name])
            kernel.launch()
            return {name: self._result(arrays, name, wanted[name]) for name in wanted}

    def _result(self, arrays: Mapping[str, Any], name: str, spec: TensorSpec) -> Any:
        if name in arrays:
            return arrays[name].copy()
        if name not in self._places:
            return _zeros(spec)
        array = self._parts.read(self._places[name], spec.shape)
        return counted_rows(array) if name in self._signature.counted else array


def _zeros(spec: TensorSpec) -> Any:
    return np.zeros(spec.shape, numpy_type(spec.dtype))


def unpickled(
    artifact: Artifact, constants: Any, signature: Any, device: str, files: Sequence[Path]
) -> CompiledNetwork:
    """What arrives of a pickled network; the plugin files that it needs have to be here as well."""
    host = PluginHost.load(files)
    found = find_device(host, Target.parse(artifact.target), device)
    parsed = saved_network.NetworkSignature.from_json(signature)
    return CompiledNetwork(artifact, on_a_line(constants), parsed, host, found)


def on_a_line(constants: Any) -> Any:
    """Constants that begin on a cache line, so that kernels share them: themselves if they do.

    Those that were pickled begin anywhere.
    """
    if may_be_shared(constants):
        return constants
    block = GuardedMemory(constants.nbytes).bytes
    block[...] = constants
    return block
