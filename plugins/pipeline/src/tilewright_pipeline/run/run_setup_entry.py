"""What a run was set up with: the member `setup` of run.json."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from tilewright.options import Choice
from tilewright.plugins.loading.distributions import CORE, is_installed, known_distributions
from tilewright_pipeline.context.run_context import RunContext

_NAME = re.compile(r"[A-Za-z0-9._-]+")


def setup_entry(context: RunContext, started: datetime) -> dict[str, Any]:
    """What it takes, besides target and stages, to do the run again and to read its records.

    Paths are as seen from the run's folder, so that both may move together.
    """
    plugins = [_from(context.folder, file) for file in context.host.files]
    return {
        "started": started.isoformat(timespec="seconds"),
        "seed": context.seed,
        "precision": context.host.precision,
        "strategies": context.strategies,
        "conditions": context.conditions.to_json(),
        "runner": Choice(*context.runner).short_form(),
        "builder": Choice(*context.builder).short_form(),
        "records": _from(context.folder, context.store.path),
        **({"record_store": context.record_store.short_form()} if context.record_store else {}),
        **({"frozen": context.frozen} if context.frozen else {}),
        **({"packs": [pack.to_json() for pack in context.packs]} if context.packs else {}),
        **({"device": context.named_device} if context.named_device else {}),
        **({"plugins": plugins} if plugins else {}),
        "versions": {"python": platform.python_version(), **_versions()},
    }


@cache
def _versions() -> Mapping[str, str]:
    """Of our distributions that are installed, and of what these ask for by name: peers, LLVM."""
    ours = [CORE, *(one for one in known_distributions() if is_installed(one))]
    asked = (text for one in ours for text in requires(one) or ())
    others = {found[0] for text in asked if (found := _NAME.match(text))}
    known = dict.fromkeys([*ours, *sorted(others)])
    return {name: told for name in known if (told := _version(name)) is not None}


def _version(name: str) -> str | None:
    """None of what is not there, as it is optional."""
    with suppress(PackageNotFoundError):
        return version(name)
    return None


def _from(folder: Path, file: Path) -> str:
    return os.path.relpath(os.path.abspath(file), os.path.abspath(folder))  # noqa: PTH100  links stay
