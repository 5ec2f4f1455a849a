"""The cases that the onnx package tests backends by, compiled for x86 with fallback configs and run.

`judged` runs them in processes of their own, so that a case may die. As a script it is such a
process: it reads names of cases and answers each with a line of JSON. `--write` runs all of them
and writes down what became of them: the names of the right ones, and the counts in the README of
tilewright-onnx.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

Kind = Literal["right", "refused", "wrong", "traceback", "died"]

RIGHT = Path(__file__).with_name("data") / "backend_suite_right.txt"
"""Names of the cases that are right, a line each."""
README = Path(__file__).parents[2] / "plugins/onnx/README.md"
TABLE = re.compile(r"(?<=<!-- backend suite -->\n).*?(?=<!-- end -->)", re.DOTALL)

_COARSE = {"float16": 2**-8, "bfloat16": 2**-5}
"""Relative error of answers whose inner values are rounded so, too: four times that."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a case.

    operator  that the case is of, with its domain unless that is ONNX's own
    kind      `right`, `refused` by a `UsageError`, or what must not be
    reason    why it is not right, in a line
    """

    case: str
    operator: str
    kind: Kind
    reason: str = ""


@cache
def cases() -> Mapping[str, Any]:
    """All cases by name."""
    from onnx.backend.test.case.node import collect_testcases

    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their authors divide by zero
        return {case.name: case for case in sorted(collect_testcases(None), key=lambda c: c.name)}


def judged(names: Iterable[str]) -> Iterator[Verdict]:
    """A verdict for each name, in order."""
    pending = list(names)
    while pending:
        answers = _answers(pending)
        yield from answers
        del pending[: len(answers)]


def table(verdicts: Iterable[Verdict]) -> str:
    """The counts by operator, as Markdown."""
    counts: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        counts.setdefault(verdict.operator, Counter())[verdict.kind] += 1
    total = sum(counts.values(), Counter())
    groups: dict[str, list[str]] = {"all right": [], "some right": [], "all refused": []}
    for operator, kinds in sorted(counts.items()):
        right, count = kinds["right"], kinds.total()
        group = "all right" if right == count else "some right" if right else "all refused"
        share = f"{right} of {count}" if group == "some right" else str(count)
        groups[group].append(f"`{operator}` {share}")
    lines = [f"| {group} | {', '.join(operators)} |" for group, operators in groups.items()]
    head = f"Of {total.total()} cases, {total['right']} are right and {total['refused']} refused."
    return "\n".join([head, "", "| | operators, and cases of each |", "|---|---|", *lines, ""])


def _answers(names: Sequence[str]) -> list[Verdict]:
    """What one process has to say: to the first case that it dies of."""
    process = subprocess.run(
        [sys.executable, __file__],
        input="\n".join(names),
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in process.stdout.splitlines() if line.startswith("{")]
    answers = [Verdict(**json.loads(line)) for line in lines]
    if len(answers) < len(names):
        name = names[len(answers)]
        end = (process.stderr.strip().splitlines() or [""])[-1]
        answers.append(Verdict(name, _operator(name), "died", f"{process.returncode}: {end}"))
    return answers


def _operator(name: str) -> str:
    """That of a case whose model is written out by others is the one that they stand for."""
    node = cases()[name.partition("_expanded")[0]].model.graph.node[-1]
    return ".".join(filter(None, (node.domain, node.op_type)))


def _judge(name: str, folder: Path, host: Any) -> Verdict:
    from tilewright.errors import UsageError

    operator = _operator(name)
    try:
        return Verdict(name, operator, *_compared(cases()[name], folder, host))
    except UsageError as error:
        return Verdict(name, operator, "refused", " ".join(str(error).split()))
    except Exception as error:  # what must not be is told, not raised
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        return Verdict(name, operator, "traceback", " ".join(text.split()))


def _compared(case: Any, folder: Path, host: Any) -> tuple[Kind, str]:
    import numpy as np

    import tilewright

    path = folder / "model.onnx"
    path.write_bytes(case.model.SerializeToString())
    network = tilewright.compile(str(path), target="x86:threads=1", out=folder / "out", host=host)
    inputs, outputs = (
        [value.name for value in some] for some in (case.model.graph.input, case.model.graph.output)
    )
    for given, expected in (map(_arrays, pair) for pair in case.data_sets):
        found = network.run(dict(zip(inputs, given, strict=True)))
        for output, answer in zip(outputs, expected, strict=True):
            ours = found[output]
            if ours.dtype != answer.dtype:
                return "wrong", f"{output} is {ours.dtype}, expected {answer.dtype}"
            rtol = max(case.rtol, _COARSE.get(answer.dtype.name, 0))
            if answer.dtype.name == "bfloat16":  # numpy does not know its NaN
                ours, answer = ours.astype(np.float32), answer.astype(np.float32)  # noqa: PLW2901
            try:
                np.testing.assert_allclose(ours, answer, rtol=rtol, atol=case.atol)
            except AssertionError as error:
                return "wrong", " ".join(str(error).split())
    return "right", ""


def _arrays(values: Sequence[Any]) -> list[Any]:
    """As numpy has them; what it has no dtype for comes as a message."""
    from onnx import TensorProto, numpy_helper

    return [
        numpy_helper.to_array(value) if isinstance(value, TensorProto) else value
        for value in values
    ]


def _write() -> None:
    verdicts = list(judged(cases()))
    right = (verdict.case for verdict in verdicts if verdict.kind == "right")
    RIGHT.write_text("".join(f"{name}\n" for name in right))
    README.write_text(TABLE.sub(lambda _: table(verdicts), README.read_text()))


def main() -> None:
    """Answer the names on standard input, or write down what became of all cases."""
    if sys.argv[1:] == ["--write"]:
        _write()
        return
    from tilewright.host.plugin_host import PluginHost

    host = PluginHost.load()
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.stdin.read().split():
            sys.stdout.write(json.dumps(asdict(_judge(name, Path(folder), host))) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
