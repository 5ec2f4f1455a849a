"""Ranges of dimensions whose rows are read by others: attention, sums and maxima over a sequence."""

from __future__ import annotations

import json
import pickle

import numpy as np
import onnx
import pytest
from forged_manifest import forged_manifest
from onnx import TensorProto, helper
from sized_models import array, assert_right, compiled, pairs

import tilewright
from tilewright.errors import UsageError
from tilewright_cli.terminal.group import run
from tilewright_graph.compiled.bucketed_network import BucketedNetwork

node = helper.make_node
ENCODER = (
    [
        node("Gather", ["words", "ids"], ["embedded"]),
        node("Shape", ["ids"], ["shape"]),
        node("Slice", ["shape", "one", "two"], ["length"]),
        node("Slice", ["table", "zero", "length"], ["places"]),
        node("Add", ["embedded", "places"], ["x"]),
        node("MatMul", ["x", "q"], ["queries"]),
        node("Reshape", ["queries", "heads"], ["split"]),
        node("Transpose", ["split"], ["h"], perm=[0, 2, 1, 3]),
        node("Transpose", ["split"], ["t"], perm=[0, 2, 3, 1]),
        node("MatMul", ["h", "t"], ["scores"]),
        node("Sub", ["mask", "single"], ["absent"]),
        node("Mul", ["absent", "large"], ["masking"]),
        node("Unsqueeze", ["masking", "axes"], ["added"]),
        node("Add", ["scores", "added"], ["masked"]),
        node("Softmax", ["masked"], ["shares"], axis=-1, name="attend"),
        node("MatMul", ["shares", "h"], ["mixed"]),
        node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
        node("Reshape", ["back", "joined"], ["rows"]),
        node("Add", ["rows", "x"], ["sum"]),
        node("LayerNormalization", ["sum", "s"], ["y"], axis=-1),
        node("Gather", ["y", "first"], ["pooled"], axis=1),
    ],
    {"ids": ("batch", "sequence"), "mask": ("batch", "sequence")},
    {
        "words": array(9, 6), "table": array(40, 6), "q": array(6, 6), "s": array(6),
        "heads": np.array([0, 0, 2, 3]), "joined": np.array([0, 0, 6]), "zero": np.array([0]),
        "one": np.array([1]), "two": np.array([2]), "axes": np.array([1, 2]),
        "single": np.float32(1), "large": np.float32(1e4), "first": np.array(0),
    },
)  # fmt: skip
"""Embeddings of words and places, masked attention over the sequence, and the first token."""

MASKED = (
    [
        node("MatMul", ["x", "q"], ["queries"]),
        node("Transpose", ["x"], ["t"], perm=[0, 2, 1]),
        node("MatMul", ["queries", "t"], ["scores"]),
        node("Add", ["scores", "mask"], ["masked"]),
        node("Softmax", ["masked"], ["shares"], axis=-1),
        node("MatMul", ["shares", "x"], ["y"]),
    ],
    {"x": ("batch", "sequence", 6), "mask": ("batch", "sequence", "sequence")},
    {"q": array(6, 6)},
)
"""Attention whose mask has the sequence in two axes."""

ROWS_READ_BY_OTHERS = {
    "softmax": [node("Softmax", ["x"], ["y"], axis=0)],
    "products of rows": [node("Transpose", ["x"], ["t"]), node("MatMul", ["x", "t"], ["y"])],
    "product over rows": [node("Transpose", ["x"], ["t"]), node("MatMul", ["t", "x"], ["y"])],
    "maximum": [node("ReduceMax", ["x"], ["m"], axes=[0]), node("Sub", ["x", "m"], ["y"])],
    "least": [node("ReduceMin", ["x"], ["y"], axes=[0])],
    "sum": [node("ReduceSum", ["x", "rows"], ["m"]), node("Div", ["x", "m"], ["y"])],
    "first": [node("Gather", ["x", "one"], ["f"]), node("Sub", ["x", "f"], ["y"])],
    "of infinities": [node("Log", ["x"], ["l"]), node("Softmax", ["l"], ["s"], axis=0),
                      node("Transpose", ["x"], ["t"]), node("MatMul", ["t", "s"], ["y"])],
}  # fmt: skip
NUMBERS = {"rows": np.array([0]), "one": np.array([0])}


