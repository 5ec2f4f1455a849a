"""Makes a certificate authority, and a certificate for each role in a fleet."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.errors import UsageError
from tilewright.reading import read_file
from tilewright_dask.security.access import ROLES, certificate_files

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate

AUTHORITY, AUTHORITY_KEY = "ca.pem", "ca-key.pem"


def make_certificates(folder: Path, days: int) -> tuple[Path, ...]:
    """The files made: of the authority, which the folder may have already, and of each role.

    Keys are readable by their owner alone. Raises UsageError where a role has its files already,
    and where the folder cannot be written.
    """
    there = [name for role in ROLES for name in certificate_files(role)]
    if kept := [name for name in there if (folder / name).exists()]:
        raise UsageError(
            f"{folder} has {', '.join(kept)} already",
            remedy="remove them first: who uses them could talk to nobody any more",
        )
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _make(folder, days)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from error


def _make(folder: Path, days: int) -> tuple[Path, ...]:
    made = []
    if not (folder / AUTHORITY_KEY).exists():
        key = _new_key()
        made += _write(folder, AUTHORITY, AUTHORITY_KEY, _certificate("authority", key, days), key)
    authority, authority_key = _read_authority(folder)
    for role in ROLES:
        key = _new_key()
        certificate = _certificate(role, key, days, authority, authority_key)
        made += _write(folder, *certificate_files(role), certificate, key)
    return tuple(made)


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _certificate(
    role: str,
    key: EllipticCurvePrivateKey,
    days: int,
    authority: Certificate | None = None,
    authority_key: EllipticCurvePrivateKey | None = None,
) -> Certificate:
    """Signed by the authority; without one, by itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"tilewright fleet {role}")])
    now = dt.datetime.now(dt.UTC)
    signing = authority_key or key
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(authority.subject if authority else name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))  # clocks differ
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
        .add_extension(_usage(signs=authority is None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()),
            critical=False,
        )
    )
    if authority is not None:  # Dask's peers both listen and connect
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False)
    return builder.sign(signing, hashes.SHA256())


def _usage(*, signs: bool) -> Any:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _read_authority(folder: Path) -> tuple[Certificate, Any]:
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    try:
        key = serialization.load_pem_private_key(read_file(folder / AUTHORITY_KEY), None)
        return x509.load_pem_x509_certificate(read_file(folder / AUTHORITY)), key
    except (ValueError, TypeError) as error:
        raise UsageError(f"{folder}: {AUTHORITY} or {AUTHORITY_KEY} is damaged: {error}") from error


def _write(
    folder: Path,
    name: str,
    key_name: str,
    certificate: Certificate,
    key: EllipticCurvePrivateKey,
) -> list[Path]:
    from cryptography.hazmat.primitives import serialization

    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = certificate.public_bytes(serialization.Encoding.PEM)
    for path, content, mode in ((folder / name, public, 0o644), (folder / key_name, secret, 0o600)):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    return [folder / name, folder / key_name]
