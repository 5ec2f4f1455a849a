"""How other systems' configs tile the loops of a product."""

from __future__ import annotations

from tilewright.canonical import thaw
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.workload import Workload
from tilewright_tensor.logs.ansor_replay import replayed
from tilewright_tensor.logs.ansor_stages import Steps
from tilewright_tensor.logs.ansor_workloads import FORMS
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.schedule.compute_stage import Split


def loop_tiles(
    foreign: ConfigEntity, anchor: Workload, operators: Operators
) -> dict[str, tuple[int, ...]]:
    """By axis of the anchor's product the parts of its tile, all but the outermost.

    Of Ansor's steps, MetaSchedule's decisions and AutoTVM's matrix products for processors; nothing
    for another config.
    """
    system, _, template = foreign.strategy.partition(":")
    if (system, template) == ("autotvm", "batch_matmul.x86"):
        axes, tiles = _axes(anchor, operators)[-3:], [foreign[f"tile_{axis}"] for axis in "yxk"]
    elif system == "metaschedule":
        own = _axes(anchor, operators)
        axes, tiles = [own[place] for place in FORMS[template].loops], foreign["tiles"]
    elif system == "ansor":
        return _of_steps(thaw(foreign["steps"]), template, anchor, operators)
    else:
        return {}
    return {axis: tuple(tile[1:]) for axis, tile in zip(axes, tiles, strict=False)}


def _of_steps(
    steps: Steps, form: str, anchor: Workload, operators: Operators
) -> dict[str, tuple[int, ...]]:
    schedule = replayed(form, anchor, steps, operators)
    product = FORMS[form].stages[-1]
    own = (stage for name, stage in schedule.stages.items() if name.startswith(product))
    splits = [one for stage in own for one in stage.relations if isinstance(one, Split)]
    return {one.parent: one.factors for one in reversed(splits)}


def _axes(anchor: Workload, operators: Operators) -> list[str]:
    product = operators.compute_dag(anchor).computes[-1]
    return [axis.name for axis in (*product.axes, *product.reduce_axes)]
