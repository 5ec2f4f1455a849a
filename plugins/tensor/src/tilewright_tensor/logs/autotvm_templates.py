"""The workload of an AutoTVM task: its arguments as our operators have them.

Task names are `OPERATOR_LAYOUT.TARGET` since TVM 0.7; before, `topi_...` with the template's key
beside the config.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tilewright.json_object import BadLineError, UnknownLineError
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_tensor.operators.operators import Operators

_Found = tuple[str, tuple[TensorSpec, ...], dict[str, Any]]

PREFIX = "autotvm:"
"""Of the names of configs read from AutoTVM's logs."""
_MOST = 2**31 - 1
"""TVM counted elements in 32 bits."""
_OLD = re.compile(r"topi_([a-z0-9]+)_(\w+)")


def template_of(foreign: ConfigEntity) -> str:
    """The AutoTVM template that a config belongs to, empty where it is another system's."""
    return foreign.strategy.removeprefix(PREFIX) if foreign.strategy.startswith(PREFIX) else ""


def template_name(task: str, target_kind: str, key: str) -> str:
    """A v0.1 task's name as TVM 0.7 and later have it.

    `topi_nn_conv2d` with key `winograd` on target T is `conv2d_nchw_winograd.T`, `topi_T_OPERATOR`
    is `OPERATOR.T`.
    """
    match = _OLD.fullmatch(task)
    if match is None:
        return task
    place, operator = match.groups()
    if place != "nn":
        return f"{operator}.{place}"
    layout = "_nchw" if operator == "conv2d" else ""
    return f"{operator}{layout}{'_winograd' if key == 'winograd' else ''}.{target_kind}"


def workload_of(template: str, arguments: Sequence[Any], operators: Operators) -> Workload:
    """What a template computes for these arguments.

    Raises UnknownLineError for a template of no operator, or operands that none takes, BadLineError
    and UsageError for nonsense.
    """
    family = template.partition(".")[0]
    make = next((m for prefix, m in _FAMILIES.items() if family.startswith(prefix)), None)
    if make is None:
        raise UnknownLineError(f"there is no operator for the template {template!r}")
    try:
        operator, inputs, attributes = make(arguments)
    except UnknownLineError:
        raise
    except (TypeError, ValueError, IndexError, KeyError) as error:
        raise BadLineError(f"arguments of {template}: {error}") from None
    if any(n > _MOST for n in _whole_numbers([*(spec.shape for spec in inputs), attributes])):
        raise BadLineError(f"arguments of {template}: an extent is beyond {_MOST}")
    return operators.workload(operator, inputs, attributes)


def _whole_numbers(value: Any) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _whole_numbers(item)


def _conv2d(arguments: Sequence[Any]) -> _Found:
    data, weight, strides, padding, dilation = _convolution(arguments)
    attributes = {"strides": strides, "padding": padding, "dilation": dilation}
    return "conv2d", (data, _constant(weight)), attributes


def _depthwise_conv2d(arguments: Sequence[Any]) -> _Found:
    data, weight, strides, padding, dilation = _convolution(arguments)
    channels, multiplier, *taps = weight.shape
    filters = TensorSpec((channels * multiplier, 1, *taps), weight.dtype, "constant")
    attributes = {"strides": strides, "padding": padding, "dilation": dilation, "groups": channels}
    return "conv2d", (data, filters), attributes


def _convolution(
    arguments: Sequence[Any],
) -> tuple[TensorSpec, TensorSpec, list[int], list[int], list[int]]:
    """(data, weight, strides, padding, dilation) of any age of the arguments."""
    data, weight, *rest = arguments
    if isinstance(rest[0], int):
        rest = rest[2:]  # 2018: the number of filters and their extents were arguments
    strides, padding, *others = rest
    dilation = next((one for one in others[:1] if isinstance(one, list)), [1, 1])
    layouts = [one for one in others if isinstance(one, str) and one.startswith("N")]
    if any(layout != "NCHW" for layout in layouts[:1]):
        raise ValueError(f"layout {layouts[0]}")
    padding = padding * 2 if len(padding) == 2 else padding
    return _tensor(data), _tensor(weight), strides, padding, dilation


def _conv2d_transpose(arguments: Sequence[Any]) -> _Found:
    data, weight = map(_tensor, arguments[:2])
    strides, padding, _, *room = arguments[2:]
    channels, filters, *taps = weight.shape  # of TVM's IOHW
    padding = padding * 2 if len(padding) == 2 else padding
    attributes = {"strides": strides, "padding": padding, "output_padding": room[0] if room else 0}
    ours = TensorSpec((filters, channels, *taps), weight.dtype, "constant")
    return "conv2d_transpose", (data, ours), attributes


def _dense(arguments: Sequence[Any]) -> _Found:
    data, weight = map(_tensor, arguments[:2])
    return "dense", (data, _constant(weight)), {}


def _batch_matmul(arguments: Sequence[Any]) -> _Found:
    """TVM says from 0.8 on at the end which of both is transposed; before, the second one is."""
    data, other = map(_tensor, arguments[:2])
    first, second = [one for one in arguments[2:] if isinstance(one, int)] or (False, True)
    if first:
        raise UnknownLineError("batch_matmul of a transposed first operand")
    batch, *matrix = other.shape
    depth, columns = matrix[::-1] if second else matrix
    return "matmul", (data, TensorSpec((batch, depth, columns), other.dtype)), {}


def _tensor(argument: Any) -> TensorSpec:
    kind, shape, dtype = argument[:3]
    if kind != "TENSOR":
        raise ValueError(f"expected a TENSOR, got {kind!r}")
    return TensorSpec(tuple(shape), dtype)


def _constant(spec: TensorSpec) -> TensorSpec:
    return TensorSpec(spec.shape, spec.dtype, "constant")


_FAMILIES: Mapping[str, Callable[[Sequence[Any]], _Found]] = {
    "conv2d_NCHWc": _conv2d,
    "conv2d_nchw": _conv2d,
    "conv2d_transpose_nchw": _conv2d_transpose,
    "depthwise_conv2d_NCHWc": _depthwise_conv2d,
    "depthwise_conv2d_nchw": _depthwise_conv2d,
    "dense": _dense,
    "batch_matmul": _batch_matmul,
}
