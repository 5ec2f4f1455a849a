"""Models as files: what is missing, cut or no model, data beside a model, and light models."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import evaluated, node

from tilewright.errors import UsageError
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_onnx.reader import read_model


def test_a_missing_file_is_named(frontend, tmp_path):
    with pytest.raises(UsageError, match=r"gone\.onnx: no such model file"):
        frontend.read(str(tmp_path / "gone.onnx"), {}, None)


def test_a_file_cut_at_any_byte_is_refused(frontend, make_model, tmp_path):
    data = make_model(
        [node("Add", ["x", "w"], ["y"])], {"x": (2, 3)}, {"w": np.ones(3, np.float32)}
    ).SerializeToString()
    path = tmp_path / "cut.onnx"
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(UsageError, match=r"cut\.onnx"):
            frontend.read(str(path), {}, None)


def test_a_file_that_is_no_model_is_refused(frontend, tmp_path):
    path = tmp_path / "text.onnx"
    path.write_text("version: 1\n")
    with pytest.raises(UsageError, match="no ONNX model"):
        frontend.read(str(path), {}, None)


def test_an_unknown_light_model_names_the_nearest(frontend):
    with pytest.raises(UsageError, match="did you mean 'resnet50'"):
        frontend.read("onnx-light:resnet5", {}, None)


def external_model(make_model, folder: Path, location: str) -> Path:
    model = make_model(
        [node("Add", ["x", "w"], ["y"])], {"x": (2, 3)}, {"w": np.float32([1, 2, 3])}
    )
    (tensor,) = model.graph.initializer
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", location
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_external_data_beside_the_model_is_read(frontend, make_model, tmp_path):
    path = external_model(make_model, tmp_path, "weights.bin")
    (tmp_path / "weights.bin").write_bytes(np.float32([1, 2, 3]).tobytes())
    network = frontend.read(str(path), {}, None)
    assert list(network.constants["w"]) == [1, 2, 3]


@pytest.mark.parametrize("location", ["../secret.bin", "/etc/hostname", "sub/../../secret.bin"])
def test_external_data_outside_the_folder_is_refused(frontend, make_model, tmp_path, location):
    (tmp_path / "secret.bin").write_bytes(np.float32([1, 2, 3]).tobytes())
    (tmp_path / "model" / "sub").mkdir(parents=True)
    path = external_model(make_model, tmp_path / "model", location)
    with pytest.raises(UsageError, match="outside the model's folder"):
        frontend.read(str(path), {}, None)


def test_external_data_behind_a_link_that_leads_out_is_refused(frontend, make_model, tmp_path):
    (tmp_path / "secret.bin").write_bytes(np.float32([1, 2, 3]).tobytes())
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights.bin").symlink_to(tmp_path / "secret.bin")
    path = external_model(make_model, tmp_path / "model", "weights.bin")
    with pytest.raises(UsageError, match="outside the model's folder"):
        frontend.read(str(path), {}, None)


def test_a_sparse_attribute_opens_no_file_in_the_current_folder(make_model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.arange(4, dtype=np.float32).tofile("values.bin")
    sparse = onnx.SparseTensorProto(dims=[4])
    sparse.indices.CopyFrom(numpy_helper.from_array(np.arange(4)))
    sparse.values.name, sparse.values.data_type = "values", TensorProto.FLOAT
    sparse.values.dims[:], sparse.values.data_location = [4], TensorProto.EXTERNAL
    sparse.values.external_data.add(key="location", value="values.bin")
    constant = helper.make_node("Constant", [], ["c"], sparse_value=sparse)
    model = make_model([constant, helper.make_node("Add", ["x", "c"], ["y"])], {"x": (4,)})
    with pytest.raises(UsageError, match=r"'sparse_value' is sparse; expected a dense tensor"):
        read_model(model, NetworkBuilder("model"), {})


def test_missing_external_data_is_named(frontend, make_model, tmp_path):
    path = external_model(make_model, tmp_path, "weights.bin")
    with pytest.raises(UsageError, match=r"missing: weights.bin"):
        frontend.read(str(path), {}, None)


# --- light models ---------------------------------------------------------------------------------------------------


def test_equal_seeds_give_equal_weights_and_others_do_not(frontend):
    first, again, other = (frontend.read("onnx-light:squeezenet", {}, seed) for seed in (1, 1, 2))
    assert first.source == again.source
    assert first.source != other.source


def test_a_seed_alone_replaces_weights_but_no_single_number(frontend, make_model, tmp_path):
    constants = {"w": np.float32([[1, 2], [3, 4], [5, 6]]), "six": np.float32(6)}
    nodes = [node("MatMul", ["x", "w"], ["p"]), node("Clip", ["p", "six"], ["y"])]
    model = make_model(nodes, {"x": (1, 3)}, constants)
    onnx.save(model, tmp_path / "own.onnx")
    own = frontend.read(str(tmp_path / "own.onnx"), {}, None)
    new = frontend.read(str(tmp_path / "own.onnx"), {}, 0)
    assert (evaluated(own) == [9, 12]).all()
    assert (evaluated(new) == 6).all()


def test_a_copied_light_model_reads_like_any_file(frontend, tmp_path):
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    shutil.copy(folder / "light_squeezenet.onnx", tmp_path / "mine.onnx")
    network = frontend.read(str(tmp_path / "mine.onnx"), {}, None)
    assert network.name == "mine"
    assert any((array == np.float32(0.02)).all() for array in network.constants.values())
