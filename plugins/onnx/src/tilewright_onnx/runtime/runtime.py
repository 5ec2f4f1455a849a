"""Oracle `onnxruntime`: ONNX Runtime on the CPU, for answers and as a peer in benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tilewright.errors import UsageError
from tilewright.options import NoOptions
from tilewright_graph.network.network import Network
from tilewright_onnx.model.writer import write_model
from tilewright_onnx.runtime.silent_runtime import import_onnxruntime

_FATAL_ONLY = 4


class OnnxRuntime:
    """Runs serialised models, and networks written as such; its warnings are not shown."""

    def __init__(self, options: NoOptions, host: Any) -> None:
        pass

    def run(
        self, source: bytes | Network, inputs: Mapping[str, Any], extra_outputs: Sequence[str]
    ) -> dict[str, Any]:
        """The model's outputs, then the inner tensors asked for, by name."""
        return next(self.answer_each(source, [inputs], extra_outputs))

    def answer_each(
        self,
        source: bytes | Network,
        inputs: Iterable[Mapping[str, Any]],
        extra_outputs: Sequence[str],
    ) -> Iterator[dict[str, Any]]:
        """As `run`, for each of the inputs in one session."""
        session = _session(_with_outputs(_model(source), extra_outputs), threads=0)
        names = [output.name for output in session.get_outputs()]
        for one in inputs:
            with _running():
                found = session.run(names, dict(one))
            yield dict(zip(names, found, strict=True))

    def time(
        self, source: bytes | Network, inputs: Mapping[str, Any], threads: int
    ) -> Callable[[], float]:
        """A function that runs the model once and returns the seconds; all is bound before."""
        session = _session(_model(source), threads)
        binding = session.io_binding()
        for name, array in inputs.items():
            binding.bind_cpu_input(name, array)
        for output in session.get_outputs():
            binding.bind_output(output.name)

        def once() -> float:
            with _running():
                start = time.perf_counter()
                session.run_with_iobinding(binding)
                return time.perf_counter() - start

        return once


def _model(source: bytes | Network) -> bytes:
    return source if isinstance(source, bytes) else bytes(write_model(source).SerializeToString())


def _session(source: bytes, threads: int) -> Any:
    """A session with so many threads inside an operator (0: one a core), one operator at a time."""
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = _FATAL_ONLY
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise _refusal("refuses the model", error) from error


@contextmanager
def _running() -> Iterator[None]:
    """Inside, what a model raises on its inputs, such as an index that is none, is a UsageError."""
    try:
        yield
    except Exception as error:
        raise _refusal("fails on these inputs", error) from error


def _refusal(what: str, error: Exception) -> UsageError:
    return UsageError(
        f"{what}: {error}",
        where="onnxruntime",
        remedy="choose another oracle, such as reference, or another peer",
    )


def _with_outputs(source: bytes, names: Sequence[str]) -> bytes:
    """The model with further tensors as outputs, their types left to be inferred."""
    if not names:
        return source
    import onnx

    proto = onnx.load_model_from_string(source)
    known = {output.name for output in proto.graph.output}
    made = {tensor for node in proto.graph.node for tensor in node.output}
    for name in names:
        if name not in made:
            raise UsageError(f"the model has no tensor {name!r}", where="onnxruntime")
        if name not in known:
            proto.graph.output.append(onnx.ValueInfoProto(name=name))
    return bytes(proto.SerializeToString())
