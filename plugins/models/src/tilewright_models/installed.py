"""Which of the installed models is asked: that of a pack, where it knows the machine."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.errors import UsageError
from tilewright.reading import read_file
from tilewright_models.cost_model import CostModel

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright_models.cost_model import Machine
    from tilewright_records.packs.record_pack import RecordPack

_ROLE = "record_pack"
PACKAGED = Path(__file__).with_name("data") / "model.json.gz"
_log = logging.getLogger("tilewright")


def model_for(machine: Machine, host: PluginHost) -> CostModel:
    """The model of the first pack that has learned from this machine, else the packaged one.

    A pack of another machine is not asked. One whose model is damaged, or of another version, is
    passed over with a warning.
    """
    for name in host.components(_ROLE):
        model = _of_pack(name, host)
        if model is not None and machine in model.examples:
            return model
    return _read(PACKAGED)


@cache
def _of_pack(name: str, host: PluginHost) -> CostModel | None:
    try:
        pack: RecordPack = host.make(_ROLE, name, {}, host)
    except UsageError:  # whoever asks for its records says why
        return None
    try:
        path = pack.model()
        model = None if path is None else _read(path)
    except UsageError as error:
        told = "; ".join(map(str.strip, str(error).splitlines()))
        _log.warning("the cost model of the pack '%s' is passed over: %s", name, told)
        return None
    return model and replace(model, told=f"{model.told}; of the pack '{name}'")


@cache
def _read(path: Path) -> CostModel:
    return CostModel.read(read_file(path), str(path))
