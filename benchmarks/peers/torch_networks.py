"""Networks as PyTorch exports them, with random weights; run by a Python that has torchvision.

    python torch_networks.py FOLDER [NAME ...]

Writes NAME.onnx into the folder for each that is named, else for all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

try:
    from torchvision import models
except RuntimeError:
    # Compiled for another torch: its own operators are missing, which no network here has.
    for operator in ("nms", "qnms"):
        schema = "(Tensor boxes, Tensor scores, float threshold) -> Tensor"
        torch.library.define(f"torchvision::{operator}", schema)
    from torchvision import models


class _LastOutput(nn.Module):
    """A recurrent layer of which the last step counts."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, steps: torch.Tensor) -> torch.Tensor:
        return self.layer(steps)[0][:, -1]


class _Scores(nn.Module):
    """A network for segmentation, of whose answers the scores of the last layer count."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.network(image)["out"]


class _UNet(nn.Module):
    """U-Net (Ronneberger and others, 2015), padded and with batch normalisation.

    Width 32: 7,763,041 parameters, as mateuszbuda/brain-segmentation-pytorch has it.
    """

    def __init__(self, width: int = 32, depth: int = 4) -> None:
        super().__init__()
        widths = [width << level for level in range(depth + 1)]
        self.down = nn.ModuleList(map(self._block, [3, *widths], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * n, n, 2, 2) for n in widths[:-1])
        self.joined = nn.ModuleList(self._block(2 * n, n) for n in widths[:-1])
        self.last = nn.Conv2d(width, 1, 1)

    @staticmethod
    def _block(inputs: int, outputs: int) -> nn.Module:
        layers: list[nn.Module] = []
        for channels in (inputs, outputs):
            convolution = nn.Conv2d(channels, outputs, 3, padding=1, bias=False)
            layers += [convolution, nn.BatchNorm2d(outputs), nn.ReLU()]
        return nn.Sequential(*layers)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        kept = [self.down[0](image)]
        for block in self.down[1:]:
            kept.append(block(nn.functional.max_pool2d(kept[-1], 2)))
        data = kept.pop()
        for up, block in zip(reversed(self.up), reversed(self.joined), strict=True):
            data = block(torch.cat([up(data), kept.pop()], 1))
        return torch.sigmoid(self.last(data))


def _classifier(name: str) -> Callable[[], nn.Module]:
    return lambda: models.get_model(name, weights=None)


def _deeplab() -> nn.Module:
    return _Scores(models.get_model("deeplabv3_resnet50", weights=None, weights_backbone=None))


def _encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(256, 4, 1024, activation="gelu", batch_first=True)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)


def _generator() -> nn.Module:
    layers: list[nn.Module] = []
    for inputs, outputs in ((128, 64), (64, 32), (32, 16)):
        grown = nn.ConvTranspose2d(inputs, outputs, 4, 2, 1, bias=False)
        layers += [grown, nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Tanh())


_CLASSIFIERS = (
    "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large", "efficientnet_b0",
    "shufflenet_v2_x0_5", "shufflenet_v2_x1_0", "regnet_y_400mf", "swin_t", "convnext_tiny",
)  # fmt: skip
"""Models of torchvision for images of 224 x 224 pixels."""

NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    **{name: (_classifier(name), (1, 3, 224, 224)) for name in _CLASSIFIERS},
    "transformer_encoder": (_encoder, (1, 128, 256)),
    "lstm": (lambda: _LastOutput(nn.LSTM(64, 128, batch_first=True)), (1, 32, 64)),
    "gru": (lambda: _LastOutput(nn.GRU(64, 128, batch_first=True)), (1, 32, 64)),
    "generator": (_generator, (1, 128, 8, 8)),
    "unet": (_UNet, (1, 3, 256, 256)),
    "deeplabv3_resnet50": (_deeplab, (1, 3, 224, 224)),
    "r3d_18": (_classifier("r3d_18"), (1, 3, 16, 112, 112)),
}
"""How each is made, and the shape of its input."""


def main() -> None:
    folder = Path(sys.argv[1])
    torch.backends.mha.set_fastpath_enabled(False)  # its operators have no ONNX form
    for name in sys.argv[2:] or NETWORKS:
        torch.manual_seed(0)
        make, shape = NETWORKS[name]
        _export(make(), shape, folder / f"{name}.onnx")


def _export(model: nn.Module, shape: tuple[int, ...], path: Path) -> None:
    data = torch.randn(shape)
    torch.onnx.export(model.eval(), (data,), str(path), dynamo=True, external_data=False)


if __name__ == "__main__":
    main()
