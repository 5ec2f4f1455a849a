"""A run's folder belongs to its models and its target; other runs are refused."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tilewright.errors import UsageError
from tilewright.paths import path_of
from tilewright.reading import read_file
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.stages.stage import StageResult
from tilewright_pipeline.writing import writing

_log = logging.getLogger("tilewright")


@runtime_checkable
class Model(Protocol):
    """A value that a run is about, such as a network.

    name      among several of one run
    origin    what the user called it, such as a path; may be empty
    content_hash  of all that it computes
    """

    @property
    def name(self) -> str: ...

    @property
    def origin(self) -> str: ...

    @property
    def content_hash(self) -> str: ...


def models_of(result: StageResult) -> list[Model]:
    """The models among a stage's values, branches included."""
    own = [result.values, *result.branches.values()]
    return [value for values in own for value in values if isinstance(value, Model)]


def claim(context: RunContext, models: Sequence[Model]) -> list[dict[str, str]]:
    """The entry of run.json for the models. Raises UsageError for another run's.

    It belongs to another run if its run.json names another target, or a model of other content
    from another place. A model that changed in place, or is imported otherwise, keeps the folder,
    with a message.
    """
    mine = [{"name": m.name, "origin": m.origin, "content": m.content_hash} for m in models]
    report = _report_in(context.folder)
    target = report.get("target")
    if target not in (None, str(context.target)):
        raise _taken(context.folder, f"for {target}, and this is for {context.target}")
    for old, new in _pairs(_models_in(report), mine):
        if old["content"] == new["content"]:
            continue
        if not new["origin"] or _place(old["origin"]) != _place(new["origin"]):
            told = f"of {old['origin'] or 'another model'}, and this is "
            raise _taken(context.folder, told + (new["origin"] or "another one"))
        _log.warning(
            "%s is not as in the run before in %s (its file, its shapes or its weights): records "
            "of it that still fit are used, and its network is compiled anew",
            new["origin"],
            context.folder,
        )
    return mine


@contextmanager
def kept_folder(folder: Path) -> Iterator[None]:
    """Make a folder for the time of a run; where nothing was put into it, it goes again."""
    made = []
    with writing(folder, "the run's folder"):
        for part in (*reversed(folder.parents), folder):
            if not part.exists():
                part.mkdir(exist_ok=True)
                made.append(part)
    try:
        yield
    finally:
        with suppress(OSError):  # not empty
            for part in reversed(made):
                part.rmdir()


def holds_anything(folder: Path) -> bool:
    """Whether anything was put into a folder."""
    with suppress(OSError):
        return any(folder.iterdir())
    return False


def _report_in(folder: Path) -> Mapping[str, Any]:
    """The run.json of the run before; nothing where there is none that can be read."""
    with suppress(OSError, ValueError, RecursionError):
        report = json.loads(read_file(folder / "run.json"))
        if isinstance(report, dict):
            return report
    return {}


def _models_in(report: Mapping[str, Any]) -> list[dict[str, str]]:
    """The models that a report names, without what no run writes."""
    models = report.get("models")
    return [
        model
        for model in (models if isinstance(models, list) else ())
        if isinstance(model, dict)
        and all(isinstance(model.get(part), str) for part in ("name", "origin", "content"))
    ]


def _pairs(
    before: Sequence[Mapping[str, str]], mine: Sequence[Mapping[str, str]]
) -> Iterator[tuple[Mapping[str, str], Mapping[str, str]]]:
    """The models that share one place: the only ones, or those of one name."""
    if len(before) == len(mine) == 1:
        yield before[0], mine[0]
        return
    by_name = {model["name"]: model for model in before}
    yield from ((by_name[model["name"]], model) for model in mine if model["name"] in by_name)


def _place(origin: str) -> str:
    """A path in one spelling; other texts stay distinct from paths."""
    # Links are not followed.
    return os.path.abspath(path_of(origin))  # noqa: PTH100


def _taken(folder: Path, of: str) -> UsageError:
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in range(2, 1000))
    free = next((path for path in numbered if not path.exists()), folder)
    return UsageError(
        f"the folder of a run {of}",
        where=str(folder),
        remedy=f"take another folder, such as --out {free}, or remove this one",
    )
