"""The core is minimal: no word of it names an operator, a layout or a kind of target."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

WORDS = (
    r"conv\d?d?",
    r"conv2d\w*",
    "convolution",
    "matmul",
    "dense",
    "relu",
    "softmax",
    "batch_?norm",
    "max_?pool",
    "nchw\\w*",
    "nhwc",
    "oihw\\w*",
    "cuda",
    "avx\\w*",
    "llvm\\w*",
    "onnx\\w*",
    "resnet\\w*",
    "x86",
)
_PATTERN = re.compile(rf"\b({'|'.join(WORDS)})\b", re.IGNORECASE)


def test_no_word_of_core_names_what_belongs_to_plugins(sources: Sequence[Any]) -> None:
    offenders = [
        f"{source.place}:{number}: {found.group()}"
        for source in sources
        if source.distribution == "core"
        for number, line in enumerate(source.text.splitlines(), start=1)
        if (found := _PATTERN.search(line))
    ]
    assert offenders == []
