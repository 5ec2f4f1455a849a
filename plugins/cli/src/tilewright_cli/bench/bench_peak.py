"""`tilewright bench peak`: the peak performance of the hardware."""

from __future__ import annotations

from pathlib import Path

import click

from tilewright_cli.terminal import shared_options as shared


@click.command()
@shared.target
@click.option(
    "--threads", multiple=True, type=click.IntRange(1), help="Thread counts.  [1 and all]"
)
@shared.plugin_files
@shared.as_json
def peak(
    target: str | None, threads: tuple[int, ...], plugin: tuple[Path, ...], as_json: bool
) -> None:
    """Measure peak operations and memory bandwidth per second, by thread count and precision.

    Later runs compute their shares of peak from the highest figures measured so far.
    """
    from tilewright.errors import UsageError
    from tilewright_pipeline.context.device_peaks import measure_peaks

    host = shared.load_host(plugin)
    resolved = host.resolve_target(target)
    backend = host.backend(resolved.kind)
    devices = backend.probe()
    if not devices:
        raise UsageError(f"this machine has no device for the target {resolved}")
    counts = threads or tuple(sorted({1, resolved.threads}))
    rows = []
    for device in devices:
        for count in counts:
            # A target that names no threads is kept, and looked up, without them.
            same = count == resolved.threads
            asked = resolved if same else resolved.replace(threads=count)
            found = measure_peaks(backend, device, asked)
            for name, flops in {"float32": found.flops, **found.instructions}.items():
                precision, _, instruction = name.partition("/")
                rows.append(
                    {
                        "device": device.name,
                        "threads": count,
                        "precision": precision,
                        "instruction": instruction or None,
                        "gflops": flops / 1e9,
                        "gbytes_per_second": found.bandwidth / 1e9,
                    }
                )
    if as_json:
        shared.print_json({"target": str(resolved), "peaks": rows})
        return
    for row in rows:
        shared.say(
            f"{row['device']}  {row['threads']} threads  {row['gflops']:8.1f} GFLOP/s"
            f"  {row['gbytes_per_second']:7.1f} GB/s"
            f"  {row['precision']:8}  {row['instruction'] or ''}".rstrip()
        )
