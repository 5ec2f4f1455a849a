"""Code that was built before."""

from __future__ import annotations

import threading
from collections import OrderedDict

from tilewright.roles import Artifact
from tilewright.vocabulary.measure import MeasureInput


class KeptArtifacts:
    """The artefacts that were last built or asked for, as far as they fit into so many bytes.

    Finalists, and the references by which a fleet's devices are watched, are measured again and
    again: to build them each time is a tenth of all building.

    >>> kept.add(wanted, artifact)
    >>> kept.find(wanted)   # the artefact; None where there was none, or others took its place

    Any thread may do either.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._artifacts: OrderedDict[tuple[str, str], Artifact] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def add(self, wanted: MeasureInput, artifact: Artifact) -> None:
        """Keep what was built for a candidate; those that nobody asked for the longest go."""
        with self._lock:
            replaced = self._artifacts.pop(_key(wanted), None)
            self._bytes += len(artifact.data) - (len(replaced.data) if replaced is not None else 0)
            self._artifacts[_key(wanted)] = artifact
            while self._bytes > self._most_bytes:
                _, oldest = self._artifacts.popitem(last=False)
                self._bytes -= len(oldest.data)

    def find(self, wanted: MeasureInput) -> Artifact | None:
        """What was built for a candidate, under whatever conditions it was to be measured."""
        with self._lock:
            found = self._artifacts.get(_key(wanted))
            if found is not None:
                self._artifacts.move_to_end(_key(wanted))
            return found


def _key(wanted: MeasureInput) -> tuple[str, str]:
    return wanted.task.key, wanted.config.text