@pytest.fixture(scope="module")
def encoder(make_model):
    made = make_model(*ENCODER, outputs=("y", "pooled"), opset=17)
    made.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    return made


@pytest.fixture(scope="module")
def of_encoder(encoder):
    return compiled(encoder, batch="1..3", sequence="1..21")


def test_an_encoder_answers_every_length_in_fewer_buckets(of_encoder, encoder, caplog):
    batch, sequence = of_encoder.dimensions.each
    assert (batch.independent, sequence.independent) == (True, False)
    lengths = {sizes[1] for sizes in of_encoder.networks}
    assert lengths == {*sequence.sizes.buckets(finely=True)}
    assert_right(of_encoder, encoder, pairs((1, 2, 3), range(1, 22)))
    assert "no batch" not in caplog.text
    assert [*of_encoder.inputs] == ["ids", "mask"]


def test_what_ran_before_in_rows_that_are_not_given_changes_nothing(make_model):
    attended = make_model(*MASKED, opset=17)
    network = compiled(attended, batch="1..2", sequence="9..12")
    worst = {name: np.full(spec.shape, np.nan, np.float32) for name, spec in network.inputs.items()}
    for value in (np.nan, np.inf, -np.inf):
        for one in worst.values():
            one.fill(value)
        network.run(worst)
        assert_right(network, attended, pairs((1, 2), (9, 11)))


def test_kernels_leave_out_rows_that_no_mask_fills(encoder):
    network = compiled(encoder, batch="2", sequence="9..12")
    assert network.least_seconds
    assert_right(network, encoder, pairs((2,), (12, 9, 10, 11)))


