"""Model files: found, parsed, and their external data kept inside their folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tilewright.errors import UsageError, did_you_mean

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

    Raises UsageError for a file that is missing or cut short, and for external data that is missing
    or lies outside the model's folder.
    """
    if not isinstance(model, str):
        return _in_memory(model)
    if is_light(model):
        path = _light_path(model.removeprefix(_LIGHT))
        return model.removeprefix(_LIGHT), _parsed(path)
    path = Path(model).expanduser()
    if not path.is_file():
        raise UsageError(
            "no such model file", where=str(path), remedy="give a path or onnx-light:NAME"
        )
    proto = _parsed(path)
    _load_external(proto, path)
    return path.stem, proto


def _in_memory(model: Any) -> tuple[str, Any]:
    from onnx import ModelProto
    from onnx.external_data_helper import uses_external_data

    is_proto = isinstance(model, ModelProto)
    proto = _whole(model, _IN_MEMORY) if is_proto else _parsed(bytes(model))
    for tensor in proto.graph.initializer:
        if uses_external_data(tensor):
            raise UsageError(
                f"the data of tensor {tensor.name!r} is in a file that was not loaded",
                where=_IN_MEMORY,
                remedy="give the path of the model, or what onnx.load(PATH) gives",
            )
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
        if isinstance(source, bytes):
            proto = onnx.load_model_from_string(source)
        else:
            proto = onnx.load_model(source, load_external_data=False)
    except (DecodeError, ValueError, OSError) as error:
        raise UsageError(
            f"no ONNX model, or cut short ({error})",
            where=where,
            remedy="export or copy it again",
        ) from error
    return _whole(proto, where)


def _whole(proto: Any, where: str) -> Any:
    if not proto.graph.node or not proto.opset_import:
        raise UsageError(
            "no ONNX model, or cut short: it has no nodes",
            where=where,
            remedy="export or copy it again",
        )
    return proto


def _load_external(proto: Any, path: Path) -> None:
    from onnx.external_data_helper import (
        ExternalDataInfo,
        load_external_data_for_model,
        uses_external_data,
    )

    folder = path.parent.resolve()
    for tensor in proto.graph.initializer:
        if not uses_external_data(tensor):
            continue
        location = ExternalDataInfo(tensor).location
        data = (folder / location).resolve()
        if not data.is_relative_to(folder):
            raise UsageError(
                f"tensor {tensor.name!r} has external data outside the model's folder: {location}",
                where=str(path),
                remedy="put the data beside the model and name it relatively",
            )
        if not data.is_file():
            raise UsageError(
                f"external data of tensor {tensor.name!r} is missing: {location}",
                where=str(path),
                remedy="copy it beside the model",
            )
    try:
        load_external_data_for_model(proto, str(folder))
    except (ValueError, OSError) as error:
        raise UsageError(f"external data cannot be read: {error}", where=str(path)) from error
