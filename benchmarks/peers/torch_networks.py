"""Networks as PyTorch exports them, with random weights; run by a Python that has torchvision.

Writes NAME.onnx for each into the folder named on the command line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torchvision import models

_IMAGES = {
    "mobilenet_v2": 224,
    "mobilenet_v3_small": 224,
    "efficientnet_b0": 224,
    "regnet_y_400mf": 224,
    "shufflenet_v2_x0_5": 224,
    "convnext_tiny": 224,
    "swin_t": 224,
}
"""Models of torchvision by the pixels of an image's side."""


class _LastOutput(nn.Module):
    """A recurrent layer of which the last step counts."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, steps: torch.Tensor) -> torch.Tensor:
        return self.layer(steps)[0][:, -1]


def _encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(256, 4, 1024, activation="gelu", batch_first=True)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)


def _generator() -> nn.Module:
    layers: list[nn.Module] = []
    for inputs, outputs in ((128, 64), (64, 32), (32, 16)):
        grown = nn.ConvTranspose2d(inputs, outputs, 4, 2, 1, bias=False)
        layers += [grown, nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Tanh())


_OTHERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "transformer_encoder": (_encoder, (1, 128, 256)),
    "lstm": (lambda: _LastOutput(nn.LSTM(64, 128, batch_first=True)), (1, 32, 64)),
    "gru": (lambda: _LastOutput(nn.GRU(64, 128, batch_first=True)), (1, 32, 64)),
    "generator": (_generator, (1, 128, 8, 8)),
}


def main() -> None:
    folder = Path(sys.argv[1])
    torch.manual_seed(0)
    torch.backends.mha.set_fastpath_enabled(False)  # its operators have no ONNX form
    for name, pixels in _IMAGES.items():
        model = getattr(models, name)(weights=None)
        _export(model, (1, 3, pixels, pixels), folder / f"{name}.onnx")
    for name, (make, shape) in _OTHERS.items():
        _export(make(), shape, folder / f"{name}.onnx")


def _export(model: nn.Module, shape: tuple[int, ...], path: Path) -> None:
    data = torch.randn(shape)
    torch.onnx.export(model.eval(), (data,), str(path), dynamo=True, external_data=False)


if __name__ == "__main__":
    main()
