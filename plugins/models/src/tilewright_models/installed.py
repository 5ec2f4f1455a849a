"""Which of the installed models are asked: those of packs that know the machine, then our own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.errors import UsageError
from tilewright.reading import read_file
from tilewright_models.advisor import advise
from tilewright_models.cost_model import CostModel, Machine
from tilewright_records.packs.record_pack import RecordPack

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright_pipeline.dispatch.unmeasured import Advice, UnmeasuredTask

PACKAGED = Path(__file__).with_name("data") / "model.json.gz"
_ROLE = "record_pack"
_log = logging.getLogger("tilewright")


def advice_of_models(asked: UnmeasuredTask, host: PluginHost) -> Advice | None:
    """What the first model says that has learned from tasks like this one.

    Packs are asked by name, before the packaged model, and only those that have learned from this
    machine. A model of theirs that makes no sense is passed over with a warning.
    """
    for name, model in _of_packs(Machine.of(asked.device, asked.task.target), host):
        try:
            found = advise(asked, host, model)
        except UsageError as error:
            _say_that_it_is_passed_over(name, error)
        else:
            if found is not None:
                return found
    return advise(asked, host, packaged_model())


@cache
def packaged_model() -> CostModel:
    """The model of this distribution."""
    return CostModel.read(read_file(PACKAGED), str(PACKAGED))


def _of_packs(machine: Machine, host: PluginHost) -> Iterator[tuple[str, CostModel]]:
    for name in host.components(_ROLE):
        try:
            pack: RecordPack = host.make(_ROLE, name, {}, host)
        except UsageError:  # whoever asks for its records says why
            continue
        if pack.manifest.model is not None:
            model = _read(name, pack.folder, pack.manifest.model)
            if model is not None and machine in model.examples:
                yield name, model


@cache
def _read(name: str, folder: Path, sha256: str) -> CostModel | None:
    """The model of a pack, read once for its hash; None, said once, where it is none."""
    del sha256
    try:
        path = RecordPack.open(name, folder).model()
        model = None if path is None else CostModel.read(read_file(path), str(path))
    except (UsageError, OSError) as error:
        _say_that_it_is_passed_over(name, error)
        return None
    return None if model is None else replace(model, told=f"{model.told}; of the pack '{name}'")


def _say_that_it_is_passed_over(name: str, error: UsageError | OSError) -> None:
    _warn_once(name, "; ".join(map(str.strip, str(error).splitlines())))


@cache
def _warn_once(name: str, told: str) -> None:
    _log.warning("the cost model of the pack '%s' is passed over: %s", name, told)
