"""A target without code: `paper` kernels are JSON, carried out by the operators' references on real memory.

It honours layouts, packed constants, offsets into the arena and into the constants, so that what the graph side plans is
what is executed. Strategy `paper` runs everything; its knob `block` is the channel block of NCHW[x]c.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from tilewright import Component, hookimpl
from tilewright.errors import UsageError
from tilewright.roles import Artifact
from tilewright.space.knobs import Knobs
from tilewright.strategies.strategy import Strategy
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.task import Task
from tilewright_tensor.layouts.layout import Layout


@dataclass(frozen=True)
class PaperProgram:
    task: Task
    layouts: Layouts


def _block_of(layout: str, block: int, shape: tuple[int, ...]) -> str:
    blocked = Layout.parse(f"{layout}{block}c").broadcast_to(shape)
    return blocked.text if block > 1 and blocked.divides(shape) else layout


class Paper:
    def __init__(self, host) -> None:
        self.host = host

    def applies(self, task):
        return True

    def alternatives(self, task):
        knobs = Knobs("paper")
        knobs.define_knob("block", [1, 4, 8])
        return [knobs.alternative()]

    def lower(self, task, config):
        return PaperProgram(task, self.layouts(task, config))

    def layouts(self, task, config):
        workload = task.workload
        ((output, _),) = self.host.reference(workload.operator).output_shapes(workload)
        if workload.operator == "layout_transform":
            return Layouts((workload.attributes["src"],), (workload.attributes["dst"],))
        anchors = len(workload.anchor.inputs)
        texts = []
        for position, spec in enumerate(workload.inputs):
            logical = Layout.logical(len(spec.shape)).text
            if spec.role == "constant" and position < anchors:
                texts.append("OIHW" if len(spec.shape) == 4 else logical)
            else:
                texts.append(self._text(logical, config, spec.shape, output))
        logical = Layout.logical(len(output)).text
        packed = frozenset(i for i, spec in enumerate(workload.inputs) if spec.role == "constant")
        return Layouts(tuple(texts), (self._text(logical, config, output, output),), packed)

    def _text(self, logical, config, shape, output):
        if len(shape) != 4 or output[1] % config["block"]:
            return logical
        return _block_of(logical, config["block"], shape)

    def fallback(self, task):
        return ConfigEntity("paper", {"block": 4})


class Pencil(Paper):
    """As paper, but not for `accuracy: strict`."""

    def alternatives(self, task):
        return [Knobs("pencil").alternative()]

    def layouts(self, task, config):
        return super().layouts(task, ConfigEntity("paper", {"block": 1}))

    def fallback(self, task):
        return ConfigEntity("pencil")


class PaperKernel:
    def __init__(self, data, host) -> None:
        self.data = data
        self.host = host
        self.closed = False
        self.programs = [0] * len(data["calls"])

    def bind(self, arrays, copies):
        buffers = self.data["buffers"]
        outside = [b for b in buffers if b["kind"] in ("input", "output")]
        inputs = sum(b["kind"] == "input" for b in buffers)
        assert len(arrays) == len(outside) + 1
        self.operands = [np.array(a, order="C") for a in arrays]
        self.arena = np.full(self.data["arena_bytes"], 255, np.uint8)
        names = [b["name"] for b in outside]
        self.places = {n: i + (i >= inputs) for i, n in enumerate(names)}
        self.constants = self.operands[inputs]
        assert self.constants.nbytes == self.data["constant_bytes"]

    def write(self, operand, array):
        self.operands[operand][...] = array

    def read(self, operand):
        return self.operands[operand].copy()

    def swap(self, call, program):
        self.programs[call] = program

    def launch(self):
        buffers = {b["name"]: b for b in self.data["buffers"]}
        for which, call in zip(self.programs, self.data["calls"], strict=True):
            program = call["programs"][which]
            task = Task.from_json(program["task"])
            reference = self.host.reference(task.workload.operator)
            *reads, write = (self._memory(buffers[name]) for name in call["operands"])
            layouts = [Layout.parse(text) for text in program["layouts"]]
            inputs = [
                layout.unpack(
                    memory.copy().view(spec.dtype).reshape(layout.physical_shape(spec.shape)),
                    spec.shape,
                )
                for memory, layout, spec in zip(reads, layouts, task.workload.inputs, strict=False)
            ]
            (result,) = reference.outputs(task.workload, inputs)
            write[:] = layouts[-1].pack(result).reshape(-1).view(np.uint8)

    def _memory(self, buffer):
        size = int(np.prod(buffer["shape"])) * np.dtype(buffer["dtype"]).itemsize
        if buffer["kind"] in ("input", "output"):
            return self.operands[self.places[buffer["name"]]].reshape(-1).view(np.uint8)
        base = self.constants if buffer["kind"] == "constant" else self.arena
        return base[buffer["offset"] : buffer["offset"] + size]

    def time(self, number):
        return number * 1e-3

    def flush(self):
        pass

    def close(self):
        self.closed = True


class PaperBackend:
    def __init__(self, options, host) -> None:
        self.host = host

    def probe(self):
        return [Device("desk", {"model": "oak"}, {1: 1e9}, {1: 1e9})]

    def check_target(self, target, device):
        pass

    def build(self, program, target):
        raise NotImplementedError

    def link(self, network, target):
        calls = [
            {
                "programs": [
                    {
                        "task": one.task.to_json(),
                        "layouts": [*one.layouts.inputs, *one.layouts.outputs],
                    }
                    for one in (call.program, *call.others)
                ],
                "operands": list(call.operands),
            }
            for call in network.calls
        ]
        buffers = [
            {
                "name": b.name,
                "shape": list(b.shape),
                "dtype": b.dtype,
                "kind": b.kind,
                "offset": b.offset,
            }
            for b in network.buffers
        ]
        data = {
            "calls": calls,
            "buffers": buffers,
            "arena_bytes": network.arena_bytes,
            "constant_bytes": network.constant_bytes,
        }
        return Artifact(
            str(target), "paper", json.dumps(data).encode(), {"grain": target.get("grain", "fine")}
        )

    def load(self, artifact, device):
        if artifact.metadata["grain"] != "fine":
            raise UsageError(
                f"paper of {artifact.metadata['grain']} grain: this desk takes fine grain"
            )
        return PaperKernel(json.loads(artifact.data), self.host)

    def swap_kernel(self, kernel, call, program):
        kernel.swap(call, program)

    def measure_peak(self, device, target):
        return 1e9, 1e9


@hookimpl
def tilewright_targets():
    return [Component("paper", "carried out by references", lambda: PaperBackend)]


@hookimpl
def tilewright_strategies():
    return [
        Strategy("paper", 1, ("paper",), (), Paper),
        Strategy("pencil", 1, ("paper",), ("conv2d",), Pencil, priority=50, direct_error=False),
    ]
