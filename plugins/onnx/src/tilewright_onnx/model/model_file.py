"""Model files: found, parsed, and their external data kept inside their folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tilewright.errors import UsageError, did_you_mean
from tilewright.paths import check_is_file, path_of
from tilewright.reading import open_file
from tilewright_onnx.model.graph_walk import graphs_of
from tilewright_onnx.model.tensors import MOST_BYTES, declared_bytes

_LIGHT = "onnx-light:"
_IN_MEMORY = "the model given"
_FILE_NAME = re.compile(r"light_(?:bvlc_)?(.+)")


def is_model(model: object) -> bool:
    """Whether it is a ModelProto, or the bytes of one."""
    from onnx import ModelProto

    return isinstance(model, ModelProto | bytes | bytearray)


def is_light(model: object) -> bool:
    """Whether it names a model of the onnx package, all of whose weights are equal."""
    return isinstance(model, str) and model.startswith(_LIGHT)


def load_model(model: Any) -> tuple[str, Any]:
    """(name, ModelProto) of a path or of `onnx-light:NAME`, a model that the onnx package carries.

    Or of a ModelProto or its bytes, which are called as their graph is.

    Raises UsageError for a file that is missing, too large or cut short, and for external data that
    is missing, lies outside the model's folder, or has another size than its tensor.
    """
    if not isinstance(model, str):
        return _in_memory(model)
    if is_light(model):
        path = _light_path(model.removeprefix(_LIGHT))
        return model.removeprefix(_LIGHT), _parsed(path)
    path = path_of(model)
    check_is_file(path, "model file", "give a path or onnx-light:NAME")
    proto = _parsed(path)
    _load_external(proto, path)
    return path.stem, proto


def _in_memory(model: Any) -> tuple[str, Any]:
    from onnx import ModelProto

    if isinstance(model, ModelProto):  # parsed anew, it is ours, and as deep as a file may be
        _check_size(model.ByteSize(), _IN_MEMORY)
        model = model.SerializeToString()
    proto = _parsed(bytes(model))
    return proto.graph.name or "model", proto


def _light_path(name: str) -> Path:
    import onnx

    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    matches = (_FILE_NAME.fullmatch(path.stem) for path in folder.glob("light_*.onnx"))
    files = {match[1]: folder / f"{match[0]}.onnx" for match in matches if match}
    if name not in files:
        raise UsageError(
            f"the onnx package has no light model {name!r}", remedy=did_you_mean(name, list(files))
        )
    return files[name]


def _parsed(source: Path | bytes) -> Any:
    """The model of a file, or of bytes."""
    import onnx
    from google.protobuf.message import DecodeError

    where = _IN_MEMORY if isinstance(source, bytes) else str(source)
    try:
        _check_size(len(source) if isinstance(source, bytes) else source.stat().st_size, where)
        if isinstance(source, bytes):
            proto = onnx.load_model_from_string(source)
        else:
            proto = onnx.load_model(source, load_external_data=False)
    except OSError as error:
        problem = error.strerror or error
        raise UsageError(f"cannot read the file: {problem}", where=where) from error
    except (DecodeError, ValueError) as error:
        raise UsageError(
            f"no ONNX model, or cut short ({error})",
            where=where,
            remedy="export or copy it again",
        ) from error
    return _whole(proto, where)


def _check_size(size: int, where: str) -> None:
    if size > MOST_BYTES:
        raise UsageError(
            f"the model has {size} bytes with its weights",
            where=where,
            remedy=f"at most {MOST_BYTES} are read",
        )


def _whole(proto: Any, where: str) -> Any:
    _check_size(proto.ByteSize(), where)
    if not proto.graph.node or not proto.opset_import:
        raise UsageError(
            "no ONNX model, or cut short: it has no nodes",
            where=where,
            remedy="export or copy it again",
        )
    return proto


def _load_external(proto: Any, path: Path) -> None:
    """Put the external data of every tensor into it."""
    from onnx import TensorProto

    total = proto.ByteSize()
    outside = [t for t in _tensors(proto) if t.data_location == TensorProto.EXTERNAL]
    for tensor in outside:
        total += declared_bytes(tensor, str(path))
    _check_size(total, str(path))
    for tensor in outside:
        tensor.raw_data = _external_bytes(tensor, path)
        del tensor.external_data[:]
        tensor.data_location = TensorProto.DEFAULT


def _tensors(proto: Any) -> Iterator[Any]:
    for graph in graphs_of(proto):
        yield from getattr(graph, "initializer", ())
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t
                yield from attribute.tensors


def _external_bytes(tensor: Any, path: Path) -> bytes:
    """The bytes of one tensor, from a regular file inside the model's folder."""

    def wrong(problem: str, remedy: str) -> UsageError:
        problem = f"external data of tensor {tensor.name!r} {problem}"
        return UsageError(problem, where=str(path), remedy=remedy)

    told = {entry.key: entry.value for entry in tensor.external_data}
    location, folder = told.get("location", ""), path.parent.resolve()
    wanted, again = declared_bytes(tensor, str(path)), "export or copy it again"
    try:
        offset = int(told.get("offset") or 0)
        length = int(told.get("length") or wanted)
        data = (folder / location).resolve()
        is_file = data.is_file()
    except (ValueError, OSError, RuntimeError) as error:
        raise wrong(f"is told wrongly ({error})", again) from error
    if not data.is_relative_to(folder):
        raise wrong(
            f"lies outside the model's folder: {location}",
            "put the data beside the model and name it relatively",
        )
    if not is_file:
        raise wrong(f"is missing: {location}", "copy it beside the model")
    if length != wanted or offset < 0:
        raise wrong(
            f"has length {length} at offset {offset}; its dims {list(tensor.dims)} take {wanted}",
            again,
        )
    if offset + length > data.stat().st_size:
        raise wrong(f"ends before byte {offset + length}: {location}", again)
    with open_file(data) as file:
        file.seek(offset)
        return file.read(length)
