"""Registers what tilewright-search offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.plugins.plugin import Component, hookimpl, late

if TYPE_CHECKING:
    from types import ModuleType

    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.task import Task
    from tilewright_search.models.features import Features


def _late(module: str, name: str) -> Any:
    return late(f"tilewright_search.{module}", name)


@hookimpl
def tilewright_hookspecs() -> Sequence[ModuleType]:
    from tilewright_search import hookspecs

    return [hookspecs]


@hookimpl
def tilewright_tuners() -> Sequence[Component[Any]]:
    usual = frozenset({"batch", "resume"})
    guided = usual | {"model"}
    grid, random = _late("tuners.grid", "GridTuner"), _late("tuners.random_search", "RandomTuner")
    genes = "tuners.genetic"
    genetic, genetic_options = _late(genes, "GeneticTuner"), _late(genes, "GeneticOptions")
    xgb, xgb_options = _late("tuners.xgb", "XgbTuner"), _late("tuners.xgb", "XgbOptions")
    evolve = _late("tuners.evolutionary", "EvolutionaryTuner")
    evolve_options = _late("tuners.evolutionary", "EvolutionaryOptions")
    return [
        Component("grid", "every config once, in order", grid, capabilities=usual),
        Component("random", "configs in random order", random, capabilities=usual),
        Component("genetic", "children of the fastest", genetic, genetic_options, usual),
        Component("xgb", "annealing on a cost model", xgb, xgb_options, guided, default=True),
        Component("evolutionary", "evolution on a cost model", evolve, evolve_options, guided),
    ]


@hookimpl
def tilewright_cost_models() -> Sequence[Component[Any]]:
    trees, ridge = "models.xgboost_trees", "models.ridge"
    boosted, options = _late(trees, "make_xgboost"), _late(trees, "XgboostOptions")
    make_ridge, ridge_options = _late(ridge, "make_ridge"), _late(ridge, "RidgeOptions")
    return [
        Component("xgboost", "boosted trees", boosted, options, lacks=_xgboost_lacks, default=True),
        Component("ridge", "ridge regression on numpy", make_ridge, ridge_options),
    ]


def _xgboost_lacks() -> str:
    from tilewright_search.models.xgboost_trees import what_xgboost_lacks

    return what_xgboost_lacks()


@hookimpl(trylast=True)
def tilewright_featurize(task: Task, configs: Sequence[ConfigEntity], host: PluginHost) -> Features:
    from tilewright_search.models.knob_features import knob_features

    return knob_features(task, configs)


@hookimpl
def tilewright_task_schedulers() -> Sequence[Component[Any]]:
    place, fewest = "schedulers.gradient", _late("schedulers.round_robin", "RoundRobinScheduler")
    gradient, options = _late(place, "GradientScheduler"), _late(place, "GradientOptions")
    return [
        Component("round-robin", "fewest trials", fewest, default=True),
        Component("gradient", "where a batch saves most", gradient, options),
    ]
