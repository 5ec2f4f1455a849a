"""What the stages of a run share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.roles import RecordStore
from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Conditions
from tilewright.vocabulary.target import Target
from tilewright_pipeline.context.packs import UsedPack
from tilewright_pipeline.dispatch.history import History


@dataclass(frozen=True)
class RunContext:
    """What every stage of a run shares.

    runner, builder  name and options of those that measure
    record_store     what was chosen to keep the records; None where nothing was
    strategies       glob over the names of alternatives; see `History.narrowed`
    more             what `--more` adds to the remaining budget of tuning stages
    foreign_records  whether records of other devices may serve as starting points
    branch           which of several networks the stage runs for; empty where there is one
    devices          names of those that measure, where they are not this machine's; all alike
    named_device     the name or pattern that the device was chosen by; empty where none was named
    saves            whether stages leave files in the folder; where not, it is gone afterwards
    packs            installed packs whose records are in the store, too
    frozen           the SHA-256 of the records where nothing may be measured, empty otherwise
    unmeasured       whether the run's effort is 0: graph-tune is left out
    """

    name: str
    folder: Path
    target: Target
    device: Device
    host: PluginHost
    store: RecordStore
    conditions: Conditions
    seed: int
    runner: tuple[str, Mapping[str, Any]]
    builder: tuple[str, Mapping[str, Any]]
    record_store: Choice | None = None
    strategies: str = "*"
    more: Budget | None = None
    foreign_records: bool = False
    branch: str = ""
    devices: tuple[str, ...] = ()
    named_device: str = ""
    saves: bool = True
    packs: tuple[UsedPack, ...] = ()
    frozen: str = ""
    unmeasured: bool = False

    @cached_property
    def history(self) -> History:
        """Which records count in this run, and what they say of a task."""
        return History(self.store, self.host, self.device, self.conditions, self.strategies)
