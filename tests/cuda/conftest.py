"""Tasks computed on the emulated device, compared with the reference."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest
from answers import expected, host, relative_error, task_of

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_cuda.emulation.compile import compiler_version
from tilewright_cuda.program.arch import arch_of
from tilewright_cuda.program.artifact import artifact_of
from tilewright_cuda.program.cuda_program import CudaProgram
from tilewright_cuda.text.generate import generate

TARGET = Target.parse("cuda:arch=sm_90")


class EmulatedAnswers:
    """Computes configs of tasks without making machine code: the text is what is tested."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.host = host()
        self.backend = self.host.backend("cuda")

    def task(self, text: str) -> Task:
        """The task of a text form."""
        return task_of(text, str(TARGET))

    def relative_errors(self, task: Task, configs: Sequence[ConfigEntity]) -> list[float]:
        """That of each; side by side in processes, because the emulation runs one kernel in one."""
        expected(task.workload)  # once, for all of them
        with ProcessPoolExecutor(
            os.cpu_count(),
            get_context("fork"),
            initializer=_inherit,
            initargs=(self, task, configs),
        ) as pool:
            return list(pool.map(_relative_error, range(len(configs))))

    def _program(self, task: Task, config: ConfigEntity) -> CudaProgram:
        return generate(self.host.lower(task, config), arch_of(TARGET)).program

    def relative_error(self, task: Task, config: ConfigEntity) -> float:
        """Largest error by the largest value; the kernel runs in every order of threads."""
        program = self._program(task, config)
        artifact = artifact_of(TARGET, program, [None] * len(program.modules), {})
        return relative_error(task, config, self.backend.load(artifact, self.device))


_inherited: list[Any] = []
"""In a process of `relative_errors`: whose it is, the task and its configs."""


def _inherit(answers: EmulatedAnswers, task: Task, configs: Sequence[ConfigEntity]) -> None:
    _inherited[:] = answers, task, configs


def _relative_error(number: int) -> float:
    answers, task, configs = _inherited
    error: float = answers.relative_error(task, configs[number])
    return error


@pytest.fixture(scope="session")
def emulated_device() -> Any:
    """Skips where there is no C++ compiler to emulate with."""
    if compiler_version() is None:
        pytest.skip("emulation needs g++")
    devices = host().backend("cuda").probe()
    return next(one for one in devices if one.name == "emulated")


@pytest.fixture(scope="session")
def emulated(emulated_device: Any) -> EmulatedAnswers:
    """What the emulated device computes."""
    return EmulatedAnswers(emulated_device)
