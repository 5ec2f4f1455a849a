"""Measures every feasible point of a task's space, for tuners to be compared on without hardware.

    uv run python benchmarks/record_space.py 'conv2d(1x1024x14x14, 256x1024x1x1)' NAME
        [--strategies conv2d_direct] [--keep unroll_ic=[1,2]] [--keep tile_ow=3] [--out FOLDER]

Writes NAME.space.json (the space as data, so that a later revision of a strategy does not change
it) and NAME.records.jsonl.gz (ordinary records without the timings, which the runner `replay`
reads). `--keep` leaves a knob some of its values: a list of them, or their number, evenly spread
over those it has. Warm, three samples of a millisecond, in random order, so that the machine's
moods do not look like a property of a knob. Interrupted and started again, it goes on.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from dataclasses import replace
from pathlib import Path
from statistics import median

from tilewright.canonical import thaw
from tilewright.host.plugin_host import PluginHost
from tilewright.space.alternative import Alternative
from tilewright.space.config_space import ConfigSpace
from tilewright.space.entities.knob_values import KnobValues
from tilewright.vocabulary.measure import Conditions, MeasureInput
from tilewright.vocabulary.record import Record
from tilewright.vocabulary.task import Task
from tilewright_pipeline.api.task_text import find_task
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.context.run_setup import make_context
from tilewright_pipeline.measuring.measurement import Measurement
from tilewright_records.encoding import record_json
from tilewright_records.line import seal

BATCH = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("task", help="a task's text form")
    parser.add_argument("name", help="of the files to write")
    parser.add_argument("--target", default="x86:threads=1")
    parser.add_argument("--strategies", default="conv2d_direct", help="glob over alternatives")
    parser.add_argument("--keep", action="append", default=[], metavar="KNOB=VALUES")
    parser.add_argument("--out", type=Path, default=Path("tests/search/data"))
    options = parser.parse_args()
    host = PluginHost.load()
    context = make_context(
        host,
        name="record_space",
        folder=Path("runs/record_space"),
        target=options.target,
        records=Path("runs/record_space") / f"{options.name}.jsonl",
        conditions=Conditions(constants="warm", repeat=3, min_repeat_ms=1.0),
    )
    task = find_task(options.task, context.target, host, None)
    space = narrowed(host.space(task, options.strategies), options.keep)
    print(f"{options.task}: {space.valid_count()} feasible of {space.size} points")
    records = measured(task, space, context)
    options.out.mkdir(parents=True, exist_ok=True)
    described = {
        "task": task.to_json(),
        "conditions": context.conditions.to_json(),
        "space": space.to_json(),
    }
    written = options.out / f"{options.name}.space.json"
    written.write_text(json.dumps(described, separators=(",", ":")) + "\n")
    compressed = gzip.compress(b"".join(map(compact, records)), mtime=0)
    (options.out / f"{options.name}.records.jsonl.gz").write_bytes(compressed)
    report(records, len(compressed))


def narrowed(space: ConfigSpace, keep: list[str]) -> ConfigSpace:
    """The space with only some values of some knobs."""
    wanted = {knob: json.loads(values) for knob, _, values in (k.partition("=") for k in keep)}

    def narrow(knob: KnobValues) -> KnobValues:
        kept = wanted.get(knob.name, len(knob))
        if isinstance(kept, list):
            values = [value for value in knob.values if thaw(value) in kept]
        else:
            count = min(kept, len(knob))
            values = [knob.values[place * len(knob) // count] for place in range(count)]
        return replace(knob, values=tuple(values))

    return ConfigSpace(
        Alternative(each.name, tuple(map(narrow, each.knobs)), each.constraints)
        for each in space.alternatives
    )


def measured(task: Task, space: ConfigSpace, context: RunContext) -> list[Record]:
    """The record of every feasible point, in order of the space; what is known is not repeated."""
    known = {r.config for r in context.store.records(task.key)}
    missing = [config for config in space.points() if config not in known]
    random.Random(0).shuffle(missing)
    with Measurement(context) as measurement:
        for start in range(0, len(missing), BATCH):
            configs = missing[start : start + BATCH]
            measurement.measure([MeasureInput(task, c, context.conditions) for c in configs])
            if start % (25 * BATCH) == 0:
                print(f"{start} of {len(missing)}", flush=True)
    last = {record.config: record for record in context.store.records(task.key)}
    return [last[config] for config in space.points()]


def compact(record: Record) -> bytes:
    """The record's line with costs of five digits and without timings."""
    result = record.trial.result
    costs = tuple(float(f"{seconds:.4e}") for seconds in result.costs)
    result = replace(result, costs=costs, timings={})
    return seal(record_json(replace(record, trial=replace(record.trial, result=result))))


def report(records: list[Record], size: int) -> None:
    """How hard the space is."""
    seconds = sorted(r.seconds for r in records if r.seconds is not None)
    near = sum(value <= 1.02 * seconds[0] for value in seconds)
    print(
        f"{len(records)} points, {len(records) - len(seconds)} failures, {size / 1024:.0f} KiB; "
        f"best {seconds[0] * 1e6:.1f} us, median {median(seconds) * 1e6:.1f} us, "
        f"{near} ({near / len(records):.2%}) within 2 % of the best"
    )


if __name__ == "__main__":
    main()
