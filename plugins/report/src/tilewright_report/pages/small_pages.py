"""The pages of what is less than a run: one tuned task, a space, a compiled network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.host.plugin_host import PluginHost
from tilewright.space.alternative import Alternative
from tilewright.space.config_space import ConfigSpace
from tilewright_report.data.fields import Fields
from tilewright_report.data.run_folder import Run, run_of
from tilewright_report.markup.blocks import Head, Number, Row, facts, section, table
from tilewright_report.markup.document import document
from tilewright_report.markup.element import Element, element
from tilewright_report.markup.words import fixed, short, value_text
from tilewright_report.pages.run_page import run_page

if TYPE_CHECKING:
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright_pipeline.api.functions import TuneResult
    from tilewright_pipeline.tuning.tune_report import TuneReport

_VALUES = 12


def tuned_task_page(result: TuneResult) -> str:
    """One task, as the page of a run that tuned nothing else."""
    summary, task = result.summary, result.task
    entry = {
        "key": task.workload.key,
        "name": summary["task"],
        "operator": task.workload.operator,
        "weight": 1.0,
        **{name: summary.get(name) for name in ("strategy", "best_seconds", "gflops")},
        **{name: summary.get(name) for name in ("peak_share", "trials", "failures")},
    }
    report = {
        "name": summary["task"],
        "target": str(task.target),
        "device": result.device.to_json(),
        "measurement": summary,
        "tasks": [entry],
    }
    records = Path(summary["records"])
    return run_page(run_of(report, None, PluginHost.load(), records))


def tuning_page(told: TuneReport) -> str:
    """What a tuning stage did, without its records."""
    tasks = [
        {
            "key": key,
            "name": outcome.name,
            "weight": 1.0,
            "trials": outcome.trials,
            "failures": outcome.failures,
            "best_seconds": outcome.best_seconds,
            "strategy": _strategy(outcome.best_config),
        }
        for key, outcome in told.outcomes.items()
    ]
    return run_page(Run(Fields({"name": "Tuning", "tasks": tasks, **told.members})))


def _strategy(config: ConfigEntity | None) -> str:
    return "" if config is None else config.strategy


def space_page(space: ConfigSpace) -> str:
    """Its alternatives, each with its knobs and their values."""
    count = f"{space.size:,}" if space.size < 10**15 else f"{space.size:.2e}"
    number = len(space.alternatives)
    said = f"{count} configs, infeasible ones included, of {number} alternatives"
    head = element("div", element("h1", "A space of configs"), element("p", said))
    parts = [_alternative(place, one) for place, one in enumerate(space.alternatives)]
    return document("A space of configs", head, parts)


def _alternative(place: int, one: Alternative) -> Element:
    heads = [Head("knob"), Head("kind"), Head("values", numeric=True), Head("")]
    rows: list[Row] = []
    for knob in one.knobs:
        shown = ", ".join(value_text(value) for value in knob.values[:_VALUES])
        more = len(knob) - _VALUES
        text = f"{shown} and {more:,} more" if more > 0 else shown
        rows.append(
            [short(knob.name), knob.kind, Number(f"{len(knob):,}", len(knob)), short(text, 200)]
        )
    constraints = [element("li", element("code", short(str(c), 200))) for c in one.constraints[:50]]
    return section(
        f"alternative-{place}",
        short(one.name, 80),
        facts([("configs", f"{one.size:,}"), ("feasible", fixed(one.valid_count))]),
        table(heads, rows),
        element("h4", "Constraints") if constraints else None,
        element("ul", *constraints) if constraints else None,
    )


def network_page(network: Any) -> str:
    """A compiled network: what it takes and gives, and for what it was compiled."""
    head = element(
        "div",
        element("h1", short(network.name, 120)),
        element("p", f"compiled for {network.target}"),
    )
    about = facts(
        [
            ("device", short(str(network.device.attributes.get("model", network.device.name)), 80)),
            ("precision", network.precision),
            ("error allowed", "" if network.max_error is None else f"{network.max_error:g}"),
        ]
    )
    tensors = [
        *_tensors("takes", network.inputs),
        *_tensors("gives", network.outputs),
        *_tensors("shows besides", network.observed),
    ]
    heads = [Head(""), Head("tensor"), Head("shape"), Head("type")]
    part = section("tensors", "Compiled network", about, table(heads, tensors[:200]))
    return document(short(network.name, 100), head, [part])


def _tensors(role: str, specs: Mapping[str, Any]) -> list[Row]:
    return [
        [role, short(name, 60), " x ".join(map(str, spec.shape)), spec.dtype]
        for name, spec in specs.items()
    ]
