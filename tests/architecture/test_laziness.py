"""Nothing heavy is loaded before it is used; proved in fresh interpreters."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {
    "cryptography",
    "dask",
    "distributed",
    "numpy",
    "llvmlite",
    "pydantic",
    "xgboost",
    "onnx",
    "onnxruntime",
    "openvino",
    "pulp",
    "pytest",
    "scipy",
}

LOADED = (
    "import json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
)
COMMANDS = {
    "import tilewright": "import tilewright",
    "import of every plugin": (
        "from importlib.metadata import entry_points\n"
        "plugins = entry_points(group='tilewright')\n"
        "assert len(plugins) >= 6\n"
        "[plugin.load() for plugin in plugins]"
    ),
    "PluginHost.load": "from tilewright.host.plugin_host import PluginHost; PluginHost.load()",
    "list of all components": (
        "from tilewright.host.plugin_host import PluginHost\n"
        "host = PluginHost.load()\n"
        "roles = 'target tuner builder runner scheduler stage cost_model'.split()\n"
        "assert all(host.components(role) for role in roles)"
    ),
    "tilewright --help": (
        "import contextlib, io, sys\n"
        "from tilewright_cli import main\n"
        "sys.argv[1:] = ['--help']\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    main()"
    ),
    "tilewright plugins": (
        "import contextlib, io, sys\n"
        "from tilewright_cli import main\n"
        "sys.argv[1:] = ['plugins']\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    main()"
    ),
}


@pytest.mark.parametrize("action", sorted(COMMANDS))
def test_nothing_heavy_is_loaded_by(action: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{COMMANDS[action]}\n{LOADED}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert HEAVY & set(json.loads(done.stdout.splitlines()[-1])) == set()
