"""`tilewright schema`: one JSON Schema for the plugins installed."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tilewright_cli.terminal import shared_options as shared


@click.command()
@click.option("--run-json", is_flag=True, help="Print the schema of run.json instead.")
@shared.plugin_files
@shared.only_json
def schema(run_json: bool, plugin: tuple[Path, ...]) -> None:
    """Print the JSON Schema of pipeline files, for editors and checkers."""
    if run_json:
        from tilewright_pipeline.run.run_report import SCHEMA_FILE

        shared.print_json(json.loads(SCHEMA_FILE.read_text("utf-8")))
        return
    from tilewright_pipeline.yaml.schema import pipeline_schema

    shared.print_json(pipeline_schema(shared.load_host(plugin)))
