"""What strategies do to lowered programs: named, in order, each result well formed and right."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright_pipeline.api.task_text import find_task
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.ir.loop_ir import LoopProgram
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.lowering.program_pass import ProgramPass, apply_passes
from tilewright_tensor.lowering.verify import verify

TARGET = "x86:isa=avx512,threads=1"
TASKS = {
    "conv2d(1x19x9x9, 34x19x3x3, padding=1)": ["skip neutral terms", "fetch next filters"],
    "conv2d(1x32x7x7, 48x32x1x1)": ["skip neutral terms", "fetch next filters", "rows of 7 pixels"],
    "conv2d(1x8x6x6, 5x8x1x1)": ["rows of 6 pixels"],
    "layout_transform(1x16x5x6, src=NCHW, dst=NCHW16c)": ["rows of 6 pixels"],
}


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return PluginHost.load()


@pytest.mark.parametrize("text", TASKS)
def test_each_is_named_and_leaves_a_program_that_is_well_formed_and_computes_the_same(
    host: PluginHost, text: str
) -> None:
    task = find_task(text, host.resolve_target(TARGET), host, None)
    glob = "conv2d_pixels.*" if text.startswith("conv2d(1x8x") else "*"
    config = host.fallback_config(task, host.space(task, glob))
    strategy = host.implementation(config.strategy)
    whole = strategy.lower(task, config)
    assert [name.partition(",")[0] for name in whole.passes] == TASKS[text]
    assert all(f"  after {name}" in str(whole).splitlines() for name in whole.passes)
    program = lower(strategy.schedule(task, config), "kernel")
    rng = np.random.default_rng(5)
    data = [rng.standard_normal(buffer.shape).astype(buffer.dtype) for buffer in program.inputs]
    expected = interpret(program, data)
    for one in strategy.passes(task, config):
        program = apply_passes(program, [one])
        assert verify(program) == [], one.name
        shaped = [array.reshape(b.shape) for array, b in zip(data, program.inputs, strict=True)]
        for found, right in zip(interpret(program, shaped), expected, strict=True):
            np.testing.assert_allclose(found.ravel(), right.ravel(), rtol=1e-5, atol=1e-5)


def test_one_that_changes_the_operands_is_named(host: PluginHost) -> None:
    task = find_task(next(iter(TASKS)), host.resolve_target(TARGET), host, None)
    program = host.lower(task, host.fallback_config(task, host.space(task)))

    def forgetful(program: LoopProgram) -> LoopProgram:
        return LoopProgram(program.name, program.inputs[:1], program.outputs, program.body)

    with pytest.raises(RuntimeError, match="the pass forget changes the operands"):
        apply_passes(program, [ProgramPass("forget", forgetful)])
