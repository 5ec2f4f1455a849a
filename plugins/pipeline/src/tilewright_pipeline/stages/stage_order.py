"""Whether the stages of a plan fit together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright_pipeline.stages.planned_stage import PlannedStage, makes, stage_that_makes


def misplaced(stages: Sequence[PlannedStage], host: PluginHost) -> Iterator[UsageError]:
    """The values that stages need and no earlier stage makes; each missing stage once."""
    supposed: list[Any] = []  # factories of stages that were told to be missing
    for position, stage in enumerate(stages):
        before = [one.factory for one in stages[:position]] + supposed
        lacking = [kind for kind in stage.factory.consumes if not _made(kind, before)]
        if lacking:
            remedy, added = _how_to_make(lacking[0], stages[position:], before, host)
            supposed += added
            yield UsageError(
                f"'{stage.name}' needs a {lacking[0].__name__} and no earlier stage makes one",
                where=stage.place,
                remedy=remedy,
            )


def idle(stages: Sequence[PlannedStage]) -> Iterator[str]:
    """The mistakes of stages that repeat an earlier one on the same values."""
    for position, stage in enumerate(stages):
        twin = _twin(stage, stages[:position])
        if twin is not None:
            yield (
                f"{stage.place}: the same stage with the same options is at {_spot(twin)}, and "
                "this one finds nothing new: remove it, or change its options"
            )


def leading_to(name: str, stages: Sequence[PlannedStage], where: str) -> list[PlannedStage]:
    """The last stage of that name and, before it, those that make what it needs.

    Raises UsageError, at `where`, where there is none of that name.
    """
    if name not in [stage.name for stage in stages]:
        raise UsageError(
            f"no stage '{name}' in this pipeline", where=where, remedy=f"add `- {name}: {{}}`"
        )
    kept: list[PlannedStage] = []
    wanted: set[type] = set()
    for stage in reversed(stages):
        if makes(stage.factory, wanted) or (not kept and stage.name == name):
            kept.append(stage)
            wanted |= {*stage.factory.consumes}
    return kept[::-1]


def _made(kind: type, factories: Sequence[Any]) -> bool:
    return any(makes(factory, {kind}) for factory in factories)


def _how_to_make(
    kind: type, later: Sequence[PlannedStage], before: Sequence[Any], host: PluginHost
) -> tuple[str, list[Any]]:
    """(remedy, the factories that it adds)."""
    for stage in later:
        if makes(stage.factory, {kind}):
            return f"move '{stage.name}' before it", [stage.factory]
    names: list[str] = []
    added: list[Any] = []
    wanted = [kind]
    while wanted:
        maker = stage_that_makes(wanted.pop(), host)
        if maker is None or maker in names:
            continue
        factory: Any = host.component("stage", maker).load()
        names.insert(0, maker)
        added.append(factory)
        wanted += [need for need in factory.consumes if not _made(need, [*before, *added])]
    listed = " and ".join(f"'{name}'" for name in names)
    return f"put {listed} before it" if names else "no installed stage makes one", added


def _twin(stage: PlannedStage, before: Sequence[PlannedStage]) -> PlannedStage | None:
    """An earlier stage that does the same: nothing that either takes is made between them."""
    taken = {*stage.factory.consumes, *stage.factory.optional}
    for earlier in reversed(before):
        if (earlier.name, earlier.options) == (stage.name, stage.options):
            return earlier
        if makes(earlier.factory, taken):
            return None
    return None


def _spot(stage: PlannedStage) -> str:
    return stage.place.partition(": ")[0]
