"""`tilewright record-untuned FOLDER`: what a saved network would gain by tuning."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tilewright_cli.terminal import shared_options as shared
from tilewright_graph.cli import opened


@click.command()
@opened.folder
@click.option("--out", type=shared.NAMED_FILE, metavar="FILE.json", help="For `tilewright tune`.")
@shared.plugin_files
@shared.as_json
def record_untuned(
    *, folder: Path, out: Path | None, plugin: tuple[Path, ...], as_json: bool
) -> None:
    """List the kernels of a saved network whose configs rest on no measurement.

    FOLDER is what `compile` saved, or the folder of its run. `tilewright tune FILE.json` tunes
    what is in the file, on a machine of the target; the network is then to be compiled anew.
    """
    from tilewright_graph.compiled.saved.saved_untuned import saved_untuned
    from tilewright_pipeline.writing import check_file, writing_file

    host = shared.load_host(plugin)
    target, workloads = saved_untuned(opened.saved_folder(folder))
    tasks = [
        {
            "key": workload.key,
            "text": host.reference(workload.operator).format(workload),
            "workload": workload.to_json(),
        }
        for workload in workloads
    ]
    told = {"target": target, "tasks": tasks}
    if out is not None:
        check_file(out, "--out")
        with writing_file(out, "the tasks"):
            out.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    if as_json:
        shared.print_json(told)
        return
    for task in tasks:
        shared.say(f"{task['key']}  {task['text']}")
    if not tasks:
        shared.say("every kernel's config was measured")
    elif out is not None:
        shared.say(f"tilewright tune {out} --records FILE tunes them", err=True)
