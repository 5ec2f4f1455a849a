"""ONNX's Resize, Upsample and GridSample as ours."""

from __future__ import annotations

from math import floor

from tilewright_onnx.model.node_site import NodeSite
from tilewright_onnx.model.selection import selected

_COORDINATES = {
    "align_corners": "align_corners",
    "asymmetric": "asymmetric",
    "half_pixel": "half_pixel",
    "half_pixel_symmetric": "half_pixel",
    "pytorch_half_pixel": "half_pixel",
}
"""Ours by ONNX's."""

_MODES = "nearest", "linear", "cubic"

_ROUNDING = 1e-3
"""Of an element; factors are given as float32."""


def resize(site: NodeSite) -> None:
    """Nearest, linear or cubic, to given sizes or by factors that give whole ones."""
    is_old = site.opset < 11
    mode = site.attribute("mode", "nearest")
    coordinates = site.attribute(
        "coordinate_transformation_mode", "asymmetric" if is_old else "half_pixel"
    )
    if mode not in _MODES or coordinates not in _COORDINATES:
        raise site.error(
            f"Resize with mode {mode!r} and coordinates {coordinates!r}; expected one of "
            f"{', '.join(_MODES)}, and one of {', '.join(_COORDINATES)}"
        )
    policy = site.attribute("keep_aspect_ratio_policy", "stretch")
    if site.attribute("antialias", 0) or policy != "stretch":
        raise site.error("Resize with antialias or keep_aspect_ratio_policy, which are not read")
    if site.attribute("exclude_outside", 0):
        raise site.error("Resize with exclude_outside, which is not read")
    data, target = site.tensor(0), _target(site, is_old)
    if coordinates == "pytorch_half_pixel":
        for axis in (d for d, size in enumerate(target) if size == 1):
            data = selected(site, data, axis, [0])
    attributes = {
        "mode": mode,
        "coordinates": _COORDINATES[coordinates],
        "bend": site.attribute("cubic_coeff_a", -0.75),
    }
    rounding = site.attribute("nearest_mode", "floor" if is_old else "round_prefer_floor")
    if is_old and mode == "nearest":  # as ONNX Runtime: up along axes that shrink, else down
        shrunk = [min(pair) for pair in zip(site.shape(data), target, strict=True)]
        if shrunk == target:
            rounding = "ceil"
        elif shrunk != list(site.shape(data)):
            data = site.emit("resize", data, shape=shrunk, rounding="ceil", **attributes)
    site.finish("resize", data, shape=target, rounding=rounding, **attributes)


def grid_sample(site: NodeSite) -> None:
    """Modes had other names up to opset 19."""
    mode = site.attribute("mode", "linear")
    site.finish(
        "grid_sample",
        site.tensor(0),
        site.tensor(1),
        mode=mode.removeprefix("bi"),
        padding=site.attribute("padding_mode", "zeros"),
        align_corners=bool(site.attribute("align_corners", 0)),
    )


def _target(site: NodeSite, is_old: bool) -> list[int]:
    """The sizes; factors are an attribute up to opset 8, operand 1 up to 10, and 2 since."""
    shape = site.spec(0).shape
    axes = [axis % len(shape) for axis in site.attribute("axes", range(len(shape)))]
    target = list(shape)
    if not is_old and site.has(3):
        for axis, size in zip(axes, site.value(3), strict=True):
            target[axis] = int(size)
        return target
    factors = site.attribute("scales") or site.value(1 if is_old else 2)
    for axis, factor in zip(axes, map(float, factors), strict=True):
        target[axis] = floor(shape[axis] * factor + _ROUNDING)
        if abs(target[axis] - shape[axis] * factor) > _ROUNDING:
            raise site.error(
                f"Resize of {shape[axis]} elements by {factor:g}, which is no whole number of them",
                "export it with sizes, or with inputs of another size",
            )
    return target
