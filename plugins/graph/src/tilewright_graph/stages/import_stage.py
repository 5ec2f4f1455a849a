"""The stage `import`: models become networks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from tilewright.errors import UsageError, did_you_mean
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice, Options, Place
from tilewright_graph.frontends.frontend import Frontend, check_model, frontend_for
from tilewright_graph.network.network import Network
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.stages.stage import StageResult


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

    @model_validator(mode="after")
    def _one_or_several(self) -> Self:
        if (self.model is None) == (not self.models):
            raise ValueError("expected either `model` or `models`")
        return self


class ImportStage:
    """Reads one model, or several."""

    consumes: ClassVar[tuple[type, ...]] = ()
    optional: ClassVar[tuple[type, ...]] = ()
    produces: ClassVar[tuple[type, ...]] = (Network,)

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
        networks = [self._read(each) for each in models]
        _check_names(self._options.shapes, networks)
        if model is not None:
            return StageResult(tuple(networks))
        for name, count in Counter(network.name for network in networks).items():
            if count > 1:
                raise UsageError(
                    f"{count} models are named {name!r}, and each has a folder of its name",
                    remedy="rename a file",
                )
        return StageResult(branches={network.name: (network,) for network in networks})

    def _read(self, model: Any) -> Network:
        options, host = self._options, self._context.host
        choice = options.frontend or Choice(frontend_for(model, host))
        frontend: Frontend = host.choose("frontend", choice, host)
        seed = options.weights.seed if options.weights else None
        network = frontend.read(model, options.shapes, seed)
        return replace(network, origin=model if isinstance(model, str) else "")


def _check_names(shapes: Iterable[str], networks: Iterable[Network]) -> None:
    known = [name for network in networks for name in network.inputs]
    for name in shapes:
        if name not in known:
            raise UsageError(
                f"shapes: no input is named {name!r}", remedy=did_you_mean(name, known)
            )
