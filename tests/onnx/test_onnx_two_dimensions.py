"""Models two of whose dimensions have ranges: every pair of sizes against ONNX Runtime."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest
from forged_manifest import forged_manifest
from onnx import helper
from sized_models import array, assert_right, compiled, pairs

from tilewright.errors import UsageError
from tilewright_graph.compiled.bucketed_network import BucketedNetwork

node = helper.make_node

TOKENS = (
    [
        node("MatMul", ["x", "v"], ["mixed"]),
        node("Add", ["mixed", "x"], ["both"]),
        node("LayerNormalization", ["both", "s"], ["y"], axis=-1),
    ],
    {"x": ("batch", "sequence", 6)},
    {"v": array(6, 6), "s": array(6)},
)
"""A layer of each token by itself: both dimensions may be padded."""

AVERAGED = (
    [
        node("ReduceMean", ["x"], ["m"], axes=[1], name="average"),
        node("Sub", ["x", "m"], ["y"]),
    ],
    {"x": ("batch", "sequence", 6)},
)
"""A mean over the sequence: it divides by its length, so none may be padded."""


@pytest.fixture(scope="module")
def averaged(make_model):
    return make_model(*AVERAGED, outputs=("y", "m"))


@pytest.fixture(scope="module")
def tokens(make_model):
    return make_model(*TOKENS, opset=17)


@pytest.fixture(scope="module")
def of_tokens(tokens):
    return compiled(tokens, batch="4..6", sequence="9..12")


@pytest.fixture(scope="module")
def of_averaged(averaged):
    return compiled(averaged, batch="4..5", sequence="2..4")


def test_every_pair_of_sizes_is_answered_as_by_onnx_runtime_from_a_grid_of_buckets(
    of_tokens, tokens
):
    assert tuple(of_tokens.networks) == tuple(product((4, 6), (10, 12)))
    assert_right(of_tokens, tokens, pairs(range(4, 7), range(9, 13)))


def test_a_sequence_that_is_averaged_is_compiled_at_each_size_and_its_batch_is_padded(
    of_averaged, averaged
):
    batch, sequence = of_averaged.dimensions.each
    assert (batch.independent, sequence.independent) == (True, False)
    assert tuple(of_averaged.networks) == ((5, 2), (5, 3), (5, 4))
    assert_right(of_averaged, averaged, pairs((4, 5), (2, 3, 4)))
    told = {name: of_averaged.dimensions.text(name, s) for name, s in of_averaged.outputs.items()}
    assert told == {"y": "float32[batch, sequence, 6]", "m": "float32[batch, 1, 6]"}


def test_the_order_of_the_ranges_is_that_of_the_sizes(tokens):
    network = compiled(tokens, sequence="9..11", batch="4..5")
    assert str(network).startswith("sequence  batch  runs as  ms\n9..11     4..5   11x5")
    assert_right(network, tokens, pairs((4, 5), (9, 10, 11)))


def test_pairs_that_are_faster_as_several_runs_are_divided_along_the_first_that_may_be(
    of_tokens, tokens
):
    slow = {sizes: 1.0 if sizes[0] == 6 else 0.1 for sizes in of_tokens.networks}
    apart = BucketedNetwork(of_tokens.dimensions, of_tokens.networks, slow)
    assert apart.runs_as((5, 9)) == ((4, 10), (4, 10))
    assert_right(apart, tokens, pairs((5, 6), (9, 10, 11)))


def test_saved_loaded_and_pickled_it_answers_every_pair(of_averaged, averaged, tmp_path):
    of_averaged.save(tmp_path / "net")
    with BucketedNetwork.load(tmp_path / "net") as again:
        assert str(again) == str(of_averaged)
        for other in (again, pickle.loads(pickle.dumps(of_averaged))):
            assert_right(other, averaged, pairs((4, 5), (2, 3, 4)))


def test_a_folder_that_lacks_a_bucket_is_refused_in_one_line(of_averaged, tmp_path):
    of_averaged.save(tmp_path / "net")
    for lacking in ([5, 3], [5, 4]):
        with forged_manifest(tmp_path / "net") as told:
            told["buckets"] = [one for one in told["buckets"] if one["sizes"] != lacking]
        with pytest.raises(UsageError, match="the manifest is damaged"):
            BucketedNetwork.load(tmp_path / "net")


def test_a_size_outside_of_its_range_is_told_by_the_name_of_the_dimension(of_tokens):
    for shape, problem in (
        ((7, 9, 6), "batch is 7, expected 4..6"),
        ((4, 13, 6), "sequence is 13"),
    ):
        with pytest.raises(UsageError, match=problem):
            of_tokens.run(np.zeros(shape, np.float32))
    with pytest.raises(UsageError, match=r"float32\[batch, sequence, 6\], got one of shape \[3\]"):
        of_tokens.run(np.zeros(3, np.float32))


def test_rows_that_both_dimensions_count_get_a_network_for_each_pair(make_model, caplog):
    nodes = [node("Relu", ["x"], ["r"]), node("Reshape", ["r", "flat"], ["y"], name="flatten")]
    inputs = {"x": ("batch", "sequence", 6)}
    made = make_model(nodes, inputs, {"flat": np.array([-1, 6])})
    network = compiled(made, batch="4..5", sequence="9..10")
    assert tuple(network.networks) == tuple(product((4, 5), (9, 10)))
    assert_right(network, made, pairs((4, 5), (9, 10)))
    assert "sequence is no batch: rows of the result 'y' take turns" in caplog.text


def test_a_result_that_only_sizes_make_gets_a_network_for_each(make_model, caplog):
    nodes = [
        node("Relu", ["x"], ["y"]), node("Shape", ["x"], ["shape"]),
        node("ConstantOfShape", ["shape"], ["zeros"]),
    ]  # fmt: skip
    made = make_model(nodes, {"x": ("batch", 3)}, outputs=("y", "zeros"))
    network = compiled(made, batch="1..2")
    apart = BucketedNetwork(network.dimensions, network.networks, {(1,): 1e-3, (2,): 1.0})
    for one in (network, apart):
        assert_right(one, made, pairs((1, 2), (3,)))
    assert "batch is no batch: the shape of the result 'zeros'" in caplog.text


def test_more_networks_than_are_compiled_are_refused_with_what_would_do(averaged):
    with pytest.raises(UsageError) as refused:
        compiled(averaged, batch="1..8", sequence="1..40")
    problem, remedy = str(refused.value).splitlines()
    assert "batch=1..8, sequence=1..40: 240 networks, expected at most 128; sequence is" in problem
    assert "node 'average' (reduce_mean) depends on the size" in problem
    assert remedy == "  give sequence at most 21 sizes"


def test_sizes_that_the_model_cannot_have_are_told_with_what_was_read(make_model):
    nodes = [
        node("Shape", ["x"], ["shape"]), node("Slice", ["shape", "one", "two"], ["length"]),
        node("Slice", ["table", "zero", "length"], ["places"]), node("Add", ["x", "places"], ["y"]),
    ]  # fmt: skip
    numbers = {"zero": np.array([0]), "one": np.array([1]), "two": np.array([2])}
    inputs = {"x": ("batch", "sequence", 6)}
    made = make_model(nodes, inputs, {"table": array(40, 6), **numbers})
    with pytest.raises(UsageError, match=r"batch=2, sequence=41: graph: node "):
        compiled(made, batch="1..2", sequence="40..41")
