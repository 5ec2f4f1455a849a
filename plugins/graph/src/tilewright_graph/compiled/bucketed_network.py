"""A network compiled for ranges of sizes: it runs each in a bucket, and cuts the answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_graph.compiled.compiled_network import CompiledNetwork, on_a_line, unpickled
from tilewright_graph.compiled.given_arrays import as_array, by_name, checked_arrays
from tilewright_graph.compiled.saved import saved_buckets
from tilewright_graph.compiled.saved.saved_buckets import SavedBucket
from tilewright_graph.compiled.size_table import size_table, table_text
from tilewright_graph.ranges.dimensions import Dimensions, Sizes

_MOST_WAYS = 4096  # that are kept: of several dimensions there may be very many


@dataclass(frozen=True, slots=True)
class _Step:
    """A run of a bucket's network on so many sizes, from the first row of the divided dimension.

    masks   which of its rows are given, by input of the network
    """

    network: CompiledNetwork
    sizes: Sizes
    first: int
    outputs: Mapping[str, TensorSpec]
    results: Mapping[str, TensorSpec]
    masks: Mapping[str, Any]


_Way = tuple[Mapping[str, TensorSpec], Sequence[_Step]]


class BucketedNetwork:
    """Takes any sizes of its dimensions within their ranges; its networks share their constants.

    Threads that share one take turns at each bucket.

    >>> print(network)
    batch  runs as  ms
    4      4        0.3452
    5      4 + 1    0.4239
    6..7   7        0.6012
    >>> answers = network.run({"data": six_images})  # by the network for 7, and cut to 6
    >>> network.save("folder"); BucketedNetwork.load("folder")

    Sizes run in the next bucket that is below them in no dimension, or in several one after the
    other; where rows of a dimension meet, and no mask keeps those apart that are not given, each of
    its sizes has buckets of its own. In a larger bucket, kernels that can do without leave out rows
    that are not given. Sizes are tuples, in the order of `dimensions`.

    inputs, outputs, observed  specs as those of `CompiledNetwork`, at the largest sizes
    networks   a CompiledNetwork for each bucket, by its sizes, ascending
    seconds    of a run of each, as measured when it was compiled
    least_seconds   the same, of the least size of the dimension along which it leaves out rows
    table      which sizes run as which buckets, ascending
    """

    def __init__(
        self,
        dimensions: Dimensions,
        networks: Mapping[Sizes, CompiledNetwork],
        seconds: Mapping[Sizes, float],
        least_seconds: Mapping[Sizes, float] = MappingProxyType({}),
    ) -> None:
        self.dimensions = dimensions
        self.networks = dict(networks)
        self.seconds, self.least_seconds = seconds, least_seconds
        self.table = size_table(dimensions, seconds, least_seconds)
        self._known_ways: dict[Sizes, _Way] = {}
        largest = networks[dimensions.most]
        self.name, self.target, self.device = largest.name, largest.target, largest.device
        self.precision, self.max_error = largest.precision, largest.max_error
        self.inputs, self.outputs, self.observed = (
            largest.inputs,
            largest.outputs,
            largest.observed,
        )
        # The inputs that tell the sizes: of each dimension, the first that has it.
        self._sized = [
            next(name for name in self.inputs if name in one.rows) for one in dimensions.each
        ]

    def __repr__(self) -> str:
        return (
            f"<BucketedNetwork {self.name}: {self.dimensions} in {len(self.networks)} buckets; "
            f"for {self.target}>"
        )

    def __str__(self) -> str:
        return table_text(self.dimensions, self.table)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __copy__(self) -> BucketedNetwork:
        copies = {sizes: copy(network) for sizes, network in self.networks.items()}
        return BucketedNetwork(self.dimensions, copies, self.seconds, self.least_seconds)

    def __deepcopy__(self, _: Any) -> BucketedNetwork:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        each = {sizes: network.__reduce__()[1] for sizes, network in self.networks.items()}
        return _unpickled, (self.dimensions, each, self.seconds, dict(self.least_seconds))

    @property
    def untuned(self) -> tuple[Workload, ...]:
        """Those of its networks, each once."""
        return tuple(dict.fromkeys(chain.from_iterable(n.untuned for n in self.networks.values())))

    @property
    def constant_bytes(self) -> int:
        """What the networks share."""
        constants: Any = self.networks[self.dimensions.most].parts()[1]
        return int(constants.nbytes)

    def runs_as(self, sizes: Sizes) -> tuple[Sizes, ...]:
        """The buckets that they run as, in order. Raises UsageError outside of the ranges."""
        self.dimensions.check(sizes, self.name)
        return next(row.runs for row in self.table if sizes in row)

    def specs(self, sizes: Sizes) -> dict[str, TensorSpec]:
        """What it takes at these sizes. Raises UsageError outside of the ranges."""
        self.dimensions.check(sizes, self.name)
        return {n: self.dimensions.spec(n, spec, sizes) for n, spec in self.inputs.items()}

    def run(self, inputs: Any) -> dict[str, Any]:
        """The outputs by name, as `CompiledNetwork.run`, of any sizes within the ranges.

        Raises UsageError for other sizes, and for inputs that disagree.
        """
        return self._answer(inputs, observes=False)

    def observe(self, inputs: Any) -> dict[str, Any]:
        """Outputs and observed tensors by name, of the same run."""
        return self._answer(inputs, observes=True)

    def save(self, folder: str | Path) -> None:
        """All of it in a folder, which is replaced whole."""
        saved = {}
        constants = None
        for sizes, network in self.networks.items():
            artifact, constants, signature = network.parts()
            saved[sizes] = SavedBucket(
                artifact, signature, self.seconds[sizes], self.least_seconds.get(sizes)
            )
        saved_buckets.save(Path(folder).absolute(), self.dimensions, saved, constants)

    @classmethod
    def load(
        cls, folder: str | Path, host: PluginHost | None = None, device: Device | str | None = None
    ) -> BucketedNetwork:
        """A saved network, as `CompiledNetwork.load` loads one."""
        dimensions, buckets, constants = saved_buckets.load(Path(folder))
        host = host or PluginHost.load()
        networks = {}
        for sizes, one in buckets.items():
            parts = (one.artifact, constants, one.signature)
            networks[sizes] = CompiledNetwork.of_parts(parts, host, device, str(folder))
        seconds = {sizes: one.seconds for sizes, one in buckets.items()}
        return cls(dimensions, networks, seconds, saved_buckets.least_seconds(buckets))

    def close(self) -> None:
        """Free the memory; the network cannot be run afterwards."""
        for network in self.networks.values():
            network.close()

    def _answer(self, inputs: Any, *, observes: bool) -> dict[str, Any]:
        named = {
            name: as_array(one, name, self.name) if getattr(one, "shape", None) is None else one
            for name, one in by_name(inputs, self.inputs, self.name).items()
        }
        specs, steps = self._way(self._sizes(named))
        arrays = checked_arrays(named, specs, self.name)
        parts = self.dimensions.part
        answers = [
            step.network.run_part(
                {
                    **(arrays if len(steps) == 1 else parts(arrays, step.sizes, step.first)),
                    **step.masks,
                },
                step.results if observes else step.outputs,
                step.sizes,
            )
            for step in steps
        ]
        return self.dimensions.joined(answers)

    def _way(self, sizes: Sizes) -> _Way:
        """What is looked up of sizes, kept for those that were asked last."""
        way = self._known_ways.get(sizes)
        if way is None:
            way = self.specs(sizes), [*self._steps(sizes)]
            if len(self._known_ways) >= _MOST_WAYS:
                self._known_ways.clear()
            self._known_ways[sizes] = way
        return way

    def _steps(self, sizes: Sizes) -> Iterator[_Step]:
        along, first = self.dimensions.along, 0
        for bucket in self.runs_as(sizes):
            count = min(bucket[along], sizes[along] - first)
            own = (*sizes[:along], count, *sizes[along + 1 :])
            told = {**self.outputs, **self.observed}
            results = {n: self.dimensions.spec(n, spec, own) for n, spec in told.items()}
            outputs = {name: results[name] for name in self.outputs}
            masks = self.dimensions.masks(bucket, own)
            yield _Step(self.networks[bucket], own, first, outputs, results, masks)
            first += count

    def _sizes(self, named: Mapping[str, Any]) -> Sizes:
        """Those that the inputs have which tell them."""
        found = []
        for name, one in zip(self._sized, self.dimensions.each, strict=True):
            spec = self.inputs[name]
            shape = named[name].shape
            if len(shape) != len(spec.shape):
                told = f"expected {self.dimensions.text(name, spec)}, got one of shape {[*shape]}"
                raise UsageError(f"input {name!r}: {told}", where=self.name)
            found.append(int(shape[one.rows[name][0].axis]))
        return tuple(found)


def _unpickled(
    dimensions: Dimensions,
    each: Mapping[Sizes, tuple[Any, ...]],
    seconds: Mapping[Sizes, float],
    least_seconds: Mapping[Sizes, float],
) -> BucketedNetwork:
    """What arrives of a pickled network.

    each   what `unpickled` takes, by sizes, all of it with the same constants
    """
    _, pickled, *_ = each[dimensions.most]
    constants = on_a_line(pickled)
    networks = {
        sizes: unpickled(artifact, constants, *others)
        for sizes, (artifact, _, *others) in each.items()
    }
    return BucketedNetwork(dimensions, networks, seconds, least_seconds)
