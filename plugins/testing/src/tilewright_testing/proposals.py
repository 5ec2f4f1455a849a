"""What a tuner proposes on the landscape, a config a line: NAME, OPTIONS in JSON, plugin files.

Run in fresh processes with different hash seeds, whose output must not differ.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tilewright.host.plugin_host import PluginHost
from tilewright_testing.support.landscape import Landscape
from tilewright_testing.tuner import context_for, run

if __name__ == "__main__":
    name, options, *files = sys.argv[1:]
    host = PluginHost.load([Path(file) for file in files])
    landscape = Landscape()
    tuner = host.make("tuner", name, json.loads(options), context_for(landscape, host))
    for config in run(tuner, landscape, 48):
        sys.stdout.write(f"{config.text}\n")
