"""What a summary shows of networks: answers, latency, layouts and their price, configs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright_graph.compiled.size_table import runs_text
from tilewright_graph.ranges.size_range import SizeRange
from tilewright_pipeline.context.events import Section
from tilewright_pipeline.context.time_text import significant_text


def sections(report: Mapping[str, Any]) -> list[Section]:
    """The tables of the stages of this plugin, as far as run.json has their members."""
    made = []
    if verify := report.get("verify"):
        made.append(_verification(verify))
    if benchmark := report.get("benchmark"):
        made.append(_latency(benchmark))
    if graph := report.get("graph"):
        made.append(_layouts(graph))
        if error := graph.get("error"):
            made.append(_error(error, graph["precisions"]))
    if finals := report.get("finals"):
        made.append(_finals(finals))
    if compiled := report.get("compile"):
        configs = compiled["configs"]
        columns = ("kernels", *(f"by {source}" for source in configs), "transforms")
        counts = (sum(configs.values()), *configs.values(), compiled["transforms"])
        made.append(Section("compiled", columns, (tuple(map(str, counts)),)))
    if buckets := report.get("buckets"):
        made += _buckets(buckets)
    return made


def _buckets(buckets: Mapping[str, Any]) -> list[Section]:
    """Which sizes run as which, and of each bucket time and memory."""
    names, each = tuple(buckets["dimensions"]), buckets["each"]
    rows = [
        (
            *(str(SizeRange(*row["sizes"][name])) for name in names),
            runs_text([list(bucket.values()) for bucket in row["runs"]]),
            significant_text(row["network_ms"]),
        )
        for row in buckets["table"]
    ]
    sources = dict.fromkeys(source for one in each for source in one["configs"])
    columns = (*names, "ms", "kernels ms", *(f"by {source}" for source in sources))
    made = [
        (
            *(str(one["sizes"][name]) for name in names),
            significant_text(one["network_ms"]),
            significant_text(one["sum_of_kernels_ms"]),
            *(str(one["configs"].get(source, 0)) for source in sources),
            str(one["code_bytes"]),
            str(one["arena_bytes"]),
        )
        for one in each
    ]
    total = (str(sum(one[part] for one in each)) for part in ("code_bytes", "arena_bytes"))
    constants = f"all, {buckets['constant_bytes']} bytes of constants"
    made.append((constants, *[""] * (len(columns) - 1), *total))
    return [
        Section("sizes", (*names, "runs as", "ms"), tuple(rows)),
        Section("buckets", (*columns, "code bytes", "arena bytes"), tuple(made)),
    ]


def _verification(verify: Mapping[str, Any]) -> Section:
    verdict = {True: "passed", False: "FAILED", None: "answers not checked"}
    errors = (verify["max_abs_error"], verify["max_rel_error"])
    row: tuple[str, ...] = (
        verify["oracle"] or "-",
        *("-" if error is None else f"{error:.3g}" for error in errors),
        verdict[verify["passed"]],
    )
    columns: tuple[str, ...] = ("oracle", "abs error", "rel error", "")
    if same := verify.get("agreement"):
        columns = (*columns, "samples", "top 1", "where decided", "top 5")
        shares = (same["top1"], same["top1_decided"], same["top5"])
        shown = ("-" if share is None else f"{share * 100:.1f} %" for share in shares)
        row = (*row, str(same["samples"]), *shown)
    return Section("verification", columns, (row,))


def _latency(entries: Sequence[Mapping[str, Any]]) -> Section:
    rows = []
    for entry in entries:
        ours = entry["tilewright"]["median_ms"]
        for name, times in [("tilewright", entry["tilewright"]), *entry["peers"].items()]:
            parts = ("median_ms", "mean_ms", "min_ms", "max_ms", "std_ms")
            ratio = f"{times['median_ms'] / ours:.3f}" if ours else "-"
            shown = (significant_text(times[part]) for part in parts)
            rows.append((str(entry["threads"]), name, times["precision"], *shown, ratio))
    columns = ("threads", "", "precision", "median ms", "mean", "min", "max", "std", "ratio")
    return Section("latency", columns, tuple(rows))


def _error(error: Mapping[str, Any], precisions: Mapping[str, int]) -> Section:
    shown = ("-" if figure is None else f"{figure:.3g}" for figure in error.values())
    columns = (*error, *(f"kernels in {precision}" for precision in precisions))
    return Section("error", columns, ((*shown, *map(str, precisions.values())),))


def _finals(finals: Mapping[str, Any]) -> Section:
    """The winners, and all of them together."""

    def row(what: str, told: Mapping[str, Any]) -> tuple[str, ...]:
        shares = (told["gain"], told["gain_low"], told["gain_high"])
        shown = ("-" if share is None else f"{share * 100:.2f} %" for share in shares)
        return (what, *shown, str(told["pairs"]))

    rows = [row(told["node"], told) for told in finals["tried"] if told["won"]]
    remark = "nothing faster found"
    if finals["total"] is not None:
        remark = "kept" if finals["kept"] else "no gain for certain: all stays as it was"
        rows.append(row("the network", finals["total"]))
    rows.append((f"{len(finals['tried'])} tried in {finals['runs']} runs: {remark}", *[""] * 4))
    columns = ("finals", "gain", "at least", "at most", "pairs")
    return Section("inside the network", columns, tuple(rows))


def _layouts(graph: Mapping[str, Any]) -> Section:
    predicted, history = graph["predicted_ms"], graph["transforms_history_best"]
    remark = "proved best" if graph["optimal"] else graph["note"]
    gap = "-" if graph["gap"] is None else f"{graph['gap'] * 100:.2f} %"
    if graph["kept"] != "solver":
        remark = f"{graph['kept']} is faster, and kept"
    if (beside := graph.get("beside_untuned")) is not None:
        tuned, untuned = (significant_text(beside[f"{one}_ms"]) for one in ("tuned", "untuned"))
        remark = "; ".join(filter(None, (remark, f"in turns {tuned} ms, untuned {untuned} ms")))
    own = (significant_text(graph["cost_ms"]), str(graph["transforms"]), gap)
    rows = (
        ("fallback", significant_text(predicted["fallback"]), "-", "-", "-", ""),
        ("history best", significant_text(predicted["history_best"]), str(history), "-", "-", ""),
        (graph["tuner"], *own, f"{graph['solver_seconds']:.3f}", remark),
    )
    columns = ("layouts by", "predicted ms", "transforms", "gap", "solver s", "")
    return Section("layouts", columns, rows)
