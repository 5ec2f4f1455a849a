"""Threads that share a network of x86, and copies of it that run at the same time."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest

import tilewright
from tilewright_graph.network.random_inputs import random_arrays

CALLERS = 4
"""Two share a network, the others have a copy each."""
RUNS = 25


@pytest.mark.parametrize("threads", [1, 2])
def test_callers_at_the_same_time_get_their_own_answers(tmp_path, threads):
    model = {"model": "zoo:resnet-18", "frontend": {"zoo": {"size": 32}}}
    options = {"target": f"x86:isa=avx2,threads={threads}", "records": tmp_path / "none.jsonl"}
    with ExitStack() as stack:
        network = stack.enter_context(tilewright.compile(model, **options))
        given = [random_arrays(network.inputs, seed) for seed in range(CALLERS)]
        wanted = [network.run(arrays) for arrays in given]
        copies = [stack.enter_context(copy.copy(network)) for _ in range(CALLERS - 2)]

        def answers_that_differ(caller: int) -> int:
            own = (network, network, *copies)[caller]
            found = [own.run(given[caller]) for _ in range(RUNS)]
            (name,) = wanted[caller]
            return sum(not np.array_equal(one[name], wanted[caller][name]) for one in found)

        with ThreadPoolExecutor(CALLERS) as pool:
            assert [*pool.map(answers_that_differ, range(CALLERS))] == [0] * CALLERS
        (name,) = wanted[0]
        assert not np.array_equal(wanted[0][name], wanted[1][name])
