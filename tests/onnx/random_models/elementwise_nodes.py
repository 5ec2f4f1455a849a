"""Rules for what is computed element by element."""

from __future__ import annotations

import numpy as np
from drawing import Drawn, is_exact, is_float, is_number, lies_in, partner, rule
from onnx import helper

SMOOTH = [
    "Sigmoid", "Tanh", "Erf", "Elu", "Selu", "Softplus", "Softsign", "HardSigmoid", "HardSwish",
    "Mish", "Gelu", "Celu", "Sin", "Cos", "Atan", "LeakyRelu", "Exp", "Tan", "Sinh", "Cosh",
    "Asinh",
]  # fmt: skip
JUMPS = ["Ceil", "Floor", "Round", "Sign", "ThresholdedRelu", "IsNaN", "IsInf", "Shrink"]
EXACT = ["Abs", "Neg", "Relu", "Identity", "Dropout"]


@rule(6)
def smooth(model):
    data = model.pick(is_float, lies_in(-8, 8))
    kind = model.random.choice(SMOOTH)
    if kind in ("Tan", "Exp", "Sinh", "Cosh") and data and not lies_in(-1.2, 1.2)(data):
        return None
    return data and Drawn(kind, (data,))


@rule(2)
def away_from_zero(model):
    kind = model.random.choice(["Log", "Sqrt", "Reciprocal", "Acosh", "Log", "Sqrt"])
    data = model.pick(is_float, lies_in(-8 if kind == "Reciprocal" else 0, 900, 0.1))
    if kind == "Acosh" and data and data.value.min() < 1.1:
        return None
    return data and Drawn(kind, (data,))


@rule(3)
def exact_ones(model):
    data = model.pick(is_number)
    return data and Drawn(model.random.choice(EXACT), (data,), exact=True)


@rule(3)
def jumping(model):
    data = model.pick(is_float, is_exact)
    return data and Drawn(model.random.choice(JUMPS), (data,), exact=True)


@rule(8)
def binary(model):
    kind = model.random.choice(["Add", "Sub", "Mul", "Max", "Min", "Sum", "Mean"])
    first = model.pick(is_number)
    second = first and partner(model, first)
    if second is None:
        return None
    operands = [first, second] if model.random.random() < 0.7 else [second, first]
    if kind in ("Max", "Min", "Sum", "Mean"):
        operands += operands[:1] * model.random.randint(0, 1)
    if kind == "Mul" and first.dtype == "uint8":
        return None
    return Drawn(kind, tuple(operands), exact=kind != "Mean")


@rule(2)
def division(model):
    first = model.pick(is_number)
    if first is None:
        return None
    if not first.is_float and not first.exact:
        return None
    value = np.abs(model.values(first.shape[len(first.shape) // 2 :], first.dtype)) + 1
    return Drawn("Div", (first, model.constant(value.astype(first.dtype))))


@rule(1)
def modulo(model):
    first = model.pick(is_number, is_exact)
    if first is None:
        return None
    value = np.abs(model.values(first.shape[-1:], first.dtype)) + 1
    fmod = int(first.is_float or model.random.random() < 0.5)
    operands = (first, model.constant(value.astype(first.dtype)))
    return Drawn("Mod", operands, {"fmod": fmod}, exact=True)


@rule(1)
def power(model):
    base = model.pick(is_float, lies_in(0, 4, 0.1))
    exponent = model.random.choice([2.0, 3.0, 0.5, -1.0, 1.5, 0.0])
    return base and Drawn("Pow", (base, model.constant(np.array(exponent, base.dtype))))


@rule(3)
def comparison(model):
    kind = model.random.choice(["Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"])
    first = model.pick(is_number, is_exact)
    second = first and partner(model, first, is_exact)
    return second and Drawn(kind, (first, second), exact=True)


@rule(2)
def logic(model):
    first = model.pick(lambda t: t.dtype == "bool")
    if first is None:
        return None
    if model.random.random() < 0.3:
        return Drawn("Not", (first,), exact=True)
    second = partner(model, first)
    return second and Drawn(model.random.choice(["And", "Or", "Xor"]), (first, second), exact=True)


@rule(2)
def where(model):
    condition = model.pick(lambda t: t.dtype == "bool")
    first = model.pick(is_number)
    second = condition and first and partner(model, first)
    return second and Drawn("Where", (condition, first, second), exact=True)


@rule(3)
def cast(model):
    data = model.pick()
    target = model.random.choice(["float32", "float64", "float16", "int32", "int64", "bool"])
    if target in ("int32", "int64", "bool") and not data.exact:
        return None
    code = helper.np_dtype_to_tensor_dtype(np.dtype(target))
    return Drawn("Cast", (data,), {"to": code}, exact=True)


@rule(2)
def clip(model):
    data = model.pick(is_float)
    if data is None:
        return None
    low = model.constant(np.array(-0.5, data.dtype)) if model.random.random() < 0.8 else None
    high = model.constant(np.array(1.25, data.dtype)) if model.random.random() < 0.8 else None
    return Drawn("Clip", (data, low, high), exact=True)
