"""D-30: ONNX models that are cut, claim what they do not hold, or ask for what nobody has."""

from __future__ import annotations

import os
import resource
from contextlib import suppress

import pytest

pytest.importorskip("tilewright_onnx")

from hostile_models import HOSTILE, WEIGHT, model, node, one, tensor
from onnx import TensorProto

from tilewright.errors import UsageError
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_onnx.model.model_file import load_model
from tilewright_onnx.reader import read_model

SECONDS, BYTES = 2, 500e6


def read(source, seed=None):
    return read_model(load_model(source)[1], NetworkBuilder("bad"), {}, seed)


@pytest.mark.parametrize("name", HOSTILE)
def test_d30_a_hostile_model_is_refused_soon_in_few_words(name, soon):
    with soon(SECONDS), pytest.raises(UsageError) as error:
        read(HOSTILE[name])
    assert error.value.where.startswith(("bad", "the model given"))
    assert len(str(error.value)) < 1000
    assert "as it stands here is not read" not in str(error.value)


def test_d30_drawing_weights_for_hostile_models_ends_in_no_traceback(soon):
    for hostile in HOSTILE.values():
        with soon(SECONDS), suppress(UsageError):
            read(hostile, seed=0)


def test_d30_none_of_them_takes_500_mb():
    def peak_bytes():
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    child = os.fork()
    if child == 0:
        code = 1
        try:
            before = peak_bytes()
            for hostile in HOSTILE.values():
                with suppress(UsageError):
                    read(hostile)
            code = int(peak_bytes() - before > BYTES)
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def test_d30_a_file_cut_anywhere_is_refused(tmp_path, soon):
    data = one("Conv", "w", constants=WEIGHT).SerializeToString()
    for end in range(0, len(data) - 1, 7):
        (tmp_path / "cut.onnx").write_bytes(data[:end])
        with soon(SECONDS), pytest.raises(UsageError):
            read(str(tmp_path / "cut.onnx"))


@pytest.mark.parametrize("claimed", [2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1])
def test_d30_a_field_that_claims_gigabytes_is_refused(claimed, soon):
    length = bytearray()
    while claimed:
        length.append(claimed & 0x7F | (0x80 if claimed >> 7 else 0))
        claimed >>= 7
    with soon(SECONDS), pytest.raises(UsageError, match="no ONNX model, or cut short"):
        read(b"\x08\x09\x3a" + bytes(length) + b"\x0a\x01")


def test_d30_a_file_too_large_is_not_read(tmp_path, soon):
    with (tmp_path / "large.onnx").open("wb") as file:
        file.truncate(2**40)
    with soon(SECONDS), pytest.raises(UsageError, match="at most 2147483647 are read"):
        read(str(tmp_path / "large.onnx"))


@pytest.mark.full
def test_d30_a_million_nodes_are_refused(tmp_path, soon):
    relu = [node("Relu", [f"t{n}"], [f"t{n + 1}"]) for n in range(1_000_000)]
    (tmp_path / "long.onnx").write_bytes(model(relu).SerializeToString())
    with soon(SECONDS), pytest.raises(UsageError, match="the model has 1000000 nodes"):
        read(str(tmp_path / "long.onnx"))


# --- external data -----------------------------------------------------------------------------

OUTSIDE = ["../secret", "../../secret", "/etc/passwd", "link", "linked/secret", ""]
TOLD_WRONGLY = [
    {"offset": "-8"},
    {"offset": "9"},
    {"offset": str(2**62)},
    {"offset": "many"},
    {"offset": "9" * 5000},
    {"length": "-1"},
    {"length": "4"},
    {"length": str(2**62)},
    {"length": "1e3"},
]


@pytest.fixture
def external(tmp_path, monkeypatch):
    """A function that reads a model whose weight of 8 bytes is external; and the files opened."""
    folder, opened = tmp_path / "models" / "one", []
    folder.mkdir(parents=True)
    (tmp_path / "secret").write_bytes(b"12345678")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "linked").symlink_to(tmp_path)
    (folder / "data").write_bytes(b"12345678")
    os.mkfifo(folder / "pipe")

    def watched(path):
        opened.append(path)
        return path.open("rb")

    monkeypatch.setattr("tilewright_onnx.model.model_file.open_file", watched)

    def read_with(dims=(2,), **told):
        weight = tensor(dims=dims, data_location=TensorProto.EXTERNAL)
        for key, value in told.items():
            weight.external_data.add(key=key, value=value)
        source = one("Add", "w", constants={"w": weight})
        (folder / "model.onnx").write_bytes(source.SerializeToString())
        return read(str(folder / "model.onnx"))

    return read_with, opened


def test_external_data_beside_the_model_is_what_its_weight_holds(external):
    network = external[0](location="data", offset="4", length="4", dims=(1,))
    assert b"5678" in [array.tobytes() for array in network.constants.values()]


@pytest.mark.parametrize("location", [*OUTSIDE, "pipe", "nothing", ".", "data\0", "x" * 5000])
def test_d30_no_file_outside_the_models_folder_is_opened(external, location, soon):
    read_with, opened = external
    with soon(SECONDS), pytest.raises(UsageError, match="external data of tensor 'w'"):
        read_with(location=location)
    assert opened == []


@pytest.mark.parametrize("told", TOLD_WRONGLY, ids=str)
def test_d30_external_data_of_another_size_is_refused(external, told, soon):
    read_with, opened = external
    with soon(SECONDS), pytest.raises(UsageError, match="external data of tensor 'w'"):
        read_with(location="data", **told)
    assert opened == []


@pytest.mark.parametrize("dims", [(2**62,), (2**29,), (-1,), (3,)])
def test_d30_external_data_that_is_not_there_in_full_is_refused(external, dims, soon):
    read_with, opened = external
    with soon(SECONDS), pytest.raises(UsageError):
        read_with(dims=dims, location="data")
    assert opened == []
