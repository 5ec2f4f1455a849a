"""A network compiled for a range of sizes: it runs each in a bucket, and cuts the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from itertools import chain
from pathlib import Path
from typing import Any, Self

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.compiled.given_arrays import by_name, checked_arrays
from tilewright_graph.compiled.padding import Padding
from tilewright_graph.compiled.saved import saved_buckets
from tilewright_graph.compiled.saved.saved_buckets import SavedBucket
from tilewright_graph.compiled.size_table import SizesRow, size_table, table_text
from tilewright_graph.network.dimension import Dimension

Answer = Callable[[CompiledNetwork, Mapping[str, Any]], dict[str, Any]]


class BucketedNetwork:
    """Takes any size of one dimension within a range; its networks share their constants.

    Threads that share one take turns at each bucket.

    >>> print(network)
    batch  runs as  ms
    4      4        0.3452
    5      4 + 1    0.4239
    6..7   7        0.6012
    >>> answers = network.run({"data": six_images})  # by the network for 7, and cut to 6
    >>> network.save("folder"); BucketedNetwork.load("folder")

    A size runs in the next bucket that is not below it, padded by its last row, or in several one
    after the other; where rows of the network meet, every size has a bucket of its own.

    inputs, outputs, observed  specs as those of `CompiledNetwork`, at the largest size
    networks   a CompiledNetwork for each bucket, by size, ascending
    seconds    of a run of each, as measured when it was compiled
    """

    def __init__(
        self,
        dimension: Dimension,
        networks: Mapping[int, CompiledNetwork],
        seconds: Mapping[int, float],
    ) -> None:
        self.dimension = dimension
        self.networks = dict(networks)
        self.seconds = seconds
        self._known_specs: dict[int, dict[str, TensorSpec]] = {}
        self._paddings = {size: Padding(dimension, one.inputs) for size, one in networks.items()}
        self._runs = {size: row.runs for row in self.table for size in row.sizes}
        largest = networks[dimension.sizes.most]
        self.name, self.target, self.device = largest.name, largest.target, largest.device
        self.precision, self.max_error = largest.precision, largest.max_error
        self.inputs, self.outputs, self.observed = (
            largest.inputs,
            largest.outputs,
            largest.observed,
        )
        # The input that tells the size: the first that has the dimension.
        self._sized = next(name for name in self.inputs if name in dimension.rows)

    def __repr__(self) -> str:
        range_ = f"{self.dimension.name}={self.dimension.sizes}"
        return (
            f"<BucketedNetwork {self.name}: {range_} in {len(self.networks)} buckets; "
            f"for {self.target}>"
        )

    def __str__(self) -> str:
        return table_text(self.dimension, self.table)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __copy__(self) -> BucketedNetwork:
        copies = {size: copy(network) for size, network in self.networks.items()}
        return BucketedNetwork(self.dimension, copies, self.seconds)

    def __reduce__(self) -> tuple[Any, ...]:
        return BucketedNetwork, (self.dimension, self.networks, self.seconds)

    @property
    def table(self) -> list[SizesRow]:
        """Which sizes run as which buckets, ascending."""
        return size_table(self.dimension, self.seconds)

    @property
    def untuned(self) -> tuple[Workload, ...]:
        """Those of its networks, each once."""
        return tuple(dict.fromkeys(chain.from_iterable(n.untuned for n in self.networks.values())))

    @property
    def constant_bytes(self) -> int:
        """What the networks share."""
        constants: Any = self.networks[self.dimension.sizes.most].parts()[1]
        return int(constants.nbytes)

    def runs_as(self, size: int) -> tuple[int, ...]:
        """The buckets that a size runs as, in order. Raises UsageError outside of the range."""
        self.dimension.check(size, self.name)
        return self._runs[size]

    def specs(self, size: int) -> dict[str, TensorSpec]:
        """What it takes at a size. Raises UsageError outside of the range."""
        self.dimension.check(size, self.name)
        return {n: self.dimension.spec(n, spec, size) for n, spec in self.inputs.items()}

    def run(self, inputs: Any) -> dict[str, Any]:
        """The outputs by name, as `CompiledNetwork.run`, of any size within the range.

        Raises UsageError for another size, and for inputs that disagree.
        """
        return self._answer(inputs, CompiledNetwork.run)

    def observe(self, inputs: Any) -> dict[str, Any]:
        """Outputs and observed tensors by name, of the same run."""
        return self._answer(inputs, CompiledNetwork.observe)

    def save(self, folder: str | Path) -> None:
        """All of it in a folder, which is replaced whole."""
        saved = {}
        constants = None
        for size, network in self.networks.items():
            artifact, constants, signature = network.parts()
            saved[size] = SavedBucket(artifact, signature, self.seconds[size])
        saved_buckets.save(Path(folder).absolute(), self.dimension, saved, constants)

    @classmethod
    def load(
        cls, folder: str | Path, host: PluginHost | None = None, device: Device | str | None = None
    ) -> BucketedNetwork:
        """A saved network, as `CompiledNetwork.load` loads one."""
        dimension, buckets, constants = saved_buckets.load(Path(folder))
        host = host or PluginHost.load()
        networks = {}
        for size, one in buckets.items():
            parts = (one.artifact, constants, one.signature)
            networks[size] = CompiledNetwork.of_parts(parts, host, device, str(folder))
        return cls(dimension, networks, {size: one.seconds for size, one in buckets.items()})

    def close(self) -> None:
        """Free the memory; the network cannot be run afterwards."""
        for network in self.networks.values():
            network.close()

    def _answer(self, inputs: Any, answer: Answer) -> dict[str, Any]:
        named = by_name(inputs, self.inputs, self.name)
        size = self._size(named)
        runs, dimension = self.runs_as(size), self.dimension
        if runs == (size,):  # it checks them itself
            return answer(self.networks[size], named)
        if size not in self._known_specs:
            self._known_specs[size] = self.specs(size)
        arrays = checked_arrays(named, self._known_specs[size], self.name)
        answers, first = [], 0
        for bucket in runs:
            count = min(bucket, size - first)
            part = dimension.part(arrays, first, count) if len(runs) > 1 else arrays
            if count == bucket:
                answers.append(answer(self.networks[bucket], part))
            else:
                padding = self._paddings[bucket]
                with padding.turn:
                    whole = answer(self.networks[bucket], padding.filled(part))
                answers.append(dimension.part(whole, 0, count))
            first += count
        return dimension.joined(answers)

    def _size(self, named: Mapping[str, Any]) -> int:
        """The size that the first of the inputs with the dimension has."""
        name = self._sized
        spec = self.inputs[name]
        shape = getattr(named[name], "shape", None)
        if shape is None or len(shape) != len(spec.shape):
            got = "no array" if shape is None else f"one of shape {list(shape)}"
            wanted = self.dimension.text(name, spec)
            raise UsageError(f"input {name!r}: expected {wanted}, got {got}", where=self.name)
        return int(shape[self.dimension.rows[name].axis])
