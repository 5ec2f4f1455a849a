"""`tilewright bench tuners`: which tuner finds fast configs in the fewest trials."""

from __future__ import annotations

from pathlib import Path

import click

from tilewright_cli.terminal import shared_options as shared


@click.command()
@click.option(
    "--tuners",
    "names",
    metavar="NAME,...",
    help="Names, {NAME: {option: value}}, or peers: optuna:tpe, kernel_tuner:NAME.  [all of ours]",
)
@shared.recorded_spaces
@click.option("--baseline", default="random", show_default=True, help="What others are held to.")
@click.option("--seeds", type=click.IntRange(1), default=20, show_default=True)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=2000,
    show_default=True,
    help="Trials after which a search ends.",
)
@click.option("--html", type=shared.NAMED_FILE, help="Write a page with plots.")
@click.option(
    "--json",
    "data",
    type=shared.NAMED_FILE,
    is_flag=False,
    flag_value="-",
    help="Write one JSON object, without a file to stdout.",
)
@shared.plugin_files
def tuners(
    *,
    names: str | None,
    spaces: str | None,
    baseline: str,
    seeds: int,
    limit: int,
    html: Path | None,
    data: Path | None,
    plugin: tuple[Path, ...],
) -> None:
    """Compare tuners on recorded spaces, without hardware.

    For each space and tuner: trials until within 10, 5, 2 and 1 % of the best, medians over seeds.
    A search ends within 1 %.
    """
    import json

    from tilewright.options import Choice
    from tilewright_cli.terminal.choice_text import choice_of, choices_of
    from tilewright_pipeline.writing import check_file, writing_file
    from tilewright_search.cli.named_searches import named_searches
    from tilewright_search.cli.recorded_spaces import recorded_spaces
    from tilewright_search.cli.searches.comparison import Comparison
    from tilewright_search.cli.searches.page import page

    alone = data is not None and str(data) == "-"
    files = {"--html": html, "--json": None if alone else data}
    for option, path in files.items():
        if path is not None:
            check_file(path, option)
    host = shared.load_host(plugin)
    ours = [Choice(name) for name in host.components("tuner")]
    chosen = ours if names is None else choices_of("--tuners", names)
    searches = named_searches(host, chosen, choice_of("--baseline", baseline))
    comparison = Comparison(recorded_spaces(spaces), searches, seeds, limit)
    for lines in comparison.play():
        if not alone:
            shared.say("\n".join(lines))
    if alone:
        shared.print_json(comparison.to_json())
    texts = {
        "--html": lambda: page(comparison),
        "--json": lambda: json.dumps(comparison.to_json(), indent=2) + "\n",
    }
    for option, path in files.items():
        if path is not None:
            with writing_file(path, option):
                path.write_text(texts[option](), encoding="utf-8")
