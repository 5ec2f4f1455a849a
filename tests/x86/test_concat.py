"""Concats are straight copies: the code that LLVM sees divides for no element."""

from __future__ import annotations

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_tensor.expressions.affine import Var


@pytest.mark.parametrize("layout", ["NCHW", "NCHW16c"])
@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("(1x224x56x56, 1x32x56x56, axis=1)", 4096),
        ("(1x384x28x28, 1x32x28x28, axis=1)", 4096),
        ("(2x16x7x7, 2x4000x7x7, axis=1)", 16 * 7 * 7),
        ("(1x64x24x40, 1x64x360x40, axis=2)", 24 * 40),
        ("(1x16x3x4001, 1x16x3x5003, axis=3)", 4001),
    ],
)
def test_places_of_a_part_are_one_run_of_memory(text, run, layout):
    host = PluginHost.load()
    workload = host.reference("concat").parse(text, "")
    task = Task(workload, Target.parse("x86:isa=avx512,threads=2"))
    program = host.lower(task, ConfigEntity("concat.x86", {"layout": layout}))
    for copies in program.body.statements:
        inner = copies.body
        assert inner.extent >= run
        for access in (inner.body, inner.body.value):
            terms = dict(access.buffer.flat(access.indices).terms)
            assert terms[inner.var] == 1
            divided = [atom for atom in terms if not isinstance(atom, Var)]
            assert not any(inner.var.name in repr(atom) for atom in divided)  # however deep
