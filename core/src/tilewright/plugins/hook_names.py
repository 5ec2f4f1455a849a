"""From a role's name to its collect hook, and back."""

from __future__ import annotations

# A role's hook is `tilewright_<role>s`; library plugins add roles without core knowing them.
_LONG_NAMES = {"scheduler": "task_scheduler"}
_SHORT_NAMES = {long: short for short, long in _LONG_NAMES.items()}
_NO_ROLE = "tilewright_hookspecs"


def hook_of(role: str) -> str:
    """The hook by which plugins contribute to a role: `tilewright_tuners` of `tuner`."""
    name = _LONG_NAMES.get(role, role)
    if name.endswith("y"):
        return f"tilewright_{name[:-1]}ies"
    return f"tilewright_{name}es" if name.endswith("s") else f"tilewright_{name}s"


def role_of_hook(hook: str) -> str | None:
    """The role of a collect hook, None for one whose name is no plural."""
    plural = hook.removeprefix("tilewright_")
    if hook == _NO_ROLE or not plural.endswith("s"):
        return None
    if plural.endswith("ies"):
        singular = f"{plural[:-3]}y"
    else:
        singular = plural[:-2] if plural.endswith("sses") else plural[:-1]
    return _SHORT_NAMES.get(singular, singular)
