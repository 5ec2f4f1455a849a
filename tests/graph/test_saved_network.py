"""A compiled network as a folder: the same answers in a fresh process, and damage is told."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from compiling import compiled

from tilewright.errors import UsageError
from tilewright.vocabulary.target import Target
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.compiled.saved import saved_folder
from tilewright_graph.network.random_inputs import random_inputs


def test_a_saved_network_gives_the_same_answers_in_a_fresh_process(residual, context, tmp_path):
    network, _ = compiled(residual, context)
    inputs = random_inputs(residual, 4)
    (expected,) = network.run(inputs).values()
    network.save(tmp_path / "saved")
    np.save(tmp_path / "x.npy", inputs["x"])
    script = (
        "import sys, numpy as np\n"
        "from pathlib import Path\n"
        "from tilewright.host.plugin_host import PluginHost\n"
        "from tilewright_graph.compiled.compiled_network import CompiledNetwork\n"
        "folder, plugin = Path(sys.argv[1]), Path(sys.argv[2])\n"
        "network = CompiledNetwork.load(folder / 'saved', PluginHost.load([plugin]))\n"
        "(answer,) = network.run([np.load(folder / 'x.npy')]).values()\n"
        "np.save(folder / 'y.npy', answer)\n"
        "for heavy in ('onnx', 'onnxruntime', 'llvmlite', 'tilewright_graph.extraction.extraction', 'tilewright_pipeline.tuning.loop'):\n"
        "    assert heavy not in sys.modules, heavy\n"
    )
    plugin = context.host.files[0]
    subprocess.run([sys.executable, "-c", script, str(tmp_path), str(plugin)], check=True)
    assert (np.load(tmp_path / "y.npy") == expected).all()


def test_saving_again_replaces_the_folder_and_leaves_nothing_beside(residual, context, tmp_path):
    network, _ = compiled(residual, context)
    network.save(tmp_path / "out" / "saved")
    (tmp_path / "out" / "saved" / "stray").write_text("x")
    network.save(tmp_path / "out" / "saved")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["saved"]
    assert sorted(p.name for p in (tmp_path / "out" / "saved").iterdir()) == [
        "code", "constants", "manifest.json",
    ]  # fmt: skip


def test_the_current_folder_may_be_the_place(residual, context, tmp_path, monkeypatch):
    network, _ = compiled(residual, context)
    inputs = random_inputs(residual, seed=0)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    network.save(".")
    loaded = CompiledNetwork.load(tmp_path / "here", context.host)
    assert all((loaded.run(inputs)[k] == v).all() for k, v in network.run(inputs).items())


def test_a_device_is_given_or_named(residual, context, tmp_path):
    network, _ = compiled(residual, context)
    network.save(tmp_path / "saved")
    inputs = random_inputs(residual, seed=0)
    for device in (context.device, context.device.name):
        loaded = CompiledNetwork.load(str(tmp_path / "saved"), context.host, device)
        assert all((loaded.run(inputs)[k] == v).all() for k, v in network.run(inputs).items())
    with pytest.raises(UsageError, match=r"no device 'dask' for paper\n  did you mean 'desk'"):
        CompiledNetwork.load(tmp_path / "saved", context.host, "dask")


def test_a_folder_that_holds_something_else_is_not_replaced(residual, context, tmp_path):
    network, _ = compiled(residual, context)
    (tmp_path / "thesis").mkdir()
    network.save(tmp_path / "thesis")
    (tmp_path / "thesis" / "manifest.json").write_text('{"name": "an app", "version": 1}')
    with pytest.raises(UsageError, match="thesis: exists and is no saved network"):
        network.save(tmp_path / "thesis")
    (tmp_path / "thesis" / "manifest.json").unlink()
    with pytest.raises(UsageError, match="thesis: exists and is no saved network"):
        network.save(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "code").is_file()


@pytest.mark.parametrize("name", ["code", "constants", "manifest.json"])
def test_a_changed_byte_anywhere_is_refused(residual, context, tmp_path, name):
    network, _ = compiled(residual, context)
    network.save(tmp_path / "saved")
    path = tmp_path / "saved" / name
    content = path.read_bytes()
    for position in range(0, len(content), max(1, len(content) // 23)):
        changed = bytearray(content)
        changed[position] ^= 4
        path.write_bytes(changed)
        if name == "manifest.json" and _same_json(content, bytes(changed)):
            continue
        with pytest.raises(UsageError, match=r"changed|damaged|format"):
            CompiledNetwork.load(tmp_path / "saved", context.host)


def _same_json(first: bytes, second: bytes) -> bool:
    """A changed blank says the same."""
    try:
        return json.loads(first) == json.loads(second)
    except ValueError:
        return False


def test_a_file_that_cannot_be_read_to_its_end_is_told(residual, context, tmp_path, monkeypatch):
    network, _ = compiled(residual, context)
    network.save(tmp_path / "saved")
    for error, message in (
        (OSError(errno.EIO, "Input/output error"), r"saved: no saved network: Input/output error"),
        (MemoryError(), "saved: there is not enough memory"),
    ):

        def read(_path, error=error):
            raise error

        monkeypatch.setattr(saved_folder, "_read_block", read)
        with pytest.raises(UsageError, match=message):
            CompiledNetwork.load(tmp_path / "saved", context.host)


def test_a_folder_that_nothing_can_be_called_is_told(residual, context, tmp_path):
    network, _ = compiled(residual, context)
    with pytest.raises(UsageError, match="n: the compiled network: File name too long"):
        network.save(tmp_path / ("n" * 300))


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (OSError(errno.EIO, "Input/output error"), UsageError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
    ids=["error", "Ctrl-C"],
)
def test_a_network_is_there_whatever_becomes_of_the_move(
    residual, context, tmp_path, monkeypatch, error, raised
):
    network, _ = compiled(residual, context)
    network.save(tmp_path / "saved")
    move, rename = [], Path.rename

    def failing(self, target):
        move.append(self)
        if len(move) == 2:
            raise error
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(raised):
        network.save(tmp_path / "saved")
    CompiledNetwork.load(tmp_path / "saved", context.host)
    assert [path.name for path in tmp_path.iterdir() if "saved" in path.name] == ["saved"]


def test_a_missing_or_cut_file_is_refused(residual, context, tmp_path):
    with pytest.raises(UsageError, match="no saved network"):
        CompiledNetwork.load(tmp_path / "nowhere", context.host)
    network, _ = compiled(residual, context)
    network.save(tmp_path / "saved")
    (tmp_path / "saved" / "constants").unlink()
    with pytest.raises(UsageError, match="no saved network"):
        CompiledNetwork.load(tmp_path / "saved", context.host)


def test_an_artefact_that_the_device_cannot_run_is_refused(residual, context, tmp_path):
    with pytest.raises(UsageError, match="takes fine grain"):
        compiled(residual, context, target=Target("paper", {"grain": "coarse"}))
