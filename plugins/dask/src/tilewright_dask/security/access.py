"""Which addresses may be bound and connected to, and by which certificates."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from tilewright.errors import UsageError

if TYPE_CHECKING:
    from distributed.security import Security

Role = Literal["scheduler", "worker", "driver"]
ROLES: tuple[Role, ...] = ("scheduler", "worker", "driver")
_CERTIFICATES = Path("certs")
_WHY = "without certificates whoever reaches it can run code as you"
_HOW = "`tilewright fleet certs DIR` makes some: pass {tls} to scheduler, workers and drivers"


def certificate_files(role: str) -> tuple[str, str]:
    """Names of the files of a role's certificate and key."""
    return f"{role}.pem", f"{role}-key.pem"


def certificates_for(address: str, tls: Path | None) -> Path | None:
    """The folder named; for `tls://` without one, `certs` of the current folder, if it is there."""
    if tls is None and address.startswith("tls://") and _CERTIFICATES.is_dir():
        return _CERTIFICATES
    return tls


def check_address(address: str, tls: Path | None, *, option: str = "scheduler") -> None:
    """Raise UsageError for what is no address, and for one that is not safe to talk to."""
    scheme, _, rest = address.partition("://")
    expected = "tls" if tls is not None else "tcp"
    parts = urlsplit(f"//{rest}")
    try:
        known = bool(parts.hostname and parts.port)
    except ValueError:
        known = False
    if scheme not in ("tcp", "tls") or not known:
        raise UsageError(
            f"expected tcp://HOST:PORT or tls://HOST:PORT, got {address!r}", where=option
        )
    if tls is None and not is_loopback(parts.hostname or ""):
        raise UsageError(
            f"{address} is not on this machine: {_WHY}",
            where=option,
            remedy=_HOW.format(tls="--tls DIR (in a file or --runner: tls)"),
        )
    if scheme != expected:
        way = "needs certificates: there is no certs/ here; pass --tls DIR (in a file: tls)"
        other = "is without encryption; with certificates write tls://"
        raise UsageError(f"{address} {way if tls is None else other}", where=option)


def check_host(host: str, tls: Path | None) -> None:
    """Raise UsageError for an interface to listen on that others reach without certificates."""
    if tls is None and not is_loopback(host):
        raise UsageError(
            f"{host or 'every interface'} can be reached from other machines: {_WHY}",
            where="--host",
            remedy=f"say 127.0.0.1, or {_HOW.format(tls='--tls DIR')}",
        )


def is_loopback(host: str) -> bool:
    """Whether a host's name or number means this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def security_of(tls: Path | None, role: Role) -> Security:
    """What Dask is to check of its peers: certificates of the folder, each way.

    Raises UsageError where the folder lacks a file that the role needs.
    """
    from distributed.security import Security

    if tls is None:
        return Security(require_encryption=False)
    certificate, key = certificate_files(role)
    for name in ("ca.pem", certificate, key):
        if not (tls / name).is_file():
            raise UsageError(
                f"no {name} in {tls}",
                where="tls",
                remedy=f"make certificates: tilewright fleet certs {tls}",
            )
    own = "client" if role == "driver" else role
    named = {
        "tls_ca_file": tls / "ca.pem",
        f"tls_{own}_cert": tls / certificate,
        f"tls_{own}_key": tls / key,
    }
    return Security(require_encryption=True, **{name: str(path) for name, path in named.items()})
