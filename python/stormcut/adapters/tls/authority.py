"""A private certificate authority for one site: a folder of PEM files.

``ca.pem``, ``ca.key`` (mode 0600) and ``crl.pem`` are its own; ``issued/NAME.pem`` records what it
has signed, and ``NAME/`` is what the machine gets that is called so.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from stormcut.adapters.files.json_document import write_bytes
from stormcut.adapters.tls.channel import (
    AUTHORITY,
    CERTIFICATE,
    KEY,
    REVOKED,
    ROLE_URI,
    Role,
    read_certificate,
)
from stormcut.model.errors import InvalidInput

CA_KEY = "ca.key"
RECORDS = "issued"
#: Clocks may differ by so much (as `seal.SKEW_SECONDS`).
SKEW = timedelta(minutes=5)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)


@dataclass(frozen=True)
class Issued:
    """A certificate that the authority has signed; ``revoked`` is when it was taken back."""

    name: str
    role: str
    expires: datetime
    revoked: datetime | None


class Authority:
    """The authority of a folder.

    Raises
    ------
    InvalidInput
        There is none, or its files cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        if not (folder / CA_KEY).exists():
            raise InvalidInput(
                f"no authority is there: make one with `stormcut certs init {folder}`", str(folder)
            )
        self._certificate = read_certificate(folder / AUTHORITY)
        try:
            key = serialization.load_pem_private_key((folder / CA_KEY).read_bytes(), None)
            self._revoked = x509.load_pem_x509_crl((folder / REVOKED).read_bytes())
        except OSError as error:
            raise InvalidInput(f"cannot be read: {error.strerror}", str(error.filename)) from error
        except (ValueError, TypeError) as error:
            raise InvalidInput(f"the authority is damaged: {error}", str(folder)) from error
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise InvalidInput("is no key of an elliptic curve", str(folder / CA_KEY))
        self._key = key

    @classmethod
    def made(cls, folder: Path, days: int, start: datetime | None = None) -> Authority:
        """Make one in a folder that has none, valid for ``days`` from ``start`` (now) on.

        Raises
        ------
        InvalidInput
            One is there already, or the folder cannot be written to.
        """
        start = start or datetime.now(UTC)
        key = ec.generate_private_key(ec.SECP256R1())
        # Of two authorities, as in a change from one to the other, each finds its own list.
        called = f"stormcut authority {token_hex(4)}"
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, called)])
        usage = _usage(key_cert_sign=True, crl_sign=True)
        certificate = (
            _unsigned(name, name, key.public_key(), start, start + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(key, hashes.SHA256())
        )
        with _new_folder(folder) as parts:
            _write(parts / CA_KEY, _pem_key(key), 0o600)
            _write(parts / AUTHORITY, _pem(certificate))
            _write(parts / REVOKED, _pem(_crl(certificate, key, ())))
            (parts / RECORDS).mkdir()
        return cls(folder)

    def issue(
        self,
        name: str,
        role: Role,
        hosts: Sequence[str],
        days: int,
        start: datetime | None = None,
    ) -> Issued:
        """Sign a certificate and make the folder ``name``: it, its key, the authority, its CRL.

        It ends with the authority's own at the latest.

        Parameters
        ----------
        hosts : sequence of str
            Names and addresses by which others reach it over HTTP.

        Raises
        ------
        InvalidInput
            The name cannot be used or is taken, a host is none, or nothing can be written.
        """
        folder, record = self._folder / name, self._record(name)
        if folder.exists() or record.exists():
            raise InvalidInput("this name is taken: choose another", str(folder))
        start = start or datetime.now(UTC)
        end = min(start + timedelta(days=days), self._certificate.not_valid_after_utc)
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._signed(name, role, hosts, key, start, end)
        with _new_folder(folder) as parts:
            _write(parts / KEY, _pem_key(key), 0o600)
            _write(parts / CERTIFICATE, _pem(certificate))
            for each in (AUTHORITY, REVOKED):
                _write(parts / each, (self._folder / each).read_bytes())
            # First, so that nothing is handed out that could not be revoked.
            write_bytes(record, _pem(certificate))
        return Issued(name, role, end, None)

    def revoke(self, name: str) -> Issued:
        """Take a certificate back: the CRL says so, also its copies in folders that are here yet.

        Raises
        ------
        InvalidInput
            There is none of this name, it is revoked, or nothing can be written.
        """
        record = self._record(name)
        if not record.exists():
            known = ", ".join(each.name for each in self.issued()) or "none"
            raise InvalidInput(f"was not issued here (issued: {known})", name)
        issued = self._issued(record)
        if issued.revoked is not None:
            raise InvalidInput("is revoked already", name)
        entry = (
            x509.RevokedCertificateBuilder()
            .serial_number(read_certificate(record).serial_number)
            .revocation_date(datetime.now(UTC))
            .build()
        )
        crl = _pem(_crl(self._certificate, self._key, (*self._revoked, entry)))
        for path in (self._folder / REVOKED, *self._folder.glob(f"*/{REVOKED}")):
            write_bytes(path, crl)
        self._revoked = x509.load_pem_x509_crl(crl)
        return self._issued(record)

    def issued(self) -> list[Issued]:
        """Return all that was ever signed, by name."""
        return [self._issued(each) for each in sorted((self._folder / RECORDS).glob("*.pem"))]

    def _record(self, name: str) -> Path:
        if not _NAME.fullmatch(name) or name == RECORDS:
            what = "is no name: letters, digits, - and _, 64 at most"
            raise InvalidInput(what, repr(name))
        return self._folder / RECORDS / f"{name}.pem"

    def _issued(self, record: Path) -> Issued:
        certificate = read_certificate(record)
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        (uri,) = names.get_values_for_type(x509.UniformResourceIdentifier)
        entry = self._revoked.get_revoked_certificate_by_serial_number(certificate.serial_number)
        return Issued(
            record.stem,
            uri.removeprefix(ROLE_URI),
            certificate.not_valid_after_utc,
            None if entry is None else entry.revocation_date_utc,
        )

    def _signed(
        self,
        name: str,
        role: Role,
        hosts: Sequence[str],
        key: ec.EllipticCurvePrivateKey,
        start: datetime,
        end: datetime,
    ) -> x509.Certificate:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = [x509.UniformResourceIdentifier(ROLE_URI + role), *map(_host, hosts)]
        # A brain also asks: itself, whether it still answers.
        uses = [ExtendedKeyUsageOID.CLIENT_AUTH]
        if role == Role.BRAIN:
            uses.append(ExtendedKeyUsageOID.SERVER_AUTH)
        issuer = self._certificate.subject
        return (
            _unsigned(subject, issuer, key.public_key(), start, end)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(_authority_id(self._key), critical=False)
            .sign(self._key, hashes.SHA256())
        )


def _unsigned(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    start: datetime,
    end: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - SKEW)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _crl(
    authority: x509.Certificate,
    key: ec.EllipticCurvePrivateKey,
    revoked: Sequence[x509.RevokedCertificate],
) -> x509.CertificateRevocationList:
    """Return the list; it holds as long as the authority: a site has nobody who renews it."""
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(authority.subject)
        .last_update(datetime.now(UTC) - SKEW)
        .next_update(max(authority.not_valid_after_utc, datetime.now(UTC)))
        .add_extension(x509.CRLNumber(len(revoked)), critical=False)
        .add_extension(_authority_id(key), critical=False)
    )
    for each in revoked:
        builder = builder.add_revoked_certificate(each)
    return builder.sign(key, hashes.SHA256())


def _authority_id(key: ec.EllipticCurvePrivateKey) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())


def _usage(**uses: bool) -> x509.KeyUsage:
    every = dict.fromkeys(
        (
            "digital_signature",
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "key_cert_sign",
            "crl_sign",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    return x509.KeyUsage(**every | uses)


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?", host, re.ASCII):
        raise InvalidInput("is neither the name nor the address of a host", repr(host))
    return x509.DNSName(host)


def _pem(signed: x509.Certificate | x509.CertificateRevocationList) -> bytes:
    return signed.public_bytes(serialization.Encoding.PEM)


def _pem_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder that turns into ``folder``, which must not be there or be empty, at the end.

    Raises
    ------
    InvalidInput
        It is there, or cannot be written.
    """
    parts = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        parts = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        yield parts
        parts.rename(folder)
    except OSError as error:
        is_there = error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
        what = "is there already" if is_there else f"cannot be written: {error.strerror}"
        raise InvalidInput(what, str(folder)) from error
    finally:
        if parts is not None:
            shutil.rmtree(parts, ignore_errors=True)


def _write(path: Path, content: bytes, mode: int = 0o644) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
