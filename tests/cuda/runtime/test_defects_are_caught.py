"""Fifteen ways to get a kernel wrong, none of which the emulation lets pass (cuda.md, section 3)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilewright.vocabulary.measure import DeviceFaultError

_TOLERANCE = 1e-5


def _text(name, old, new):
    def make(examples):
        example = examples[name]
        assert example.text.count(old) == 1, old
        return replace(example, text=example.text.replace(old, new))

    return make


def _gemm(**fields):
    return lambda examples: replace(examples["gemm"], **fields)


_WRITTEN = "__syncthreads();  // tile is written"
_READ = "__syncthreads();  // tile is read"
_IMAGE = "__syncthreads();  // image is read"
_LANDED = "__syncthreads();  // for everybody, and the stage that comes next is read"
_SUMS = "__syncthreads();  // sums are written"

_RACE, _WRONG, _ILLEGAL = "threads race", "wrong answer", "illegal address"

# What is done to a good kernel, and how it is caught.
DEFECTS = {
    "no barrier before the tile is read": (_text("gemm", _WRITTEN, ""), _RACE),
    "no barrier in the loop": (_text("gemm", _READ, ""), _RACE),
    "no barrier before the only buffer is written again": (_text("conv", _IMAGE, ""), _RACE),
    "no wait for asynchronous copies": (_text("pipeline", "cp_wait<1>();", ""), _RACE),
    "one group too few is waited for": (
        _text("pipeline", "cp_wait<1>();", "cp_wait<2>();"),
        _RACE,
    ),
    "no barrier behind the wait": (_text("pipeline", _LANDED, ""), _RACE),
    "two operands of a fragment swapped": (
        _text("gemm", "[0][1] += x.x * y.y", "[0][1] += x.y * y.x"),
        _WRONG,
    ),
    "a barrier in a divergent branch": (
        _text("softmax", _SUMS, f"if (inside) {_SUMS}"),
        "divergent barrier",
    ),
    "rows padded by one float": (_text("gemm", "bs[at * 36", "bs[at * 37"), "misaligned address"),
    "too little shared memory": (_gemm(shared_bytes=(2 * 16 * 36 - 8) * 4), _ILLEGAL),
    "a reduction that goes on too far": (_text("gemm", "k < 48", "k < 64"), _ILLEGAL),
    "a grid too large": (_gemm(grid=(2, 4, 1)), _ILLEGAL),
    "a grid too small": (_gemm(grid=(2, 2, 1)), _WRONG),
    "a wrong index of the store": (
        _text("gemm", "out[(first_row + row + i)", "out[(first_row + row)"),
        _WRONG,
    ),
    "sums that begin at what nobody wrote": (
        _text("gemm", "float sums[2][2] = {};", "float sums[2][2];"),
        _WRONG,
    ),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_each_defect_is_caught_by_what_it_breaks(defect, examples, emulated_kernel):
    make, expected = DEFECTS[defect]
    assert expected in _outcome(make(examples), emulated_kernel)


def test_good_kernels_pass(example, emulated_kernel):
    assert _outcome(example, emulated_kernel) == "right answer"


def test_there_are_fifteen():
    assert len(DEFECTS) == 15


def _outcome(example, emulated_kernel):
    kernel = emulated_kernel(example)
    try:
        kernel.launch()
    except (DeviceFaultError, RuntimeError) as error:
        return str(error)
    right = example.error(kernel.read(len(example.shapes))) < _TOLERANCE
    return "right answer" if right else "wrong answer"
