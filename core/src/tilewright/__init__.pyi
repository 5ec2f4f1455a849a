"""What `tilewright` offers, for type checkers; tilewright-pipeline adds the functions."""

from tilewright.errors import UsageError as UsageError
from tilewright.host.plugin_host import PluginHost as PluginHost
from tilewright.plugins.plugin import Component as Component
from tilewright.plugins.plugin import hookimpl as hookimpl
from tilewright.plugins.plugin import hookspec as hookspec
from tilewright.space.config_space import ConfigSpace as ConfigSpace
from tilewright.strategies.dispatch import DispatchContext as DispatchContext
from tilewright.strategies.strategy import Strategy as Strategy
from tilewright.strategies.strategy import strategy as strategy
from tilewright.vocabulary.measure import MeasureInput as MeasureInput
from tilewright.vocabulary.measure import MeasureResult as MeasureResult
from tilewright.vocabulary.target import Target as Target
from tilewright.vocabulary.task import Task as Task
from tilewright.vocabulary.workload import Workload as Workload
from tilewright_pipeline.api.functions import compile as compile  # noqa: A004  what users expect
from tilewright_pipeline.api.functions import explain as explain
from tilewright_pipeline.api.functions import tune as tune
from tilewright_pipeline.pipeline import Pipeline as Pipeline

__version__: str
