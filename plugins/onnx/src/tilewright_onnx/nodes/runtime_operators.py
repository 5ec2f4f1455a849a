"""Operators that ONNX Runtime puts into the models that it optimises, where they are simple."""

from __future__ import annotations

from tilewright_onnx.model.node_site import NodeSite


def read_gelu(site: NodeSite) -> None:
    """By erf."""
    site.finish("gelu", site.tensor(0))


def read_bias_gelu(site: NodeSite) -> None:
    """Of the sum of data and a bias along the last axis."""
    data, bias = site.tensor(0), site.tensor(1)
    bias = site.at_rank(bias, len(site.shape(data)))
    site.finish("gelu", site.emit("add", data, bias))


def read_quick_gelu(site: NodeSite) -> None:
    """The product of data and sigmoid(alpha data)."""
    data = site.tensor(0)
    factor = site.scalar(site.attribute("alpha", 1.702), data)
    site.finish("multiply", data, site.emit("sigmoid", site.emit("multiply", data, factor)))
