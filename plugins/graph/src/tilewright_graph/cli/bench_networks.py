"""`tilewright bench networks`: networks beside peers, in one table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

import click

from tilewright_cli.terminal import shared_options as shared

if TYPE_CHECKING:
    from tilewright.options import Choice
    from tilewright_graph.cli.network_race import RaceRow

_FOLDER = Path("runs/bench-networks")
_NETWORKS = (
    "resnet-18", "resnet-50", "resnet3d-18", "mobilenet", "mobilenet_v2", "squeezenet_v1.1",
    "inception_v3", "vgg-19", "densenet-121", "ssd-resnet50-512", "bert-base",
)  # fmt: skip
_COLUMNS = "network", "threads", "precision", "ms", "peers ms", "speedup", "kernels ms", "rel error"


class _Counts(click.ParamType[tuple[int, ...]]):
    name = "N,N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        words = str(value).split(",")
        if not all(re.fullmatch("[1-9][0-9]*", word) for word in words):
            self.fail(f"expected whole numbers from 1 with commas between, got {value!r}", param)
        return tuple(map(int, words))


@click.command()
@click.option("--networks", metavar="A,B,FILE.onnx", help="Models.  [of each family of the zoo]")
@click.option(
    "--against",
    multiple=True,
    metavar="PEER,PEER",
    help="Oracles to be timed beside it, the last as NAME:OPTION=VALUE,... too; repeatable.",
)
@click.option("--threads", type=_Counts(), default="1", show_default=True, help="Such as 1,2.")
@click.option("--tune", help="Budget of each network and number of threads.  [none: untuned]")
@shared.target
@shared.precision
@click.option("--records", type=shared.NAMED_FILE, help=f"[{_FOLDER}/records.jsonl]")
@click.option("--out", type=shared.NAMED_PATH, default=_FOLDER, help=f"[{_FOLDER}]")
@click.option(
    "--weights-seed", type=click.IntRange(0), help="Random weights in place of the models' own."
)
@shared.settings
@shared.plugin_files
@shared.watch_options
@click.option("--json", "json_file", type=shared.NAMED_FILE, help="Write the rows to this file.")
def networks(
    *,
    networks: str | None,
    against: tuple[str, ...],
    threads: tuple[int, ...],
    tune: str | None,
    target: str | None,
    precision: str | None,
    records: Path | None,
    out: Path,
    weights_seed: int | None,
    settings: tuple[str, ...],
    plugin: tuple[Path, ...],
    quiet: bool,
    events: Path | None,
    json_file: Path | None,
) -> int:
    """Compare the times of networks with those of peers, in turns.

    Peers that have a precision to choose take the same. With --tune, each network is tuned and
    given layouts first.
    """
    from tilewright.errors import UsageError
    from tilewright_cli.progress.watched import watched
    from tilewright_graph.cli.network_race import NetworkRace, equally_precise
    from tilewright_pipeline.context.exit_codes import DONE, FAILED, INTERRUPTED
    from tilewright_pipeline.writing import check_file, writing_file

    host = shared.load_host(plugin)
    peers = _peers(against)
    for peer in peers:
        host.check("oracle", peer)
    resolved, precision = host.resolve_target(target), precision or "float32"
    if json_file is not None:
        check_file(json_file, "--json")
    watchers = click.get_current_context().with_resource(watched(quiet=quiet, events=events))
    watchers.watch(host)
    race = NetworkRace(
        out,
        records or out / "records.jsonl",
        [equally_precise(peer, precision, host) for peer in peers],
        tune,
        precision,
        settings,
        plugin,
        watchers.observers,
    )
    named = _named(networks.split(",") if networks else [f"zoo:{name}" for name in _NETWORKS])
    options = {} if weights_seed is None else {"weights": {"seed": weights_seed}}
    rows: list[RaceRow] = []
    mistakes: dict[str, UsageError] = {}
    shared.say(f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}")
    for count in threads:
        for name, model in named.items():
            if model in mistakes:
                continue
            try:
                row = race.row(name, {"model": model, **options}, resolved.replace(threads=count))
            except UsageError as error:
                mistakes[model] = error.placed(model)
                continue
            if row is None:
                return INTERRUPTED
            rows.append(row)
            shared.say(_line(row))
            if json_file is not None:
                with writing_file(json_file, "--json"):
                    json_file.write_text(_json(rows), encoding="utf-8")
    for line in _means(rows):
        shared.say(line)
    if mistakes:
        raise UsageError.several([*mistakes.values()])
    return FAILED if any(row.passed is False for row in rows) else DONE


def _peers(texts: Sequence[str]) -> list[Choice]:
    """Names with commas between, of which the last may have options."""
    from tilewright_cli.terminal.choice_text import choice_of

    words = []
    for text in texts:
        if text.startswith("{"):
            words.append(text)
            continue
        names, colon, options = text.partition(":")
        *others, last = names.split(",")
        words += [*others, f"{last}{colon}{options}"]
    return [choice_of("--against", word) for word in words]


def _named(models: Sequence[str]) -> dict[str, str]:
    """Models by names of their own, for the run's folder and the table: `net`, `net-2`."""
    named: dict[str, str] = {}
    for model in models:
        first = name = _name(model)
        number = 1
        while name in named:
            number += 1
            name = f"{first}-{number}"
        named[name] = model
    return named


def _name(model: str) -> str:
    return re.sub(r"[^\w.-]+", "-", Path(model).name.partition(":")[2] or Path(model).stem)


def _json(rows: Sequence[RaceRow]) -> str:
    told = [
        {
            "network": row.network,
            "threads": row.threads,
            "precision": row.precision,
            "tilewright_ms": row.tilewright_ms,
            "peers_ms": dict(row.peers_ms),
            "peers_precision": dict(row.peers_precision),
            "speedup_over_best_peer": row.speedup_over_best_peer,
            "sum_of_kernels_ms": row.sum_of_kernels_ms,
            "max_rel_error": row.max_rel_error,
            "passed": row.passed,
        }
        for row in rows
    ]
    return json.dumps({"rows": told}, indent=1) + "\n"


def _line(row: RaceRow) -> str:
    peers = ", ".join(f"{name} {ms:.4g}" for name, ms in row.peers_ms.items())
    speedup = "" if row.speedup_over_best_peer is None else f"{row.speedup_over_best_peer:.3f}"
    error = "" if row.max_rel_error is None else f"{row.max_rel_error:.1e}"
    wrong = ", too large" if row.passed is False else ""
    return (
        f"| {row.network} | {row.threads} | {row.precision} | {row.tilewright_ms:.4g} | {peers} "
        f"| {speedup} | {row.sum_of_kernels_ms:.4g} | {error}{wrong} |"
    )


def _means(rows: Sequence[RaceRow]) -> Iterator[str]:
    """Of each number of threads that has several rows."""
    for count in sorted({row.threads for row in rows}):
        found = [row.speedup_over_best_peer for row in rows if row.threads == count]
        speedups = [one for one in found if one is not None]
        if len(speedups) > 1:
            yield f"geometric mean, {count} threads: {geometric_mean(speedups):.3f}"
