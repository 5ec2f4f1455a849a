"""The shape of a pipeline file; what stands under a stage is checked by the stage's own model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema

from tilewright.errors import UsageError, shown
from tilewright.options import DEFAULT, Choice, Options
from tilewright.vocabulary.measure import Conditions
from tilewright.vocabulary.target import Target
from tilewright_pipeline.context.frozen import EXPECTED, PIN
from tilewright_pipeline.context.run_setup import LARGEST_SEED
from tilewright_pipeline.options.mistakes import BadValueError


def _target_text(value: Any) -> str:
    """`native`, `KIND:threads=2` or `{kind: KIND, threads: 2}` as one text."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and isinstance(value.get("kind"), str):
        rest = {name: item for name, item in value.items() if name != "kind"}
        if all(isinstance(item, str | int | float | bool) for item in rest.values()):
            try:
                return str(Target(value["kind"], rest))
            except UsageError as error:
                raise ValueError(error.message) from None
    raise ValueError("expected KIND, KIND:name=value or {kind: KIND, name: value}")


def _folder_name(name: str) -> str:
    if not 0 < len(name) <= 100 or name in (".", "..") or not name.isprintable() or "/" in name:
        raise ValueError("expected what a folder can be called, at most 100 characters")
    return name


def _records_path(value: Any) -> Any:
    if value == "frozen":
        message = "expected the path of a file, got 'frozen'"
        raise BadValueError(message, "write `frozen: true`; a file of that name is ./frozen")
    return value


def _frozen(value: Any) -> bool | str:
    if isinstance(value, bool) or (isinstance(value, str) and PIN.fullmatch(value)):
        return value
    raise BadValueError(f"expected {EXPECTED}, got {shown(value)}", "true pins nothing")


_PIN_SCHEMA = {"type": "string", "pattern": f"^{PIN.pattern}$"}


class MeasureSection(Options):
    """`measure:`, how candidates are built and timed."""

    runner: Choice = Field(default=DEFAULT, description="Who checks and times candidates.")
    builder: Choice = Field(default=DEFAULT, description="Who builds them.")
    constants: Literal["cold", "warm"] = Field(
        default="cold", description="Whether each call meets the constants in a cache."
    )
    number: int = Field(
        default=1, ge=1, le=1_000_000, description="Calls that a sample times together, at least."
    )
    repeat: int = Field(default=5, ge=3, le=1000, description="Samples of a candidate.")
    min_repeat_ms: float = Field(
        default=1.0, ge=0, le=60_000, description="How long a sample lasts, at least."
    )
    cooldown_interval: float = Field(
        default=0.0, ge=0, le=60, description="Seconds of rest before a candidate is timed."
    )

    @property
    def conditions(self) -> Conditions:
        return Conditions(
            self.constants, self.number, self.repeat, self.min_repeat_ms, self.cooldown_interval
        )


class PipelineFile(Options):
    """A pipeline file; paths start in the current folder, as on the command line."""

    model_config = ConfigDict(title="Tilewright pipeline")

    version: Literal[1] = Field(description="Version of the form of the file.")
    name: Annotated[str, AfterValidator(_folder_name)] | None = Field(
        default=None,
        description="What the run and its folder are called; default: the file's.",
    )
    target: Annotated[str, BeforeValidator(_target_text)] | None = Field(
        default=None,
        description="KIND, KIND:name=value or {kind: KIND, name: value}; default: that which the "
        "installed targets declare.",
    )
    device: str | None = Field(
        default=None, description="One of the target's devices; a glob where several measure."
    )
    records: Annotated[str | None, BeforeValidator(_records_path)] = Field(
        default=None, min_length=1, description="The records file; default: in the run's folder."
    )
    frozen: Annotated[
        bool | str,
        BeforeValidator(_frozen),
        WithJsonSchema(
            {"anyOf": [{"type": "boolean"}, {"type": "string", "pattern": PIN.pattern}]}
        ),
    ] = Field(
        default=False,
        description="Measure nothing, and refuse a kernel without a record; `sha256:...` pins the "
        "records.",
    )
    record_store: Choice | None = Field(
        default=None,
        description="How that file is kept; default: the declared store.",
    )
    seed: int = Field(
        default=0, ge=0, le=LARGEST_SEED, description="What all random choices follow from."
    )
    strategies: str = Field(
        default="*", description="Glob over the names of alternatives, for every stage."
    )
    precision: Literal["float32", "tf32", "bfloat16", "float16"] = Field(
        default="float32",
        description="The lowest in which strategies may multiply what is float32; sums stay "
        "float32.",
    )
    plugins: tuple[str, ...] = Field(default=(), description="Plugin files.")
    measure: MeasureSection = Field(
        default=MeasureSection(), description="How candidates are built and timed."
    )
    stages: tuple[Any, ...] = Field(
        min_length=1, description="Each one key, the stage's name, with its options."
    )
