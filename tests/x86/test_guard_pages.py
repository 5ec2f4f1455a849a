"""Generated code touches no byte outside the cache lines of its operands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tilewright_x86.isa import available

CASES = """
conv2d(1x17x7x5, 13x17x3x3, padding=1) + add(1x13x1x1:const) + tanh()
conv2d(1x3x11x19, 16x3x7x7, strides=2, padding=3)
conv2d(1x32x1x17, 16x32x1x1)
conv2d(1x20x5x9, 20x5x1x1, strides=2, groups=4)
conv2d(1x24x9x7, 24x1x5x5, strides=2, padding=2, groups=24)
dense(7x37, 131x37)
max_pool2d(1x5x9x9, pool_size=2, strides=2)
avg_pool2d(1x16x7x5, pool_size=3, strides=2, padding=1)
global_avg_pool2d(1x24x3x5)
softmax(3x17)
sigmoid(3x17)
add(2x7x5x3, 1x7x1x1) + relu()
matmul(2x7x5, 2x5x9)
concat(1x3x5x5, 1x7x5x5, axis=1)
slice(5x19, begin=[1,0], end=[5,19], strides=[2,2])
transpose(2x3x5x7, axes=[0,2,3,1])
layout_transform(1x3x5x19, src=NHWC, dst=NCHW)
layout_transform(1x32x3x7, src=NCHW, dst=NCHW16c)
layout_transform(2x24x3x19, src=NCHW8c, dst=NCHW)
""".strip().splitlines()


@pytest.mark.parametrize("isa", [isa.name for isa in available()])
def test_no_strategy_reaches_outside_its_operands(isa: str) -> None:
    script = str(Path(__file__).with_name("guarded_operands.py"))
    done = subprocess.run(
        [sys.executable, script, isa, "2", *CASES],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    last = done.stdout.strip().rpartition("\n")[2]
    assert (done.returncode, last) == (0, "done"), f"{last}\n{done.stderr}"