def test_show_tells_the_table_and_the_inputs_of_the_network(encoder, tmp_path, capsys):
    network = compiled(encoder, batch="2", sequence="9..12")
    network.save(tmp_path / "net")
    assert run(["network", "show", str(tmp_path / "net"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["table"] == [row.to_json(network.dimensions) for row in network.table]
    assert [one["name"] for one in told["inputs"]] == [*network.inputs]


def test_a_mask_of_n_by_n_is_cut_along_both(make_model, tmp_path, caplog):
    masked = make_model(*MASKED, outputs=("y", "masked"), opset=17)
    network = compiled(masked, batch="1..3", sequence="5..10")
    assert "no batch" not in caplog.text
    assert {sizes[1] for sizes in network.networks} < {*range(5, 11)}
    assert_right(network, masked, pairs((1, 3), range(5, 11)))
    for name, spec in (*network.inputs.items(), *network.outputs.items()):
        last = "sequence" if name.startswith("mask") else 6
        assert network.dimensions.text(name, spec) == f"float32[batch, sequence, {last}]"
    with pytest.raises(UsageError, match=r"expected float32\[2, 7, 7\], got float32\[2, 7, 2\]"):
        network.run({"x": array(2, 7, 6), "mask": array(2, 7, 2)})
    network.save(tmp_path / "net")
    assert_right(BucketedNetwork.load(tmp_path / "net"), masked, pairs((1, 3), (5, 9)))
    for wrong in ([[1, 1], [9, 1]], [[1, 1], [0, 1]], [], [1, 1], 3):
        network.save(tmp_path / "net")
        with forged_manifest(tmp_path / "net") as told:
            told["dimensions"][1]["rows"]["mask"] = wrong
        with pytest.raises(UsageError, match="the manifest is damaged"):
            BucketedNetwork.load(tmp_path / "net")


@pytest.mark.parametrize("nodes", ROWS_READ_BY_OTHERS.values(), ids=ROWS_READ_BY_OTHERS)
def test_rows_that_others_read_are_padded_where_a_mask_keeps_them_apart(make_model, nodes, caplog):
    read = {name for one in nodes for name in one.input}
    constants = {name: value for name, value in NUMBERS.items() if name in read}
    made = make_model(nodes, {"x": ("batch", 3)}, constants)
    network = compiled(made, batch="3..10")
    assert len(network.networks) < 8
    assert "no batch" not in caplog.text
    assert not network.dimensions.each[0].independent
    for _ in range(2):
        assert_right(network, made, [{"batch": size} for size in (10, 9, 4, 3)])


def test_they_never_run_as_several(make_model):
    made = make_model(ROWS_READ_BY_OTHERS["softmax"], {"x": ("batch", 3)})
    network = compiled(made, batch="3..10")
    cheap = {sizes: 1.0 if sizes[0] > 5 else 1e-6 for sizes in network.networks}
    apart = BucketedNetwork(network.dimensions, network.networks, cheap)
    assert all(len(row.runs) == 1 for row in apart.table)


def test_saved_loaded_and_pickled_it_answers_every_length(of_encoder, encoder, tmp_path):
    of_encoder.save(tmp_path / "net")
    with BucketedNetwork.load(tmp_path / "net") as again:
        for other in (again, pickle.loads(pickle.dumps(of_encoder))):
            assert_right(other, encoder, pairs((1, 3), (1, 6, 11, 21)))


def test_a_manifest_whose_masks_do_not_fit_is_refused_in_one_line(of_encoder, tmp_path):
    of_encoder.save(tmp_path / "net")

    def without_masks(told):
        told["buckets"][-1]["signature"].pop("masks")

    def other_mask(told):
        told["dimensions"][1]["mask"] = "ids"

    def of_floats(told):
        told["buckets"][-1]["signature"]["masks"] = ["mask"]

    def no_mask(told):
        del told["dimensions"][1]["mask"]

    def both(told):
        told["dimensions"][1]["independent"] = True

    for change in (without_masks, other_mask, of_floats, no_mask, both):
        of_encoder.save(tmp_path / "net")
        with forged_manifest(tmp_path / "net") as told:
            change(told)
        with pytest.raises(UsageError, match="the manifest is damaged"):
            BucketedNetwork.load(tmp_path / "net")


def test_a_pipeline_verifies_lengths_between_buckets_against_each_oracle(encoder, tmp_path):
    onnx.save(encoder, tmp_path / "encoder.onnx")
    dims = {"batch": "1..2", "sequence": "4..7"}
    network = {"import": {"model": str(tmp_path / "encoder.onnx"), "dims": dims}}
    for oracle in ("onnxruntime", "reference"):
        stages = [network, {"extract": {}}, {"compile": {}}, {"verify": {"oracle": oracle}}]
        file = {"version": 1, "name": "lengths", "target": "x86:threads=1", "stages": stages}
        (tmp_path / "run.yaml").write_text(json.dumps(file))
        report = tilewright.Pipeline.load(tmp_path / "run.yaml").run(out=tmp_path / oracle).report
        assert report["verify"]["passed"]


SIZE = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"])]
COMPUTED_WITH = {
    "a mean": (
        [node("ReduceMean", ["x"], ["m"], axes=[0]), node("Sub", ["x", "m"], ["y"])],
        {},
    ),
    "the size": (
        [*SIZE, node("Cast", ["n"], ["f"], to=TensorProto.FLOAT), node("Div", ["x", "f"], ["y"])],
        {"zero": np.array(0)},
    ),
    "a threshold": (
        [*SIZE, node("GreaterOrEqual", ["n", "ten"], ["g"]),
         node("Cast", ["g"], ["f"], to=TensorProto.FLOAT), node("Mul", ["x", "f"], ["y"])],
        {"zero": np.array(0), "ten": np.array(10)},
    ),
    "whether it is odd": (
        [*SIZE, node("Mod", ["n", "two"], ["g"]),
         node("Cast", ["g"], ["f"], to=TensorProto.FLOAT), node("Mul", ["x", "f"], ["y"])],
        {"zero": np.array(0), "two": np.array(2)},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("nodes", "constants"), COMPUTED_WITH.values(), ids=COMPUTED_WITH)
@pytest.mark.parametrize("sizes", ["8..10", "9..12", "1..2"])
def test_what_depends_on_the_size_is_found_in_ranges_of_few_buckets(
    make_model, nodes, constants, sizes
):
    made = make_model(nodes, {"x": ("batch", 3)}, constants, opset=17)
    network = compiled(made, batch=sizes)
    largest = max(network.networks)
    cheap = {one: 1e-6 if one == largest else 1.0 for one in network.networks}
    least, most = map(int, sizes.split(".."))
    every = [{"batch": size} for size in range(least, most + 1)]
    for one in (network, BucketedNetwork(network.dimensions, network.networks, cheap)):
        assert_right(one, made, every)


def test_one_row_may_run_as_two_where_they_are_alike(make_model):
    made = make_model([node("Softmax", ["x"], ["y"], axis=1)], {"x": ("batch", 3)})
    assert compiled(made, batch="1..2").dimensions.each[0].independent


INTEGERS = [node("Mul", ["x", "large"], ["h"]), node("Cast", ["h"], ["i"], to=TensorProto.INT64)]
UNDERSTOOD_LESS = {
    "the least of int64": (
        [*INTEGERS, node("ReduceMin", ["i"], ["m"], axes=[0]),
         node("Cast", ["m"], ["y"], to=TensorProto.FLOAT)],
        {"large": np.float32(100)},
    ),
    "integers of infinities": (
        [node("Softmax", ["x"], ["p"], axis=0), node("Log", ["p"], ["l"]),
         node("Mul", ["l", "large"], ["t"]), node("Cast", ["t"], ["i"], to=TensorProto.INT64),
         node("Cast", ["i"], ["j"], to=TensorProto.INT32),
         node("ReduceMax", ["j"], ["m"], axes=[0]),
         node("Cast", ["m"], ["y"], to=TensorProto.FLOAT)],
        {"large": np.float32(10)},
    ),
    "bits": (
        [*INTEGERS, node("BitwiseAnd", ["i", "seven"], ["b"]),
         node("Cast", ["b"], ["f"], to=TensorProto.FLOAT), node("Softmax", ["f"], ["y"], axis=0)],
        {"large": np.float32(100), "seven": np.array(7, np.int64)},
    ),
    "two rows beyond the last": (
        [node("Softmax", ["x"], ["p"], axis=0), node("Log", ["p"], ["l"]),
         node("Unsqueeze", ["l", "first"], ["a"]), node("Unsqueeze", ["l", "second"], ["b"]),
         node("Sub", ["a", "b"], ["t"]), node("ReduceMax", ["t"], ["r"], axes=[1], keepdims=0),
         node("Neg", ["r"], ["minus"]), node("Exp", ["minus"], ["e"]),
         node("ReduceSum", ["e", "first"], ["s"], keepdims=1), node("Sub", ["x", "s"], ["y"])],
        {"first": np.array([0]), "second": np.array([1])},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("nodes", "constants"), UNDERSTOOD_LESS.values(), ids=UNDERSTOOD_LESS)
def test_tails_that_are_not_understood_get_masks_or_networks(make_model, nodes, constants):
    opset = 18 if "seven" in constants else 17
    made = make_model(nodes, {"x": ("batch", 3)}, constants, opset=opset)
    assert_right(compiled(made, batch="5..8"), made, [{"batch": n} for n in (8, 5, 6, 7)])
