"""Networks in service: seconds to load a saved one, and the memory that a process with it needs.

    uv run python benchmarks/service.py [--networks resnet50,vgg19] [--rounds 5] [--save]

Each network is compiled untuned for two threads and saved; ONNX Runtime gets the same as a file.
Then processes take turns: each imports, loads, runs four times, and says how long loading took,
imports apart, and the most memory it had, all of Python included. Medians of the rounds, of files
that are in memory already.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from networks import read
from result_data import Row
from saving import add_save_options, save

import tilewright
from tilewright.host.plugin_host import PluginHost
from tilewright_onnx.model.writer import write_model

NETWORKS = ("resnet50", "densenet121", "inception_v1", "squeezenet", "vgg19")
THREADS = 2
RUN = """
import json, sys, time
import numpy as np
{imports}
start = time.perf_counter()
{load}
seconds = time.perf_counter() - start
for _ in range(4):
    {run}
status = open("/proc/self/status").read()
print(json.dumps([seconds, int(status.partition("VmHWM:")[2].split()[0]) / 1024]))
"""
OURS = RUN.format(
    imports="from tilewright_graph.compiled.compiled_network import CompiledNetwork",
    load="network = CompiledNetwork.load(sys.argv[1])",
    run="network.run([np.zeros(s.shape, s.dtype) for s in network.inputs.values()])",
)
PEER = RUN.format(
    imports="import onnxruntime",
    load=f"""options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.log_severity_level = {THREADS}, 3
session = onnxruntime.InferenceSession(sys.argv[1], options)""",
    run="session.run(None, {i.name: np.zeros(i.shape, np.float32) for i in session.get_inputs()})",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--networks", default=",".join(NETWORKS), help="of the onnx package")
    parser.add_argument("--rounds", type=int, default=5)
    add_save_options(parser)
    options = parser.parse_args()
    host = PluginHost.load()
    loading, memory = [], []
    print("| network | load s | ONNX Runtime s | MB | ONNX Runtime MB |\n|---|---|---|---|---|")
    for name in options.networks.split(","):
        with tempfile.TemporaryDirectory() as folder:
            ours, peer = Path(folder) / "network", Path(folder) / "model.onnx"
            network = read(name, host)
            peer.write_bytes(write_model(network).SerializeToString())
            made = tilewright.compile(
                network, target=f"x86:threads={THREADS}", records=f"{folder}/none.jsonl"
            )
            made.save(ours)
            pairs = [(told(OURS, ours), told(PEER, peer)) for _ in range(options.rounds)]
        seconds, peers_seconds = (median(one[side][0] for one in pairs) for side in (0, 1))
        most, peers_most = (median(one[side][1] for one in pairs) for side in (0, 1))
        print(
            f"| {name} | {seconds:.3f} | {peers_seconds:.3f} | {most:.0f} | {peers_most:.0f} |",
            flush=True,
        )
        loading.append(Row(case=name, ours=seconds * 1e3, peer=peers_seconds * 1e3))
        memory.append(Row(case=name, ours=most, peer=peers_most))
    save(options, "loading", loading, packages=["onnxruntime"])
    save(options, "memory", memory, packages=["onnxruntime"])


def told(program: str, file: Path) -> tuple[float, float]:
    """(seconds of loading, megabytes at most) of a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program, str(file)], check=True, stdout=subprocess.PIPE, text=True
    )
    seconds, megabytes = json.loads(done.stdout.splitlines()[-1])
    return seconds, megabytes


if __name__ == "__main__":
    main()
