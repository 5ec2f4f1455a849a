"""Which kernels of a saved network rest on no measurement."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from tilewright.vocabulary.workload import Workload
from tilewright_graph.compiled.saved import saved_buckets, saved_network
from tilewright_graph.compiled.saved.saved_folder import BUCKETED, saved_version


def saved_untuned(folder: Path) -> tuple[str, list[Workload]]:
    """(the target, the workloads, each once). Raises UsageError as loading the network does."""
    if saved_version(folder) == BUCKETED:
        _, buckets, _ = saved_buckets.load(folder)
        every = [(one.artifact, one.signature) for one in buckets.values()]
    else:
        artifact, _, signature = saved_network.load(folder)
        every = [(artifact, signature)]
    untuned = chain.from_iterable(signature.untuned for _, signature in every)
    return every[0][0].target, list(dict.fromkeys(untuned))
