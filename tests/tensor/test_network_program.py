"""Where a backend finds the buffers of a network."""

from __future__ import annotations

from tilewright_tensor.ir.network_program import NetworkBuffer, NetworkProgram

BUFFERS = (
    NetworkBuffer("inner", (4,), "float32", "intermediate", 128),
    NetworkBuffer("x", (1, 3), "float32", "input"),
    NetworkBuffer("answer", (2,), "float32", "output"),
    NetworkBuffer("weight", (3, 4), "float32", "constant", 64),
    NetworkBuffer("mask", (5,), "bool", "input"),
    NetworkBuffer("logits", (2,), "float32", "output"),
)
NETWORK = NetworkProgram("small", BUFFERS, (), arena_bytes=192, constant_bytes=112)


def test_operands_are_the_inputs_all_constants_and_the_outputs() -> None:
    assert NETWORK.operands == (
        ((1, 3), "float32"),
        ((5,), "bool"),
        ((112,), "uint8"),
        ((2,), "float32"),
        ((2,), "float32"),
    )


def test_every_buffer_has_a_place_in_an_operand_or_in_the_arena_behind_them() -> None:
    assert NETWORK.places == {
        "x": (0, 0),
        "mask": (1, 0),
        "weight": (2, 64),
        "answer": (3, 0),
        "logits": (4, 0),
        "inner": (5, 128),
    }
