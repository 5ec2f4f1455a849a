"""What the distributions of this project bring, and how to install one that is not there."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tilewright.errors import UsageError

# Hooks, components, verbs and templates by distribution; a test compares it with the plugins.
FILE = Path(__file__).with_name("distributions.json")
CORE = "tilewright"


@cache
def known_distributions() -> Mapping[str, Mapping[str, Any]]:
    """By distribution: its `module`, `plugin`, `hooks`, `roles`, `verbs` and `templates`.

    Of some roles the names are not listed: an empty list.
    """
    found: Mapping[str, Mapping[str, Any]] = json.loads(FILE.read_text("utf-8"))
    return found


def who_brings(kind: str, name: str) -> tuple[str, ...]:
    """Distributions whose `hooks`, `verbs` or `templates` have this name."""
    return tuple(one for one, brings in known_distributions().items() if name in brings[kind])


def who_offers(role: str, name: str) -> tuple[str, ...]:
    """Distributions that offer a component of this role and name."""
    every = known_distributions().items()
    return tuple(one for one, brings in every if name in brings["roles"].get(role, ()))


def who_has_role(role: str) -> tuple[str, ...]:
    """Distributions that offer anything of a role."""
    return tuple(one for one, brings in known_distributions().items() if role in brings["roles"])


def is_installed(distribution: str) -> bool:
    """Whether its package can be imported here."""
    module = known_distributions()[distribution]["module"]
    return importlib.util.find_spec(module) is not None


def how_to_get(distributions: Sequence[str]) -> str:
    """What brings those of these distributions that are not installed; empty where all are.

    A distribution that an extra of tilewright is named after comes with all that it works with.
    """
    missing = [one for one in distributions if not is_installed(one)]
    wanted = " or ".join(map(_requirement, missing))
    return f"{installer()} install {wanted} brings it" if missing else ""


def missing_distribution(error: ModuleNotFoundError) -> UsageError | None:
    """The message for a missing package of this project; None for any other package."""
    top = (error.name or "").partition(".")[0]
    for distribution, brings in known_distributions().items():
        if brings["module"] == top and not is_installed(distribution):
            return UsageError(
                f"{distribution} is not installed, and this needs it",
                remedy=how_to_get([distribution]),
            )
    return None


def installer() -> str:
    """The installer of this environment: `pip`, `uv pip`, or `python -m pip`."""
    if importlib.util.find_spec("pip") is None or "UV" in os.environ:  # which `uv run` sets
        return "uv pip" if shutil.which("uv") else "python -m pip"
    if _is_ours("pip"):
        return "pip"
    return f"{'python' if _is_ours('python') else sys.executable} -m pip"


def _is_ours(program: str) -> bool:
    """Whether a program's bare name means that of the environment which runs us."""
    return shutil.which(program) == str(Path(sys.executable).parent / program)


def _requirement(distribution: str) -> str:
    extra = distribution.removeprefix(f"{CORE}-")
    return f"'{CORE}[{extra}]'" if extra in _extras() else distribution


def _extras() -> list[str]:
    return importlib.metadata.metadata(CORE).get_all("Provides-Extra") or []
