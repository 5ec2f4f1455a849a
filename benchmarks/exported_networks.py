"""Networks exported by PyTorch, tuned for a little while each, beside ONNX Runtime.

    uv run python benchmarks/exported_networks.py --torch-python PATH [--budget 20s | --untuned]
        [--threads 2] [--only swin_t ...]

PATH is a Python that has torch, torchvision and onnxscript (torch 2.13.0 was used); it only exports
the networks of peers/torch_networks.py. Each is then tuned from nothing, or compiled with what
strategies advise, its answers are compared with ONNX Runtime's, and both are timed in turns in one
process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from result_data import Row
from saving import add_save_options, save

EXPORT = Path(__file__).parent / "peers" / "torch_networks.py"
PIPELINE = """
version: 1
name: {name}
target: {{kind: x86, threads: {threads}}}
records: {name}/records.jsonl
stages:
  - import:     {{frontend: onnx, model: {name}.onnx}}
  - extract:    {{}}
{tuning}  - compile:    {{}}
  - verify:     {{oracle: onnxruntime, rtol: 1.0e-4}}
  - benchmark:  {{peers: [onnxruntime]}}
"""


TUNING = """  - tune:       {{budget: {budget}}}
  - graph-tune: {{}}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--torch-python", required=True)
    parser.add_argument("--budget", default="20s")
    parser.add_argument("--untuned", action="store_true", help="what strategies advise, unmeasured")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="+", help="names, all where not given")
    add_save_options(parser)
    options = parser.parse_args()
    tuning = "" if options.untuned else TUNING.format(budget=options.budget)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.torch_python, str(EXPORT), folder], check=True)
        print("| network | tasks | trials | rel. error | ours ms | ONNX Runtime ms | ORT / ours |")
        print("|---|---|---|---|---|---|---|")
        for model in sorted(Path(folder).glob("*.onnx")):
            if not options.only or model.stem in options.only:
                rows.append(row(model, run(model, tuning, options.threads)))
                print(line(rows[-1]), flush=True)
    question = "exported_untuned" if options.untuned else "exported_networks"
    save(options, question, rows, packages=["onnxruntime"])


def run(model: Path, tuning: str, threads: int) -> dict:
    """run.json of a network."""
    tilewright = Path(sys.executable).with_name("tilewright")
    path = model.with_suffix(".yaml")
    path.write_text(PIPELINE.format(name=model.stem, threads=threads, tuning=tuning), "utf-8")
    command = [str(tilewright), "run", path.name, "--out", model.stem, "--json"]
    done = subprocess.run(command, cwd=path.parent, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def row(model: Path, report: dict) -> Row:
    (entry,) = report["benchmark"]
    return Row(
        case=model.stem,
        ours=entry["tilewright"]["median_ms"],
        peer=entry["peers"]["onnxruntime"]["median_ms"],
        details={
            "tasks": len(report.get("tasks", ())),
            "trials": report.get("measurement", {"trials": 0})["trials"],
            "relative error": report["verify"]["max_rel_error"],
        },
    )


def line(row: Row) -> str:
    told = row.details
    return (
        f"| {row.case} | {told['tasks']:.0f} | {told['trials']:.0f} "
        f"| {told['relative error']:.1e} | {row.ours:.3g} | {row.peer:.3g} "
        f"| {row.peer / row.ours:.2f} |"
    )


if __name__ == "__main__":
    main()
