"""Whether networks became slower from one run to another, by more than noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tilewright.errors import UsageError
from tilewright_pipeline.measuring.significance import mann_whitney, verdict
from tilewright_report.data.fields import Fields
from tilewright_report.data.run_folder import Run, networks_in, report_in
from tilewright_report.data.systems import OURS, systems


@dataclass(frozen=True, slots=True)
class NetworkChange:
    """A network's latency in two runs; with a peer, as multiples of the peer's median in each.

    before, after  medians, in ms or as multiples; `after` is None where the run has not timed it
    p              of the test that both are equally fast; None where there are too few samples
    verdict        slower, faster, no difference, too few samples, not timed
    """

    network: str
    before: float
    after: float | None
    p: float | None
    verdict: str


def network_changes(
    before: Path, after: Path, least: float, peer: str | None
) -> list[NetworkChange]:
    """What became of every network that the run before has timed, by Mann and Whitney's test.

    least  a smaller change, as a share of the time before, is no difference
    peer   both are measured by it, which was timed in turns with the network: so a machine that is
           slower today makes no network slower

    Raises UsageError where the runs are of other models, or have nothing in common to compare.
    """
    old, new = dict(_timed(before)), dict(_timed(after))
    if len(old) == len(new) == 1:  # whatever both are called
        old = dict(zip(new, old.values(), strict=True))
    found = []
    for name in sorted(old.keys() & new.keys()):
        if old[name].is_of_other_models(new[name]):
            raise UsageError(
                "runs of different models",
                where=f"{before}, {after}",
                remedy="compare runs of the same model",
            )
        found.append(_change(name, old[name], new[name], least, peer))
    if not found:
        raise UsageError(
            "no network that both have timed",
            where=f"{before}, {after}",
            remedy="run pipelines with the stage `benchmark`",
        )
    for name in sorted(old.keys() - new.keys()):
        samples = _samples(old[name], peer)
        found.append(NetworkChange(name, _median(samples), None, None, "not timed"))
    return found


def latest_beside(folder: Path) -> Path:
    """The run in the same folder that ended last, but this one. Raises UsageError without any."""
    every = (file for file in folder.absolute().parent.glob("*/run.json") if file.is_file())
    others = [file for file in every if file.parent != folder.absolute()]
    if not others:
        raise UsageError("no other run beside it", where=str(folder), remedy="name the new run")
    return max(others, key=lambda file: file.stat().st_mtime).parent


def _timed(folder: Path) -> Iterator[tuple[str, Run]]:
    """The runs below and in a folder that timed a network, by name."""
    for place in (folder, *(folder / name for name in networks_in(folder))):
        run = Run(Fields(report_in(place)), place)
        if run.report.objects("benchmark"):
            yield run.name, run


def _change(name: str, before: Run, after: Run, least: float, peer: str | None) -> NetworkChange:
    old, new = (_samples(run, peer) for run in (before, after))
    p = mann_whitney(old, new)
    first, second = _median(old), _median(new)
    return NetworkChange(name, first, second, p, verdict(p, first, second, least))


def _median(samples: Sequence[float]) -> float:
    return median(samples) if samples else 0.0


def _samples(run: Run, peer: str | None) -> list[float]:
    """Ours in ms, or as multiples of a peer's median."""
    known = dict(systems(run.report.objects("benchmark")[0]))
    ours = known.get(OURS, Fields()).numbers("samples_ms")
    if peer is None:
        return ours
    base = known.get(peer, Fields()).number("median_ms")
    if not base:
        others = ", ".join(name for name in known if name != OURS) or "none"
        raise UsageError(
            f"'{peer}' was not timed, only {others}",
            where=str(run.folder),
            remedy="name a peer of both runs",
        )
    return [one / base for one in ours]
