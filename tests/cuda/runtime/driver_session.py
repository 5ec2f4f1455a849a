"""`python driver_session.py RUNTIME CASE`: one process with one driver, as a worker has it.

RUNTIME is `ctypes` or `pycuda`; `libcuda.so.1` is whatever the loader finds, that of a GPU or the
emulated one. Reads from standard input what the case is given, prints what came of it.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from tilewright.vocabulary.measure import DeviceFaultError
from tilewright_cuda.compile.compiler import compiled
from tilewright_cuda.device.devices import gpus, l2_bytes
from tilewright_cuda.driver.driver import DeviceRuntime, ModuleImage, Shape
from tilewright_cuda.driver.driver_errors import DriverError
from tilewright_cuda.driver.kernel import CudaKernel
from tilewright_cuda.emulation.compile import compile_kernels
from tilewright_cuda.program.arch import ARCHS, runs_on
from tilewright_cuda.program.artifact import Contents
from tilewright_cuda.program.cuda_program import CudaProgram


def runtime_named(name: str) -> DeviceRuntime:
    if name == "pycuda":
        from tilewright_cuda.driver.pycuda_driver import PycudaRuntime

        return PycudaRuntime(0)
    from tilewright_cuda.driver.ctypes_driver import CtypesRuntime

    return CtypesRuntime(0)


def machine_code(text: str) -> bytes | None:
    """A cubin, or what the emulated driver takes for one."""
    (gpu, *_) = gpus()
    if gpu.attributes["model"] == "Emulated GPU":
        return compile_kernels(text).read_bytes()
    fitting = [arch for arch in ARCHS if runs_on(arch, tuple(gpu.attributes["capability"]))]
    return compiled(text, fitting[-1])


def kernel_of(runtime: DeviceRuntime, program: CudaProgram) -> CudaKernel:
    cubins = tuple(machine_code(text) for text in program.modules)
    return CudaKernel(runtime, Contents(program, "sm_90", cubins), 2 * l2_bytes(gpus()[0]))


def right_answers(runtime: DeviceRuntime, example: Any) -> Any:
    """Launches in turn over three copies of the inputs; then times, writes and reads."""
    program = CudaProgram.from_json(tuple(example["texts"]), example["program"])
    kernel = kernel_of(runtime, program)
    inputs = [np.asarray(values, np.float32) for values in example["inputs"]]
    expected = np.asarray(example["expected"])
    output = len(inputs)
    kernel.bind(
        [*inputs, np.full(expected.shape, np.nan, np.float32)], dict.fromkeys(range(output), 3)
    )
    errors = []
    for _ in range(4):
        kernel.launch()
        errors.append(float(np.abs(kernel.read(output) - expected).max()))
    seconds = kernel.time(5)
    kernel.write(0, 2 * inputs[0])
    read = float(np.abs(kernel.read(0) - 2 * inputs[0]).max())
    kernel.close()
    return {"errors": errors, "seconds": seconds, "read": read}


def elsewhere(runtime: DeviceRuntime, example: Any) -> Any:
    """The same in a thread that did not open the device."""
    with ThreadPoolExecutor(1) as other:
        return other.submit(right_answers, runtime, example).result()


def beside_another(runtime: DeviceRuntime, example: Any) -> Any:
    """Launches on this GPU, on the next one and on this one again, all by one thread."""
    program = CudaProgram.from_json(tuple(example["texts"]), example["program"])
    inputs = [np.asarray(values, np.float32) for values in example["inputs"]]
    expected = np.asarray(example["expected"])
    kernels = [kernel_of(runtime, program)]
    kernels.append(kernel_of(type(runtime)(1), program))
    errors = []
    for kernel in (*kernels, kernels[0]):
        kernel.bind([*inputs, np.full(expected.shape, np.nan, np.float32)], {})
        kernel.launch()
        errors.append(float(np.abs(kernel.read(len(inputs)) - expected).max()))
    return errors


def conditions(runtime: DeviceRuntime, example: Any) -> Any:
    """What the device is asked for in a sample of two launches, and of six: warm, then cold."""
    asked: list[str] = []

    class Noted:
        """The runtime, with a note of what takes time on the device."""

        def __getattr__(self, name: str) -> Any:
            found = getattr(runtime, name)
            if name not in ("launcher", "fill", "record"):
                return found

            def noted(*arguments: Any) -> Any:
                if name == "launcher":
                    run = found(*arguments)
                    return lambda: (asked.append(f"launch {arguments[2][0]}"), run())[1]
                asked.append(f"fill {4 * arguments[2]}" if name == "fill" else name)
                return found(*arguments)

            return noted

    program = CudaProgram.from_json(tuple(example["texts"]), example["program"])
    kernel = kernel_of(Noted(), program)
    inputs = [np.asarray(values, np.float32) for values in example["inputs"]]
    told: dict[str, Any] = {"cache_bytes": l2_bytes(gpus()[0])}
    for name, copies in (("warm", {}), ("cold", {0: 3})):
        kernel.bind([*inputs, np.zeros_like(np.asarray(example["expected"], np.float32))], copies)
        first = kernel.places[0]
        places = {f"launch {first.at(n)}": f"launch {n}" for n in range(first.copies)}
        asked.clear()
        kernel.time(2)
        told[name] = [places.get(one, one) for one in asked]
        kernel.time(6)
        asked.clear()
        kernel.time(6)
        told[f"{name} replayed"] = [places.get(one, one) for one in asked]
    kernel.close()
    return told


def graph(runtime: DeviceRuntime, _: Any) -> Any:
    """Many launches become one graph that is replayed; each adds one to what is there."""
    text = (
        'extern "C" __global__ void __launch_bounds__(32) one_more(const float *__restrict__ x, '
        "float *__restrict__ out) { out[threadIdx.x] = x[threadIdx.x] + 1; }"
    )
    links = [
        [[0, 0], [2, 0]],
        *([[2, 128 * i], [2, 128 * (i + 1)]] for i in range(6)),
        [[2, 768], [1, 0]],
    ]
    launches = [
        {"module": 0, "kernel": "one_more", "grid": [1, 1, 1], "block": [32, 1, 1], "shared_bytes": 0,
         "arguments": link}
        for link in links
    ]  # fmt: skip
    plan = {"launches": launches, "operands": [[[32], "float32"]] * 2, "workspace_bytes": [1024]}
    kernel = kernel_of(runtime, CudaProgram.from_json((text,), plan))
    kernel.bind([np.arange(32, dtype=np.float32), np.zeros(32, np.float32)], {})
    kernel.launch()
    first = kernel.read(1).tolist()
    kernel.write(0, np.zeros(32, np.float32))
    kernel.launch()
    return {
        "first": first,
        "second": kernel.read(1).tolist(),
        "replayed": type(kernel.next_run()).__name__,
        "seconds": kernel.time(3),
    }


def faults(runtime: DeviceRuntime, body: Any) -> Any:
    """What a launch of a kernel with this body raises, and what comes after it."""
    text = (
        f'extern "C" __global__ void __launch_bounds__(64) k(float *__restrict__ out) {{ {body} }}'
    )
    module = runtime.load(ModuleImage(text, machine_code(text)))
    shape = Shape((1, 1, 1), (40, 1, 1), 60 << 10)
    address = runtime.allocate(80)
    run = runtime.launcher(runtime.function(module, "k", shape.shared_bytes), shape, [address])
    acts = (run, runtime.synchronize, runtime.synchronize, lambda: runtime.allocate(4))
    told = [outcome(act) for act in acts]
    runtime.free(address)
    runtime.unload(module)
    return told


def refusals(runtime: DeviceRuntime, _: Any) -> Any:
    """What is refused while the context lives on."""
    text = (
        'extern "C" __global__ void __launch_bounds__(64) k(float *__restrict__ out) '
        "{ __shared__ volatile float kept[8192]; kept[threadIdx.x] = 1; out[0] = kept[threadIdx.x]; }"
    )
    module = runtime.load(ModuleImage(text, machine_code(text)))
    function, address = runtime.function(module, "k", 0), runtime.allocate(80)
    both = Shape((1, 1, 1), (1, 1, 1), 32 << 10)
    wide, much = Shape((1, 1, 1), (65, 1, 1)), Shape((1, 1, 1), (1, 1, 1), 50 << 10)
    return {
        "memory": outcome(lambda: runtime.allocate(1 << 44)),
        "threads": outcome(runtime.launcher(function, wide, [address])),
        "shared": outcome(runtime.launcher(function, much, [address])),
        "image": outcome(lambda: runtime.load(ModuleImage("", b"no machine code at all" * 9))),
        "kernel": outcome(lambda: runtime.function(module, "another", 0)),
        "good": outcome(runtime.launcher(function, Shape((1, 1, 1), (1, 1, 1)), [address])),
        "static too": outcome(
            runtime.launcher(runtime.function(module, "k", both.shared_bytes), both, [address])
        ),
        "after": outcome(runtime.synchronize),
    }


def outcome(act: Any) -> list[str]:
    try:
        act()
    except (DeviceFaultError, DriverError, MemoryError) as error:
        return [type(error).__name__, str(getattr(error, "kind", "")), str(error)]
    return ["fine"]


if __name__ == "__main__":
    cases = {
        "answers": right_answers, "elsewhere": elsewhere, "beside": beside_another, "conditions": conditions,
        "graph": graph, "faults": faults, "refusals": refusals,
    }  # fmt: skip
    answer = cases[sys.argv[2]](runtime_named(sys.argv[1]), json.loads(sys.stdin.read()))
    sys.stdout.write(json.dumps(answer))
