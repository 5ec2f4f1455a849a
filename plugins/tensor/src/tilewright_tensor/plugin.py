"""Registers what tilewright-tensor offers."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from tilewright.plugins.plugin import Component, hookimpl, late

if TYPE_CHECKING:
    from typing import Any

    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import Reference
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.task import Task
    from tilewright_tensor.features.loop_features import LoopFeatures
    from tilewright_tensor.operators.definition.operator_def import OperatorDef


@hookimpl
def tilewright_hookspecs() -> Sequence[ModuleType]:
    """`tilewright_operators` and `tilewright_tensor_instructions`."""
    from tilewright_tensor import hookspecs

    return (hookspecs,)


@hookimpl
def tilewright_operators() -> Sequence[OperatorDef]:
    """The built-in operators."""
    from tilewright_tensor.operators.operators import builtin_operators

    return tuple(builtin_operators().values())


@hookimpl
def tilewright_references(host: PluginHost) -> Sequence[Reference]:
    """One an operator of any plugin; a third party implements `tilewright_operators` only."""
    from tilewright_tensor.operators.operators import Operators
    from tilewright_tensor.operators.reference import OperatorReference

    return OperatorReference.of(Operators.of(host))


@hookimpl(optionalhook=True)
def tilewright_record_readers() -> Sequence[Component[Any]]:
    """The logs of TVM's tuners."""
    autotvm = late("tilewright_tensor.logs.autotvm_reader", "AutotvmReader")
    ansor = late("tilewright_tensor.logs.ansor_reader", "AnsorReader")
    metaschedule = late("tilewright_tensor.logs.metaschedule_reader", "MetaScheduleReader")
    return [
        Component("autotvm", "AutoTVM v0.1 and v0.2 logs, TopHub packages", autotvm),
        Component("ansor", "Ansor v0.2 to v0.6 logs", ansor),
        Component("metaschedule", "tuning records of MetaSchedule's database", metaschedule),
    ]


@hookimpl(optionalhook=True)
def tilewright_featurize(
    task: Task, configs: Sequence[ConfigEntity], host: PluginHost
) -> LoopFeatures | None:
    from tilewright_tensor.features.loop_features import loop_features

    return loop_features(task, configs, host)
