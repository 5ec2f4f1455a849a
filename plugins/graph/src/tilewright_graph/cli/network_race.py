"""Networks beside peers: each tuned, compiled, timed in turns with the others, and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.vocabulary.target import Target
from tilewright_pipeline.context.exit_codes import INTERRUPTED
from tilewright_pipeline.pipeline import Pipeline
from tilewright_pipeline.yaml.yaml_source import YamlSource


@dataclass(frozen=True, slots=True)
class RaceRow:
    """What one network took; times are medians of one run, in milliseconds.

    threads            of ours and of every peer
    precision          the lowest that ours computes products in
    peers_ms           by name
    peers_precision    the same
    sum_of_kernels_ms  what was measured of every kernel alone
    max_rel_error      of the answers; None where no oracle can run the network
    passed             whether the answers are near enough; None where they were not compared
    """

    network: str
    threads: int
    precision: str
    tilewright_ms: float
    peers_ms: Mapping[str, float]
    peers_precision: Mapping[str, str]
    sum_of_kernels_ms: float
    max_rel_error: float | None
    passed: bool | None

    @property
    def speedup_over_best_peer(self) -> float | None:
        """The fastest peer's time over ours."""
        return min(self.peers_ms.values()) / self.tilewright_ms if self.peers_ms else None


@dataclass(frozen=True, slots=True)
class NetworkRace:
    """How networks are compared.

    folder     runs are kept in it, one a network and number of threads
    records    the file that all of them share
    peers      oracles that take turns with ours
    tune       budget of each network at each number of threads; None: the records are taken as
               they are, and nothing is measured but networks
    precision  the lowest that strategies may multiply in
    settings   further `stage.option=value`, for every network
    """

    folder: Path
    records: Path
    peers: Sequence[Choice] = ()
    tune: str | None = None
    precision: str = "float32"
    settings: Sequence[str] = ()
    plugins: Sequence[Path] = ()
    observers: Sequence[object] = ()

    def row(self, name: str, model: Mapping[str, Any], target: Target) -> RaceRow | None:
        """One network's figures on a target; None where the user interrupted it.

        model  options of the stage `import`

        Raises UsageError for a model that cannot be read, compiled or given to a peer.
        """
        source = YamlSource.parse(json.dumps(self._file(name, model)), name)
        pipeline = Pipeline.load(
            source,
            settings=self.settings,
            plugins=self.plugins,
            observers=self.observers,
            target=target,
        )
        result = pipeline.run(out=self.folder / f"{name}-{target.threads}")
        if result.exit_code == INTERRUPTED:
            return None
        report = result.report
        (timed,) = report["benchmark"]
        return RaceRow(
            name,
            target.threads,
            timed["tilewright"]["precision"],
            timed["tilewright"]["median_ms"],
            {peer: figures["median_ms"] for peer, figures in timed["peers"].items()},
            {peer: figures["precision"] for peer, figures in timed["peers"].items()},
            report["prediction"]["sum_of_kernels_ms"],
            report["verify"]["max_rel_error"],
            report["verify"]["passed"],
        )

    def _file(self, name: str, model: Mapping[str, Any]) -> dict[str, Any]:
        peers = [{one.name: dict(one.options)} for one in self.peers]
        tuning = [
            {"tune": {"scheduler": "gradient", "budget": self.tune}},
            {"graph-tune": {}},
        ]
        return {
            "version": 1,
            "name": name,
            "precision": self.precision,
            "records": str(self.records),
            "stages": [
                {"import": model},
                {"extract": {}},
                *(tuning if self.tune else []),
                {"compile": {}},
                {"benchmark": {"peers": peers}},
                # behind it: a wrong answer ends the run
                {"verify": {"samples": 0}},
            ],
        }


def equally_precise(peer: Choice, precision: str, host: PluginHost) -> Choice:
    """The peer in a precision, if it has that option and nobody said which."""
    known = host.options_of("oracle", peer.name).model_fields
    if "precision" not in known or "precision" in peer.options:
        return peer
    return Choice(peer.name, {**peer.options, "precision": precision})
