"""Pixels of a convolution as one sequence: what taps read there, and how many tiles they take."""

from __future__ import annotations

import numpy as np
import pytest
from answers import host, task_of
from hypothesis import given
from hypothesis import strategies as st

from tilewright_tensor.evaluation.interpret import interpret
from tilewright_x86.strategies.tiles.pixel_sequence import PixelSequence
from tilewright_x86.strategies.tiles.taps import Taps
from tilewright_x86.strategies.tiles.tile_reads import TileReads


def sequence_of(text: str) -> PixelSequence:
    workload = task_of(text, "x86:isa=amx,threads=1").workload
    shape, _ = host().reference("conv2d").output_shapes(workload)[0]
    return PixelSequence.of(workload, shape)


@st.composite
def taps(draw: st.DrawFn) -> Taps:
    count, stride, dilation = (
        draw(st.integers(1, 7)),
        draw(st.integers(1, 4)),
        draw(st.integers(1, 4)),
    )
    span = (count - 1) * dilation + 1
    before, after = draw(st.integers(0, span - 1)), draw(st.integers(0, span - 1))
    least = max(1, span - before - after)
    extent = draw(st.integers(least, least + 19))
    outputs = (extent + before + after - span) // stride + 1
    return Taps(count, stride, dilation, before, extent, outputs)


@given(taps(), st.integers(2, 4))
def test_rows_a_pitch_apart_hold_what_every_tap_reads(axis: Taps, rows: int) -> None:
    pitch = axis.pitch()
    image = np.arange(1, 1 + rows * axis.extent).reshape(rows, axis.extent)
    margin = axis.margin(pitch, axis.phases)
    padded = np.pad(image, [(0, 1), (axis.before, margin)])
    phases = [
        padded[:, phase * axis.dilation :: axis.stride][:, :pitch].reshape(-1)
        for phase in range(axis.phases)
    ]
    wide = np.pad(image, [(0, 0), (axis.before, axis.count * axis.dilation)])
    steps = axis.dilation * axis.apart // axis.stride
    for tap in range(axis.count):
        phase, behind = tap % axis.apart, tap // axis.apart * steps
        assert phase < axis.phases
        assert behind <= axis.reach
        for row in range(rows):
            got = phases[phase][row * pitch + behind :][: axis.outputs]
            wanted = wide[row, tap * axis.dilation :: axis.stride][: axis.outputs]
            assert np.array_equal(got, wanted)


@pytest.mark.parametrize(
    ("text", "tiles", "terms"),
    [
        ("conv2d(1x512x7x7, 512x512x3x3, padding=1)", 4, 512 * 9),
        ("conv2d(1x64x56x56, 64x64x3x3, padding=1)", 200, 64 * 9),
        ("conv2d(1x256x56x56, 512x256x1x1, strides=2)", 49, 256),
        ("conv2d(1x256x28x28, 256x256x3x3, strides=2, padding=1)", 14, 256 * 9),
        ("conv2d(1x3x224x224, 64x3x7x7, strides=2, padding=3)", 784, 7 * 32),
    ],
)
def test_few_tiles_serve_a_map(text: str, tiles: int, terms: int) -> None:
    reads = sequence_of(text).reads(64)
    assert (reads.pixels, reads.terms * 32) == (tiles, terms)


def test_pointwise_convolutions_of_whole_tiles_copy_nothing() -> None:
    assert not sequence_of("conv2d(1x64x4x4, 64x64x1x1)").copied
    assert sequence_of("conv2d(1x64x7x7, 64x64x1x1)").copied
    assert sequence_of("conv2d(1x64x8x8, 64x64x1x1, strides=2)").copied


def test_tiles_of_weights_serve_two_of_pixels_where_weights_pass_through_the_cache() -> None:
    reads = TileReads(pixels=14, filters=16, terms=72, pixel_bytes=512, reach=32)
    least = {(a, b): reads.cycles(a, b, "filters") for a, b in [(1, 4), (2, 2), (1, 1)]}
    assert least[2, 2] < least[1, 4] < least[1, 1]


def test_weights_beyond_the_second_level_are_read_once() -> None:
    reads = TileReads(pixels=4, filters=32, terms=144, pixel_bytes=1024, reach=18)
    assert reads.cycles(2, 2, "filters") < reads.cycles(2, 2, "rows")


def test_weights_of_all_groups_pass_between_two_blocks_of_pixels() -> None:
    one, many = (TileReads(4, 2, 9, 128, 18, groups) for groups in (1, 64))
    assert one.cycles(2, 2, "filters") == many.cycles(2, 2, "filters")
    assert one.cycles(2, 2, "rows") < many.cycles(2, 2, "rows")


@pytest.mark.parametrize(
    "text",
    [
        "conv2d(1x3x6x6, 16x3x3x3, padding=1)",
        "conv2d(1x5x7x6, 16x5x3x5, strides=2, padding=2)",
        "conv2d(1x33x5x5, 16x33x3x3, padding=1)",
        "conv2d(1x40x6x5, 32x20x3x3, padding=1, groups=2)",
    ],
)
def test_an_infinity_reaches_only_the_pixels_that_read_it(text: str) -> None:
    task = task_of(text, "x86:emulated=yes,isa=amx,threads=1")
    running = host().at_precision("bfloat16")
    config = running.implementation("conv2d_tiles_bf16.x86").fallback(task)
    reference, layouts = running.reference("conv2d"), running.layouts(task, config)
    data, weight = reference.inputs(task.workload, 1, "bfloat16")
    data[0, -weight.shape[1], 2, -1] = np.inf  # of the last group, behind what others read
    with np.errstate(invalid="ignore"):
        (wanted,) = reference.outputs(task.workload, [data, weight])
        packed = [reference.pack(*one) for one in zip((data, weight), layouts.inputs, strict=True)]
        (got,) = interpret(running.lower(task, config), packed)
    answer = reference.unpack(got, layouts.outputs[0], wanted.shape).astype("float32")
    assert np.isinf(wanted).any()
    assert np.array_equal(np.isfinite(answer), np.isfinite(wanted))
