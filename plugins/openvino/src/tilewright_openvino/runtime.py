"""Oracle `openvino`: OpenVINO on the CPU, for answers and as a peer in benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal

from pydantic import Field

from tilewright.errors import UsageError
from tilewright.options import Options
from tilewright.plugins.loading.distributions import installer

_ABSENT = "OpenVINO is not installed"
_HINTS = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
_NAMES = {hint: name for name, hint in _HINTS.items()}
_ANOTHER = "choose another oracle, such as reference, or another peer"


class OpenVinoOptions(Options):
    """How OpenVINO computes."""

    precision: Literal["default", "float32", "bfloat16", "float16"] = Field(
        default="default",
        description="Of products; `default` leaves it to OpenVINO, which takes the processor's.",
    )


class OpenVinoRuntime:
    """Runs serialised ONNX models, one inference at a time."""

    file_format = "onnx"

    def __init__(self, options: OpenVinoOptions, host: Any) -> None:
        self._asked = options.precision
        self.used_precision = "float32"

    def run(
        self, source: Any, inputs: Mapping[str, Any], extra_outputs: Sequence[str]
    ) -> dict[str, Any]:
        """The model's outputs, then the inner tensors asked for, by name.

        Raises UsageError for what is no ONNX file, and for what OpenVINO refuses.
        """
        request = self._request(source, inputs, extra_outputs, threads=0)
        answers = request.infer({name: _tensor(array) for name, array in inputs.items()})
        return {
            name: _answer(answers[output], output.get_element_type().get_type_name())
            for output in request.model_outputs
            for name in sorted(output.get_names())
        }

    def time(self, source: Any, inputs: Mapping[str, Any], threads: int) -> Callable[[], float]:
        """A function that runs the model once and returns the seconds; all is bound before.

        Raises UsageError for what is no ONNX file, and for what OpenVINO refuses.
        """
        request = self._request(source, inputs, (), threads)
        for name, array in inputs.items():
            request.set_tensor(name, _tensor(array))

        def once() -> float:
            start = time.perf_counter()
            request.infer(share_outputs=True)
            return time.perf_counter() - start

        return once

    def _request(
        self, source: Any, inputs: Mapping[str, Any], extra_outputs: Sequence[str], threads: int
    ) -> Any:
        """A request of the compiled model, for inputs of these shapes; threads 0: one a core."""
        if not isinstance(source, bytes):
            raise UsageError(
                "reads ONNX files, and nothing installed writes this network as one",
                where="openvino",
                remedy="install tilewright-onnx",
            )
        if lack := what_runtime_lacks():
            raise UsageError(_ABSENT, remedy=lack.removeprefix(f"{_ABSENT}: "))
        import openvino

        settings = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1"}
        if threads:
            settings["INFERENCE_NUM_THREADS"] = str(threads)
        if self._asked != "default":
            settings["INFERENCE_PRECISION_HINT"] = _HINTS[self._asked]
        try:
            model = openvino.Core().read_model(source)
            for name in extra_outputs:
                model.add_outputs(name)
            model.reshape({name: list(array.shape) for name, array in inputs.items()})
            compiled = openvino.compile_model(model, "CPU", settings)
            taken = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
            self.used_precision = _NAMES.get(taken, "float32")
            return compiled.create_infer_request()
        except RuntimeError as error:
            raise UsageError(
                f"refuses the model: {_first_line(error)}", where="openvino", remedy=_ANOTHER
            ) from error


def _tensor(array: Any) -> Any:
    """The array as OpenVINO takes it, whose bfloat16 numpy sees as float16."""
    import openvino

    if array.dtype.name != "bfloat16":
        return openvino.Tensor(array, shared_memory=True)
    tensor = openvino.Tensor(openvino.Type.bf16, list(array.shape))
    tensor.data[...] = array.view(tensor.data.dtype)
    return tensor


def _answer(array: Any, element_type: str) -> Any:
    """The array; bfloat16 as float32, whose upper half it is."""
    import numpy as np

    if element_type != "bf16":
        return array
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def _first_line(error: RuntimeError) -> str:
    """What went wrong: OpenVINO's messages begin with places in its own sources."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("Exception from", "Check '"))]
    return (telling or lines or ["no reason given"])[0]


def what_runtime_lacks() -> str:
    """That OpenVINO is absent and how to get it; empty where it is installed."""
    return "" if find_spec("openvino") else f"{_ABSENT}: {installer()} install openvino"
