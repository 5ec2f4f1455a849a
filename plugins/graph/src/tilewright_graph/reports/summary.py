"""What a summary shows of layouts: the choice, its price, and where configs came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright_pipeline.run.events import Section
from tilewright_pipeline.run.time_text import significant_text


def sections(report: Mapping[str, Any]) -> list[Section]:
    """The tables `layouts` and `compiled`, as far as run.json has their members."""
    made = []
    if graph := report.get("graph"):
        made.append(_layouts(graph))
    if compiled := report.get("compile"):
        configs = compiled["configs"]
        columns = ("kernels", *(f"by {source}" for source in configs), "transforms")
        counts = (sum(configs.values()), *configs.values(), compiled["transforms"])
        made.append(Section("compiled", columns, (tuple(map(str, counts)),)))
    return made


def _layouts(graph: Mapping[str, Any]) -> Section:
    predicted, history = graph["predicted_ms"], graph["transforms_history_best"]
    remark = "proved best" if graph["optimal"] else graph["note"]
    gap = "-" if graph["gap"] is None else f"{graph['gap'] * 100:.2f} %"
    if graph["kept"] != "solver":
        remark = "history best is faster, and kept"
    own = (significant_text(graph["cost_ms"]), str(graph["transforms"]), gap)
    rows = (
        ("fallback", significant_text(predicted["fallback"]), "-", "-", "-", ""),
        ("history best", significant_text(predicted["history_best"]), str(history), "-", "-", ""),
        (graph["tuner"], *own, f"{graph['solver_seconds']:.3f}", remark),
    )
    columns = ("layouts by", "predicted ms", "transforms", "gap", "solver s", "")
    return Section("layouts", columns, rows)
