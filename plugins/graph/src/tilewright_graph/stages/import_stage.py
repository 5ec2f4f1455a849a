"""The stage `import`: models become networks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from tilewright.errors import UsageError, did_you_mean
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice, Options, Place
from tilewright_graph.frontends.frontend import Frontend, check_model, frontend_for
from tilewright_graph.frontends.named_dimensions import NamedDimensions
from tilewright_graph.network.network import Network
from tilewright_graph.ranges.buckets import Buckets, make_buckets
from tilewright_graph.ranges.size_range import SizeRange
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.stages.stage import StageResult
from tilewright_tensor.operators.operators import Operators


class WeightsOptions(Options):
    """Weights in place of the model's own."""

    seed: int = Field(0, ge=0, description="Random weights are drawn from it.")


def _model(value: Any) -> Any:
    """What a file can say is a text; Python may give a path, or a model that is in memory."""
    other = isinstance(value, bool | int | float | list | tuple | Mapping)
    if other:
        raise ValueError("expected a text")
    return str(value) if isinstance(value, Path) else value


Model = Annotated[
    Any,
    BeforeValidator(_model),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]}),
]


def _sizes(value: Any) -> Any:
    return str(SizeRange.parse(str(value))) if type(value) in (int, str) else value


Sizes = Annotated[
    str,
    BeforeValidator(_sizes),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
]
"""The text of a `SizeRange`."""


class ImportOptions(Options):
    """Options of the stage `import`."""

    frontend: Choice | None = Field(
        default=None, description="Default: the one that reads such models."
    )
    model: Model = Field(
        default=None,
        description="A path, or what else the frontend understands (`onnx-light:resnet50`); from "
        "Python, also a model in memory, such as an `onnx.ModelProto` or its bytes.",
    )
    models: tuple[str, ...] = Field(
        default=(),
        description="Several of them instead: their tasks are tuned together, then each network is "
        "compiled and checked on its own.",
    )
    weights: WeightsOptions | None = Field(
        default=None, description="Given: weights are random; otherwise the model's own."
    )
    shapes: Mapping[str, tuple[int, ...]] = Field(
        default_factory=dict,
        description="Sizes of inputs with dynamic dimensions, by input name; of several models, "
        "each takes those of its inputs.",
    )

    dims: Mapping[str, Sizes] = Field(
        default_factory=dict,
        description="Sizes of dimensions that the model names: `batch: 8`, or ranges, `batch: "
        "1..32`, of which the compiled network takes every size.",
    )

    @model_validator(mode="after")
    def _one_or_several(self) -> Self:
        if (self.model is None) == (not self.models):
            raise ValueError("expected either `model` or `models`")
        return self


class ImportStage:
    """Reads one model, or several."""

    consumes: ClassVar[tuple[type, ...]] = ()
    optional: ClassVar[tuple[type, ...]] = ()
    produces: ClassVar[tuple[type, ...]] = (Network, Buckets)

    def __init__(self, options: ImportOptions, context: RunContext) -> None:
        self._options = options
        self._context = context

    @staticmethod
    def option_mistakes(
        options: ImportOptions, host: PluginHost
    ) -> Iterator[tuple[Place, UsageError]]:
        """Mistakes: models that no frontend reads, and files that do not exist."""
        several = [(("models", place), model) for place, model in enumerate(options.models)]
        named = several if options.model is None else [(("model",), options.model)]
        for path, model in named:
            try:
                check_model(model, options.frontend.name if options.frontend else None, host)
            except UsageError as error:
                yield path, error

    def run(self, _values: Mapping[type, Any]) -> StageResult:
        model = self._options.model
        models = self._options.models if model is None else (model,)
        read = [self._read(each) for each in models]
        networks = [values[0] for values in read]
        _check_names(self._options.shapes, networks)
        if model is not None:
            return StageResult(read[0])
        for name, count in Counter(network.name for network in networks).items():
            if count > 1:
                raise UsageError(
                    f"{count} models are named {name!r}, and each has a folder of its name",
                    remedy="rename a file",
                )
        return StageResult(branches={values[0].name: values for values in read})

    def _read(self, model: Any) -> tuple[Any, ...]:
        """The network of a model; where dimensions have ranges, the largest, then the buckets."""
        options, host = self._options, self._context.host
        choice = options.frontend or Choice(frontend_for(model, host))
        frontend: Frontend = host.choose("frontend", choice, host)
        seed = options.weights.seed if options.weights else None

        def network_of(shapes: Mapping[str, Sequence[int]]) -> Network:
            network = frontend.read(model, {**options.shapes, **shapes}, seed)
            return replace(network, origin=model if isinstance(model, str) else "")

        if not options.dims:
            return (network_of({}),)
        sizes = {name: SizeRange.parse(text) for name, text in options.dims.items()}
        dimensions = NamedDimensions.of(frontend, choice.name, model, sizes, options.shapes)
        ranges = dimensions.ranges
        if not ranges:
            return (network_of(dimensions.shapes({})),)
        buckets = make_buckets(
            ranges,
            {name: dimensions.axes(name) for name in ranges},
            lambda of_ranges: network_of(dimensions.shapes(of_ranges)),
            Operators.of(host),
        )
        return buckets.largest, buckets


def _check_names(shapes: Iterable[str], networks: Iterable[Network]) -> None:
    known = [name for network in networks for name in network.asked]
    for name in shapes:
        if name not in known:
            raise UsageError(
                f"shapes: no input is named {name!r}", remedy=did_you_mean(name, known)
            )
