"""Models whose dimensions have names: sizes, ranges, and every size of a range against ONNX Runtime."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime
import pytest
from forged_manifest import forged_manifest
from onnx import TensorProto, helper

import tilewright
from tilewright.errors import UsageError
from tilewright_graph.compiled.bucketed_network import BucketedNetwork
from tilewright_graph.compiled.compiled_network import CompiledNetwork

node = helper.make_node
RNG = np.random.default_rng(3)


def array(*shape: int) -> np.ndarray:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


CONVOLUTION = (
    [
        node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        node("GlobalAveragePool", ["c"], ["mean"]),
        node("Mul", ["c", "mean"], ["scaled"]),
        node("Flatten", ["scaled"], ["flat"]),
        node("Gemm", ["flat", "v", "b"], ["g"]),
        node("Softmax", ["g"], ["y"], axis=-1),
    ],
    {"x": ("batch", 3, 5, 5)},
    {"w": array(7, 3, 3, 3), "v": array(175, 5), "b": array(5)},
)
ATTENTION = (
    [
        node("Gather", ["table", "ids"], ["words"]),
        node("Add", ["words", "places"], ["x"]),
        node("MatMul", ["x", "q"], ["queries"]),
        node("Reshape", ["queries", "heads"], ["split"]),
        node("Transpose", ["split"], ["h"], perm=[0, 2, 1, 3]),
        node("Transpose", ["split"], ["t"], perm=[0, 2, 3, 1]),
        node("MatMul", ["h", "t"], ["scores"]),
        node("Softmax", ["scores"], ["shares"], axis=-1),
        node("MatMul", ["shares", "h"], ["mixed"]),
        node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
        node("Reshape", ["back", "joined"], ["rows"]),
        node("LayerNormalization", ["rows", "s"], ["y"], axis=-1),
    ],
    {"ids": ("batch", 4)},
    {
        "table": array(9, 6), "places": array(1, 4, 6), "q": array(6, 6), "s": array(6),
        "heads": np.array([0, 4, 2, 3]), "joined": np.array([-1, 4, 6]),
    },
)  # fmt: skip
RECURRENT = (
    [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "one"], ["count"]),
        node("Concat", ["head", "count", "tail"], ["extents"], axis=0),
        node("ConstantOfShape", ["extents"], ["start"]),
        node("LSTM", ["x", "W", "R", "", "", "start", "start"], ["states"], hidden_size=3),
        node("Squeeze", ["states", "one"], ["y"]),
    ],
    {"x": (4, "batch", 2)},
    {
        "W": array(1, 12, 2), "R": array(1, 12, 3), "one": np.array([1]),
        "head": np.array([1]), "tail": np.array([3]),
    },
)  # fmt: skip


@pytest.fixture
def model(make_model):
    """A function that makes a model of these parts; `ids` are whole numbers."""

    def make(parts):
        made = make_model(*parts, opset=17)
        for value in made.graph.input:
            if value.name == "ids":
                value.type.tensor_type.elem_type = TensorProto.INT64
        return made

    return make


def compiled(model, sizes, **options):
    importing = {"model": model, "dims": {"batch": sizes}, **options}
    return tilewright.compile(importing, target="x86:threads=1")


def given(model, size):
    (value,) = model.graph.input
    shape = [dim.dim_value or size for dim in value.type.tensor_type.shape.dim]
    whole = value.type.tensor_type.elem_type == TensorProto.INT64
    return {
        value.name: RNG.integers(0, 9, shape) if whole else RNG.uniform(-1, 1, shape).astype("f")
    }


def assert_right(network, model, sizes):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for size in sizes:
        inputs = given(model, size)
        (expected,) = session.run(["y"], inputs)
        answer = network.run(inputs)["y"]
        assert answer.shape == expected.shape
        np.testing.assert_allclose(answer, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("parts", "sizes"),
    [(CONVOLUTION, (1, 2, 3, 4, 6, 7)), (ATTENTION, (3, 4, 6, 7)), (RECURRENT, (4, 5))],
    ids=["convolution", "attention", "recurrent"],
)
def test_every_size_of_a_range_is_answered_as_by_onnx_runtime(model, parts, sizes):
    made = model(parts)
    network = compiled(made, f"{sizes[0]}..{sizes[-1]}")
    assert tuple(network.networks) == tuple((size,) for size in sizes)
    assert_right(network, made, range(sizes[0], sizes[-1] + 1))


def test_a_size_that_is_faster_as_several_runs_in_them_one_after_the_other(model):
    made = model(CONVOLUTION)
    network = compiled(made, "1..8")
    slow = {(size,): 1e-2 * size - 1e-6 * size**2 for (size,) in network.networks}
    apart = BucketedNetwork(network.dimensions, network.networks, slow)
    assert network.networks[6,].parts()[0].metadata["rows"] == (6,)
    assert [sorted(apart.runs_as((size,))) for size in (5, 7)] == [[(1,), (4,)], [(1,), (6,)]]
    assert_right(apart, made, range(1, 9))


def test_threads_that_share_a_range_get_their_own_answers(model):
    made = model(CONVOLUTION)
    network = compiled(made, "5..7")
    asked = [given(made, size) for size in (5, 6, 5, 7)]
    expected = [network.run(inputs)["y"] for inputs in asked]

    def right(number):
        answers = (network.run(asked[number])["y"] for _ in range(100))
        return all(np.array_equal(answer, expected[number]) for answer in answers)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(right, range(4)))


def test_saved_loaded_copied_and_pickled_it_answers_every_size(model, tmp_path):
    made = model(CONVOLUTION)
    with compiled(made, "5..7") as network:
        assert list(network.networks) == [(6,), (7,)]
        network.save(tmp_path / "net")
        again = BucketedNetwork.load(tmp_path / "net")
        assert str(again) == str(network)
        for other in (again, copy.copy(network), pickle.loads(pickle.dumps(network))):
            assert_right(other, made, (5, 6, 7))


def test_a_folder_of_the_other_kind_or_with_other_rows_is_refused_in_one_line(model, tmp_path):
    compiled(model(CONVOLUTION), "6..7").save(tmp_path / "net")
    with pytest.raises(
        UsageError, match=r"expected 1\n  it holds a BucketedNetwork: .*\.load reads"
    ):
        CompiledNetwork.load(tmp_path / "net")
    for rows in ({"x": [4, 1]}, {"x": [0, 2]}, {"y": [0, 1]}, {"z": [0, 1]}, {"x": [-1, 1]}, {}):
        with forged_manifest(tmp_path / "net") as told:
            told["dimensions"][0]["rows"] = rows
        with pytest.raises(UsageError, match="the manifest is damaged"):
            BucketedNetwork.load(tmp_path / "net")


def test_buckets_share_the_weights_that_their_configs_make_the_same_of(model):
    made = model(CONVOLUTION)
    network, alone = compiled(made, "3..7"), compiled(made, 7)
    blocks = {id(one.parts()[1]) for one in network.networks.values()}
    assert (len(network.networks), len(blocks)) == (4, 1)
    assert network.constant_bytes < 2 * alone.parts()[1].nbytes


@pytest.mark.parametrize("size", [0, 8])
def test_a_size_outside_of_the_range_is_told_with_the_range(model, size):
    network = compiled(model(CONVOLUTION), "6..7")
    with pytest.raises(UsageError, match=rf"batch is {size}, expected 6\.\.7\n  .*--dim batch="):
        network.run(np.zeros((size, 3, 5, 5), np.float32))


def test_inputs_that_disagree_or_lack_an_axis_are_refused(make_model):
    parts = [node("Add", ["x", "z"], ["y"])], {"x": ("batch", 2), "z": ("batch", 2)}
    network = compiled(make_model(*parts), "5..6")
    with pytest.raises(UsageError, match=r"input 'z': expected float32\[5, 2\], got .*\[6, 2\]"):
        network.run([np.zeros((5, 2), np.float32), np.zeros((6, 2), np.float32)])
    with pytest.raises(UsageError, match=r"input 'x': expected float32\[batch, 2\], got .*\[5\]"):
        network.run([np.zeros(5, np.float32), np.zeros((5, 2), np.float32)])


def test_one_size_gives_a_network_of_that_size(model):
    network = compiled(model(CONVOLUTION), 3)
    assert isinstance(network, CompiledNetwork)
    assert network.inputs["x"].shape == (3, 3, 5, 5)


MEETING = {
    "flattened": [
        node("Transpose", ["x"], ["t"]), node("Flatten", ["t"], ["f"], axis=0),
        node("Softmax", ["f"], ["y"], axis=1, name="mean"),
    ],
    "shifted": [node("Pad", ["x", "margins"], ["p"], name="mean"), node("Slice", ["p", "from", "to"], ["s"]),
                node("Add", ["x", "s"], ["y"])],
    "last": [node("Slice", ["x", "last", "end"], ["l"], name="mean"), node("Sub", ["x", "l"], ["y"])],
}  # fmt: skip
NUMBERS = {
    "margins": np.array([1, 0, 0, 0]), "from": np.array([0, 0]), "to": np.array([-1, 9]),
    "last": np.array([-1]), "end": np.array([9999]),
}  # fmt: skip


@pytest.mark.parametrize("nodes", MEETING.values(), ids=MEETING)
def test_rows_that_meet_get_a_network_for_each_size(make_model, nodes, caplog):
    read = {name for one in nodes for name in one.input}
    constants = {name: value for name, value in NUMBERS.items() if name in read}
    made = make_model(nodes, {"x": ("batch", 3)}, constants)
    network = compiled(made, "4..7")
    assert list(network.networks) == [(4,), (5,), (6,), (7,)]
    assert_right(network, made, range(4, 8))
    assert "batch is no batch: rows meet in node 'mean' (" in caplog.text
    with pytest.raises(UsageError, match=r"rows meet in node 'mean' .*\n  .* at most 128 sizes"):
        compiled(made, "4..140")


def test_a_mean_over_rows_gets_a_network_for_each_size(make_model, caplog):
    nodes = [
        node("ReduceMean", ["x"], ["m"], axes=[0], name="mean"),
        node("Sub", ["x", "m"], ["y"]),
    ]
    made = make_model(nodes, {"x": ("batch", 3)})
    network = compiled(made, "4..7")
    assert list(network.networks) == [(4,), (5,), (6,), (7,)]
    assert_right(network, made, range(4, 8))
    assert "batch is no batch: node 'mean' (reduce_mean) depends on the size" in caplog.text


def test_a_size_that_is_computed_with_is_no_batch(make_model, caplog):
    nodes = [
        node("Shape", ["x"], ["shape"]), node("Cast", ["shape"], ["f"], to=TensorProto.FLOAT),
        node("Div", ["x", "f"], ["y"], name="over"),
    ]  # fmt: skip
    made = make_model(nodes, {"x": ("batch", 2)})
    network = compiled(made, "4..7")
    assert_right(network, made, range(4, 8))
    assert "node 'over' (divide) reads numbers that depend on the size" in caplog.text


def test_dimensions_that_cannot_be_given_are_told(model, make_model):
    made = model(CONVOLUTION)
    with pytest.raises(UsageError, match=r"no dimension named 'bach'\n  did you mean 'batch'"):
        tilewright.compile({"model": made, "dims": {"bach": "1..3"}})
    for text in ("0..3", "4..3", "x", "1..", True):
        with pytest.raises(UsageError, match=r"dims"):
            compiled(made, text)
    given = {"model": made, "dims": {"batch": "1..3"}, "shapes": {"x": [2, 3, 5, 5]}}
    with pytest.raises(UsageError, match=r"'batch'\n  leave out the shape of 'x', which says its"):
        tilewright.compile(given)
    with pytest.raises(UsageError, match="that 'zoo' reads name no dimensions"):
        tilewright.compile({"model": "zoo:perceptron", "dims": {"batch": 2}})
