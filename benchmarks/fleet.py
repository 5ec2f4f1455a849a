"""A fleet on one machine: devices beside one, beside the local runner, and many simulated ones.

    uv run python benchmarks/fleet.py devices [--rounds 3] [--budget 45s]
    uv run python benchmarks/fleet.py search [--budget 60s]
    uv run python benchmarks/fleet.py simulated [--workers 2,8,32,128,512]
    uv run python benchmarks/fleet.py store [--drivers 16]

devices     trials a second on ResNet-50's tasks: two devices of a core each against one such
            device, and one that has the whole machine against the runner `local`; in turns
search      ResNet-50 as two such devices find it, and as one does in twice the time, in turns
simulated   workers that sleep as long as recorded trials took, all else as it is: trials a second
            against what they could do, of the whole run and of its middle, in which all is under
            way; cores that driver, scheduler and workers take there, trials a second that a whole
            core of the driver would do, its memory
store       processes that append to one records file at once

`devices` is saved; what the others told is in docs/fleet.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from result_data import Row
from saving import add_save_options, save

import tilewright
from tilewright.host.plugin_host import PluginHost
from tilewright_graph.network.random_inputs import random_arrays
from tilewright_pipeline.context.run_setup import open_store
from tilewright_pipeline.yaml.yaml_source import YamlSource

_MODEL = {"frontend": "onnx", "model": "onnx-light:resnet50", "weights": {"seed": 0}}
_HERE = Path(__file__).parent
_TURNS = 41


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=("devices", "search", "simulated", "store"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", default=None, help="tuning time of a run")
    parser.add_argument("--workers", default="2,8,32,128,512")
    parser.add_argument("--drivers", type=int, default=16)
    add_save_options(parser)
    options = parser.parse_args()
    {"devices": devices, "search": search, "simulated": simulated, "store": store}[options.part](
        options
    )


def devices(options: argparse.Namespace) -> None:
    """Rates in turns; each run tunes from nothing."""
    budget = options.budget or "45s"
    first, *_ = sorted(os.sched_getaffinity(0))
    rates: dict[str, list[float]] = {}
    cases = {
        "two devices": [["--cores", str(core)] for core in _cores(2)],
        "one device": [["--cores", str(first)]],
        "whole machine": [[]],
        "local": [],
    }
    for number in range(options.rounds):
        for name, workers in cases.items():
            # A fleet that waits takes a little of a core, so there is never a second one.
            with fleet(workers) if workers else nullcontext() as address:
                rate = tuned(address, budget, number)["trials_per_second"]
            rates.setdefault(name, []).append(rate)
            print(f"{name:14} {rate:6.1f} trials a second", flush=True)
    doubled = median(a / b for a, b in zip(rates["two devices"], rates["one device"], strict=True))
    kept = median(a / b for a, b in zip(rates["whole machine"], rates["local"], strict=True))
    print(f"\ntwo devices over one: {doubled:.2f}; a worker over the local runner: {kept:.2f}")
    found = {name: median(each) for name, each in rates.items()}
    for question, ours, peer, speedup in (
        ("fleet_devices", "two devices", "one device", doubled),
        ("fleet_worker", "whole machine", "local", kept),
    ):
        row = Row(case="ResNet-50", ours=found[ours], peer=found[peer], speedup=speedup)
        save(options, question, [row], packages=["distributed"])


def search(options: argparse.Namespace) -> None:
    """The networks compiled of what was found, timed in turns.

    Totals of the records are no measure of what was found: those of two devices were measured
    beside one another.
    """
    seconds = float((options.budget or "60s").removesuffix("s"))
    first, *_ = sorted(os.sched_getaffinity(0))
    ratios = []
    for number in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            found = {}
            for name, cores, budget in (("two", _cores(2), seconds), ("one", [first], 2 * seconds)):
                records = Path(folder) / f"{name}.jsonl"
                with fleet([["--cores", str(core)] for core in cores]) as address:
                    tuned(address, f"{budget:g}s", number, records)
                compiled = tilewright.compile(_MODEL, target="x86:threads=1", records=records)
                found[name] = stack.enter_context(compiled)
                compiled.run(random_arrays(compiled.inputs, 0))
            turns = [[found[name].time() for name in ("two", "one")] for _ in range(_TURNS)]
        two, one = map(median, zip(*turns, strict=True))
        ratios.append(median(one / two for two, one in turns))
        print(f"two: {two * 1e3:.2f} ms, one: {one * 1e3:.2f} ms, in turns {ratios[-1]:.3f}")
    print(f"\none in {2 * seconds:g} s over two in {seconds:g} s: {median(ratios):.3f}")


def simulated(options: argparse.Namespace) -> None:
    """Rates of simulated devices over the number of workers."""
    print("| workers | whole run | trials/s | ideal | share | cores | a core of driver | MiB |")
    print("|---|---|---|---|---|---|---|---|")
    for workers in map(int, options.workers.split(",")):
        with simulated_fleet(workers) as (address, trial_seconds, others):
            told = driven(address, options.budget or "30s", others)
        ideal = workers / trial_seconds
        print(
            f"| {workers} | {told['whole']:.0f} | {told['rate']:.0f} | {ideal:.0f} "
            f"| {told['rate'] / ideal:.0%} | {' '.join(f'{each:.2f}' for each in told['cores'])} "
            f"| {told['rate'] / told['cores'][0]:.0f} | {told['mib']:.0f} |",
            flush=True,
        )


def store(options: argparse.Namespace) -> None:
    """Appends a second of many processes; every record is there, and each process's in order."""
    batches, size = 40, 16
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.jsonl"
        command = [sys.executable, str(_HERE / "store_writer.py"), str(path)]
        writers = [
            subprocess.Popen(
                [*command, *map(str, (number, batches, size))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(options.drivers)
        ]
        for writer in writers:
            writer.stdout.readline()
        began = time.perf_counter()
        for writer in writers:
            print(file=writer.stdin, flush=True)
        if any(writer.wait() for writer in writers):
            raise SystemExit("a writer failed")
        seconds = time.perf_counter() - began
        host = PluginHost.load()
        by_writer: dict[int, list[int]] = {}
        for record in open_store(path, host).records():
            config = record.config
            by_writer.setdefault(config["writer"], []).append(config["number"])
    wanted = [*range(batches * size)]
    assert len(by_writer) == options.drivers, "a writer's records are missing"
    assert all(numbers == wanted for numbers in by_writer.values()), "lost, twice or out of order"
    rate = options.drivers * batches / seconds
    print(f"{options.drivers} writers: {rate:.0f} appends a second, {rate * size:.0f} records")


# --- runs ----------------------------------------------------------------------------------------


def tuned(
    address: str | None, budget: str, seed: int, records: Path | None = None
) -> Mapping[str, Any]:
    """`measurement` of a run over ResNet-50's tasks from nothing."""
    measure = {}
    if address is not None:
        chosen = {"dask": {"scheduler": address}}
        measure = {"runner": chosen, "builder": chosen}
    with tempfile.TemporaryDirectory() as folder:
        file = {
            "version": 1,
            "name": "fleet",
            "target": {"kind": "x86", "threads": 1},
            "seed": seed,
            "measure": measure,
            "records": str(records or Path(folder) / "records.jsonl"),
            "stages": [
                {"import": _MODEL},
                {"extract": {}},
                {"tune": {"scheduler": "gradient", "budget": budget}},
            ],
        }
        pipeline = tilewright.Pipeline.load(YamlSource.parse(json.dumps(file), "fleet.py"))
        measured: Mapping[str, Any] = pipeline.run(out=folder).report["measurement"]
    return measured


def driven(address: str, budget: str, others: Sequence[int]) -> dict[str, Any]:
    """Trials a second of a run on a simulated fleet; cores that it and other processes took."""
    chosen = {"dask": {"scheduler": address}}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        file = {
            "version": 1,
            "name": "simulated",
            "target": {"kind": "x86", "threads": 1},
            "device": "simulated",
            "measure": {"runner": chosen, "builder": chosen},
            "records": str(Path(folder) / "records.jsonl"),
            "stages": [
                {"import": _MODEL},
                {"extract": {}},
                {"tune": {"tuner": "random", "scheduler": "round-robin", "budget": budget}},
            ],
        }
        pipeline = tilewright.Pipeline.load(YamlSource.parse(json.dumps(file), "fleet.py"))
        samples = stack.enter_context(_watched(Path(file["records"]), [os.getpid(), *others]))
        measured = pipeline.run(out=folder).report["measurement"]
    # From when trials began to come: the first 40 % are the first look at each task's space.
    began = next(at for at, trials, _ in samples if trials)
    seconds = float(budget.removesuffix("s"))
    middle = [one for one in samples if 0.4 <= (one[0] - began) / seconds <= 0.85]
    (start, first, used), (end, last, used_then) = middle[0], middle[-1]
    return {
        "whole": measured["trials_per_second"],
        "rate": (last - first) / (end - start),
        "cores": [(b - a) / (end - start) for a, b in zip(used, used_then, strict=True)],
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


@contextmanager
def _watched(records: Path, pids: Sequence[int]) -> Iterator[list[tuple[float, int, list[float]]]]:
    """Every second until the end: when, records so far, and seconds of processor by process."""
    samples: list[tuple[float, int, list[float]]] = []
    processes = [psutil.Process(pid) for pid in pids]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(1.0):
            lines = records.read_bytes().count(b"\n") if records.exists() else 0
            used = [sum(process.cpu_times()[:2]) for process in processes]
            samples.append((time.monotonic(), lines, used))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()


# --- fleets --------------------------------------------------------------------------------------


@contextmanager
def fleet(workers: Sequence[Sequence[str]]) -> Iterator[str]:
    """The address of a scheduler that has these workers, told by their options."""
    with ExitStack() as stack:
        scheduler = stack.enter_context(_process(["fleet", "scheduler", "--port", "0"]))
        address = scheduler.stdout.readline().split()[-1]
        for each in workers:
            worker = stack.enter_context(_process(["fleet", "worker", address, *each]))
            while not (line := worker.stdout.readline()).startswith("serving"):
                assert line, "a worker ended"
        yield address


@contextmanager
def simulated_fleet(workers: int) -> Iterator[tuple[str, float, list[int]]]:
    """A scheduler's address, the mean seconds of a trial, processes of scheduler and workers."""
    with ExitStack() as stack:
        scheduler = stack.enter_context(_process(["fleet", "scheduler", "--port", "0"]))
        address = scheduler.stdout.readline().split()[-1]
        command = [sys.executable, str(_HERE / "simulated_workers.py"), address, str(workers)]
        process = stack.enter_context(_started(command))
        line = process.stdout.readline()
        yield address, float(line.split()[-1]), [scheduler.pid, process.pid]


def _process(arguments: Sequence[str]) -> Any:
    return _started([sys.executable, "-m", "tilewright", *arguments])


@contextmanager
def _started(command: Sequence[str]) -> Iterator[Any]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _cores(count: int) -> list[int]:
    return sorted(os.sched_getaffinity(0))[:count]


if __name__ == "__main__":
    main()
