"""`--save` of every benchmark: what it measured goes into `results/MACHINE.json`."""

from __future__ import annotations

import argparse
import json
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import result_data
from questions import question_named
from result_data import Entry, Machine, Row

from tilewright.errors import UsageError

_ROOT = Path(__file__).parent.parent
_OURS = ("tilewright", "numpy", "llvmlite")
_OWN_OPTIONS = {"--save": 0, "--state": 1, "--run": 1}


def add_save_options(parser: argparse.ArgumentParser) -> None:
    """`--save`, `--state` and `--run`."""
    group = parser.add_argument_group("results")
    group.add_argument(
        "--save",
        action=_Save,
        help="write the figures into benchmarks/results/MACHINE.json; page.py makes the page of it",
    )
    group.add_argument(
        "--state",
        default="",
        help="of the machine meanwhile, such as `shared`: such figures stand beside the others",
    )
    group.add_argument(
        "--run",
        type=int,
        default=1,
        help="number of one of several in this state, all of them kept",
    )


def save(
    options: argparse.Namespace,
    question: str,
    rows: Sequence[Row],
    *,
    packages: Sequence[str] = (),
    peer_python: str | None = None,
    machine: Machine | None = None,
) -> None:
    """Merge rows into this machine's results, where `--save` was given.

    Goals that rows leave out are the question's.

    packages     whose versions belong to the result, beside our own
    peer_python  a Python that has them, where this one has not
    machine      another than this one's processor, such as its GPU
    """
    if not options.save or not rows:
        return
    asked = question_named(question)
    entry = Entry(
        question=question,
        state=options.state,
        run=options.run,
        date=datetime.now(UTC).date(),
        command=command_line(sys.argv),
        source="--save",
        tree=_tree(),
        versions={"python": platform.python_version(), **versions(_OURS)}
        | (versions(packages) if peer_python is None else versions_of(peer_python, packages)),
        unit=asked.unit,
        better=asked.better,
        peer=asked.peer,
        rows=tuple(row if row.goal is not None else _with_goal(row, asked.goal) for row in rows),
    )
    path = result_data.add(machine or this_machine(), entry)
    print(f"\n{question}: written to {path.relative_to(_ROOT)}", file=sys.stderr)


class _Save(argparse.Action):
    """A flag that looks at this machine's file before anything is measured for it."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=False, **options)

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, *_: object) -> None:
        path = result_data.FOLDER / f"{this_machine().name}.json"
        try:
            if path.exists():
                result_data.read(path)
        except UsageError as error:
            parser.error(str(error))
        setattr(namespace, self.dest, True)


def this_machine(cpuinfo: Path = Path("/proc/cpuinfo")) -> Machine:
    """By its processor; its file is named after model and cores, never after the host.

    A model without a number, as hypervisors tell it, gets family and model as the processor counts
    them: AMD's Zen 3, 4 and 5 may all be `AMD EPYC`.
    """
    text = cpuinfo.read_text("utf-8")
    told = dict(re.findall(r"^(model name|cpu family|model)\s*:\s*(.+?)\s*$", text, re.MULTILINE))
    model = told.get("model name", platform.machine())
    if "cpu family" in told and not re.search(r"\d", model):
        model = f"{model} {told['cpu family']}.{told['model']}"
    # Of the machine: benchmarks themselves keep to one of its cores at times.
    return machine_of(model, max(1, len(re.findall(r"^processor\s*:", text, re.MULTILINE))))


def machine_of(model: str, cores: int) -> Machine:
    """`Intel(R) Xeon(R) CPU @ 2.80GHz`, 2 -> the file `intel-xeon-cpu-2.80ghz-2-cores`."""
    plain = re.sub(r"\((?:r|tm|c)\)", "", model, flags=re.IGNORECASE)
    word = re.sub(r"[^a-z0-9.]+", "-", plain.lower()).strip("-.")
    name = f"{word}-{cores}-cores" if cores > 1 else word  # a GPU is one
    return Machine(name=name, title=model, model=model, cores=cores)


def command_line(arguments: Sequence[str]) -> str:
    """As it may be published: relative to the repository, foreign paths as PATH."""
    words, skipped = [], 0
    for word in arguments[1:]:
        name, _, value = word.partition("=")
        if skipped:
            skipped -= 1
        elif name in _OWN_OPTIONS:
            skipped = 0 if value else _OWN_OPTIONS[name]
        else:
            words.append(re.sub(r"(?:^|(?<==))[/~].*", "PATH", word))
    script = Path(arguments[0]).resolve()
    known = script.is_relative_to(_ROOT)
    return shlex.join([str(script.relative_to(_ROOT)) if known else script.name, *words])


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Of those that are installed."""
    found = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def versions_of(python: str, packages: Sequence[str]) -> dict[str, str]:
    """The same of another Python."""
    script = Path(__file__).parent / "peers" / "versions.py"
    done = subprocess.run(
        [python, str(script), *packages], check=True, stdout=subprocess.PIPE, text=True
    )
    return dict(json.loads(done.stdout))


def _with_goal(row: Row, goal: float | None) -> Row:
    return row.model_copy(update={"goal": goal})


def _tree() -> str | None:
    """The commit, `-dirty` where sources differ from it; None outside of a checkout."""
    git = ["git", "-C", str(_ROOT)]
    try:
        head = subprocess.run(
            [*git, "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True
        )
        changed = subprocess.run(
            [*git, "diff", "--quiet", "HEAD", "--", "core", "plugins", "benchmarks/*.py"],
            check=False,
            capture_output=True,
        )
    except FileNotFoundError:
        return None
    return head.stdout.strip() + "-dirty" * bool(changed.returncode) if head.stdout else None
