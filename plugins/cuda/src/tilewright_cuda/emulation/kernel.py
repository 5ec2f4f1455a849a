"""A kernel on the emulated device, which checks more than a device can."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from tilewright_cuda.driver.kernel import CudaKernel
from tilewright_cuda.emulation.compile import compile_kernels
from tilewright_cuda.emulation.runtime import EmulatedRuntime, Order
from tilewright_cuda.program.artifact import Contents

_POISON = int(np.float32(3.1e30).view(np.uint32))  # finite: a NaN would hide behind a maximum


class EmulatedKernel(CudaKernel):
    """As `CudaKernel`, with one copy of each operand: here is no cache that could be cold.

    A launch runs in every order of threads, each time on the same operands and on poisoned
    workspaces. The results must be the same bits, or threads race.
    """

    def __init__(self, runtime: EmulatedRuntime, contents: Contents, scratch_bytes: int) -> None:
        with ThreadPoolExecutor(os.cpu_count()) as compilers:  # one g++ a module, as cores allow
            list(compilers.map(compile_kernels, contents.program.modules))
        super().__init__(runtime, contents, scratch_bytes)
        self._emulated = runtime
        self._written = sorted(
            {
                pointer.slot
                for launch in self.program.launches
                for pointer, written in zip(
                    launch.arguments,
                    self._functions[launch.module, launch.kernel].written,
                    strict=True,
                )
                if written
            }
        )

    def bind(self, arrays: Sequence[Any], copies: Mapping[int, int]) -> None:
        super().bind(arrays, {})

    def launch(self) -> None:
        """Run once in each order. Raises RuntimeError where the answer depends on it."""
        run = self.next_run()
        operands = {slot: self.read(slot) for slot in self._written if slot < len(self._specs)}
        answers = {order: self._answer(run, order, operands) for order in Order}
        self._emulated.order = Order.FORWARD
        for order, answer in answers.items():
            if answer != answers[Order.FORWARD]:
                raise RuntimeError(
                    f"threads race: the answer in {order.name.lower()} order is not that in "
                    "forward order"
                )

    def _answer(
        self, run: Callable[[], None], order: Order, operands: Mapping[int, Any]
    ) -> list[bytes]:
        """The outputs of a run in this order, with any previous content of the workspaces."""
        for slot in self._written:
            if slot in operands:
                self.write(slot, operands[slot])
            else:
                places = self.places[slot]
                self.runtime.fill(places.address, _POISON, places.size // 4)
        self._emulated.order = order
        run()
        return [self.read(slot).tobytes() for slot in operands]

    def time(self, number: int) -> float:
        """Seconds of `number` launches in forward order."""
        timed, start = self.runs(number), self.runtime.record()
        timed()
        return self.runtime.seconds(start, self.runtime.record())
