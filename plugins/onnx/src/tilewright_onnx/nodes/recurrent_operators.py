"""Recurrent ONNX layers as ours, one step of time after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tilewright_onnx.model.node_site import NodeSite

_ACTIVATIONS = {"Sigmoid": "sigmoid", "Tanh": "tanh", "Relu": "relu"}


class _Layer:
    """One direction of a layer; rows are [batch, columns], the columns of a gate lie together.

    inputs   the inputs' part of every step, [steps * batch, gates * hidden], biases added
    """

    gates: ClassVar[int]
    states: ClassVar[int] = 1
    defaults: ClassVar[tuple[str, ...]]

    def __init__(self, site: NodeSite, direction: int) -> None:
        self.site = site
        steps, self.batch, width = site.spec(0).shape
        weights, self.recurrent = (site.value(i)[direction] for i in (1, 2))
        self.size = self.recurrent.shape[1]
        count = self.gates * self.size
        biases = site.value(3)[direction] if site.has(3) else np.zeros(2 * count, weights.dtype)
        before, self.inner_bias = self.biases(biases[:count], biases[count:])
        self.activations = _activations(site, len(self.defaults), direction) or self.defaults
        rows = site.reshaped(site.tensor(0), (steps * self.batch, width))
        product = site.emit("dense", rows, site.constant(weights))
        self.inputs = site.emit("add", product, site.constant(before.reshape(1, -1)))

    def biases(self, outer: Any, inner: Any) -> tuple[Any, Any]:
        """(what is added to the inputs' part, what stays for the recurrent part)."""
        return outer + inner, None

    def step(self, time: int, *states: str) -> tuple[str, ...]:
        """The states after a step; the first one is the output."""
        raise NotImplementedError

    def from_inputs(self, time: int) -> str:
        """The inputs' part of a step."""
        begin, width = time * self.batch, self.gates * self.size
        return self.site.emit(
            "slice", self.inputs, begin=[begin, 0], end=[begin + self.batch, width]
        )

    def part(self, rows: str, gate: int, count: int = 1) -> str:
        """The columns of a gate, or of several in a row."""
        begin, end = [0, gate * self.size], [self.batch, (gate + count) * self.size]
        return self.site.emit("slice", rows, begin=begin, end=end)

    def product(self, state: str, first: int = 0, last: int | None = None) -> str:
        """The state times the recurrent weights of some gates."""
        last = self.gates if last is None else last
        weights = self.recurrent[first * self.size : last * self.size]
        return self.site.emit("dense", state, self.site.constant(weights))


class _Rnn(_Layer):
    gates, defaults = 1, ("tanh",)

    def step(self, time: int, *states: str) -> tuple[str, ...]:
        total = self.site.emit("add", self.product(states[0]), self.from_inputs(time))
        return (self.site.emit(self.activations[0], total),)


class _Lstm(_Layer):
    """Gates: input, output, forget, cell. States: output, cell."""

    gates, states, defaults = 4, 2, ("sigmoid", "tanh", "tanh")

    def step(self, time: int, *states: str) -> tuple[str, ...]:
        emit, (gate, cell, out) = self.site.emit, self.activations
        total = emit("add", self.product(states[0]), self.from_inputs(time))
        gates = emit(gate, self.part(total, 0, 3))
        fresh = emit("multiply", emit(cell, self.part(total, 3)), self.part(gates, 0))
        kept = emit("multiply", self.part(gates, 2), states[1])
        memory = emit("add", kept, fresh)
        return emit("multiply", emit(out, memory), self.part(gates, 1)), memory


class _Gru(_Layer):
    """Gates: update, reset, hidden. The reset gate comes before the last product, or after it."""

    gates, defaults = 3, ("sigmoid", "tanh")

    def biases(self, outer: Any, inner: Any) -> tuple[Any, Any]:
        if not self.site.attribute("linear_before_reset", 0):
            return outer + inner, None
        split = 2 * self.size
        before = np.concatenate([outer[:split] + inner[:split], outer[split:]])
        return before, inner[split:].reshape(1, -1)

    def step(self, time: int, *states: str) -> tuple[str, ...]:
        emit, (gate, hidden), (state,) = self.site.emit, self.activations, states
        inputs = self.from_inputs(time)
        two = emit(gate, emit("add", self.product(state, 0, 2), self.part(inputs, 0, 2)))
        update, reset = self.part(two, 0), self.part(two, 1)
        if self.inner_bias is None:
            inner = self.product(emit("multiply", reset, state), 2)
        else:
            biased = emit("add", self.product(state, 2), self.site.constant(self.inner_bias))
            inner = emit("multiply", biased, reset)
        new = emit(hidden, emit("add", inner, self.part(inputs, 2)))
        kept = emit("multiply", emit("subtract", state, new), update)
        return (emit("add", kept, new),)


def _activations(site: NodeSite, count: int, direction: int) -> tuple[str, ...]:
    """Ours of a direction; empty where none are given."""
    names = site.attribute("activations", ())
    for name in names:
        if name not in _ACTIVATIONS:
            known = ", ".join(_ACTIVATIONS)
            raise site.error(f"recurrent layer with activation {name!r}; expected one of {known}")
    return tuple(_ACTIVATIONS[name] for name in names[direction * count :][:count])


def _recurrent(kind: type[_Layer], site: NodeSite) -> None:
    """Outputs: [steps, directions, batch, hidden], and the last value of each state."""
    if site.attribute("clip") is not None or site.attribute("input_forget", 0) or site.has(7):
        raise site.error("recurrent layer with clip, input_forget or peepholes, which is not read")
    if site.attribute("layout", 0):
        raise site.error("recurrent layer with layout 1", "export it with the batch second")
    steps, batch, _ = site.spec(0).shape
    if site.has(4) and (not site.is_known(4) or (site.value(4) != steps).any()):
        raise site.error("recurrent layer with sequences of several lengths")
    direction = site.attribute("direction", "forward")
    backward = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[direction]
    outputs, lasts = [], []
    for number, reverse in enumerate(backward):
        layer = kind(site, number)
        states = tuple(
            _first_state(site, 5 + i, number, (batch, layer.size)) for i in range(kind.states)
        )
        made = []
        for time in reversed(range(steps)) if reverse else range(steps):
            states = layer.step(time, *states)
            made.append(states[0])
        whole = site.emit("concat", *(made[::-1] if reverse else made), axis=0)
        outputs.append(site.reshaped(whole, (steps, 1, batch, layer.size)))
        lasts.append([site.reshaped(state, (1, batch, layer.size)) for state in states])
    for place, (axis, parts) in enumerate(
        [(1, outputs), *((0, one) for one in zip(*lasts, strict=True))]
    ):
        if place < len(site.outputs) and site.outputs[place]:
            site.give(site.outputs[place], "concat", *parts, axis=axis)


def _first_state(site: NodeSite, position: int, direction: int, shape: tuple[int, int]) -> str:
    if not site.has(position):
        return site.constant(np.zeros(shape, site.spec(0).dtype))
    begin, end = [direction, 0, 0], [direction + 1, *shape]
    whole = site.tensor(position)
    return site.reshaped(site.emit("slice", whole, begin=begin, end=end), shape)


RECURRENT_READERS: Mapping[str, Callable[[NodeSite], None]] = {
    "GRU": partial(_recurrent, _Gru),
    "LSTM": partial(_recurrent, _Lstm),
    "RNN": partial(_recurrent, _Rnn),
}
