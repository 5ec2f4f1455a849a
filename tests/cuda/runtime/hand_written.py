"""A plugin file: a strategy of target `cuda` whose kernels are written by hand and do what their
config says, mostly harm. It serves `relu(1xN)`.

Where EMULATED_GPU is set, artefacts hold what the emulated driver takes for machine code.
"""

from __future__ import annotations

import os

from tilewright import hookimpl
from tilewright.space.knobs import Knobs
from tilewright.strategies.strategy import Strategy
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright_cuda.compile import build
from tilewright_cuda.emulation.compile import compile_kernels
from tilewright_cuda.program.cuda_program import CudaProgram, Launch, Pointer

if os.environ.get("EMULATED_GPU"):
    build.compiled = lambda text, arch: compile_kernels(text).read_bytes()
    build.module_resources = lambda cubins: {}

_BODIES = {
    "good": "out[at] = x[at] > 0 ? x[at] : 0;",
    "wrong": "out[at] = x[at];",
    "overrun": "out[at + 512] = x[at];",
    "misaligned": "*(float2 *)(out + at / 2 * 2 + 1) = make_float2(x[at], x[at]);",
    "divergent": "if (at == 3) __syncthreads(); out[at] = x[at];",
    "racing": "TW_DYN_SMEM(float, s); s[at] = x[at]; out[at] = s[(at + 1) % 37];",
    "hang": "for (volatile int i = 0; i < 2;) i = x[at] == x[at];",
    "refused": "out[at] = x[at];",
}
_BOUNDS = {"refused": 32}


class HandWritten:
    def applies(self, task):
        return True

    def alternatives(self, task):
        knobs = Knobs("hand")
        knobs.define_knob("act", ["good", "overrun", "wrong", "misaligned"])
        knobs.define_knob("number", [0, 1])
        return [knobs.alternative()]

    def fallback(self, task):
        return ConfigEntity("hand", {"act": "good", "number": 0})

    def lower(self, task, config):
        (size,) = {spec.shape[-1] for spec in task.workload.inputs}
        act = config["act"]
        text = (
            "#ifndef TW_EMULATED\n"
            "#define TW_DYN_SMEM(T, name) extern __shared__ __align__(16) T name[]\n"
            "#endif\n"
            f'extern "C" __global__ void __launch_bounds__({_BOUNDS.get(act, 1024)}) {act}(\n'
            "    const float *__restrict__ x, float *__restrict__ out) {\n"
            f"  const int at = threadIdx.x;\n  {_BODIES[act]}\n}}\n"
        )
        launch = Launch(
            0, act, (1, 1, 1), (size, 1, 1), 4 * size,
            (Pointer(0), Pointer(1)),
        )  # fmt: skip
        return CudaProgram((text,), (launch,), (((1, size), "float32"),) * 2)

    def layouts(self, task, config):
        return Layouts(("NC",), ("NC",), frozenset())


@hookimpl
def tilewright_strategies():
    return [Strategy("hand", 1, ("cuda",), ("relu",), lambda _host: HandWritten())]
