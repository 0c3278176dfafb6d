"""Mutual TLS with the certificates of one folder, as `stormcut certs issue` makes it.

The files are read again for each connection: new certificates and revocations need no restart.
"""

from __future__ import annotations

import socket
import ssl
import stat
import time
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stormcut.model.errors import InvalidInput

if TYPE_CHECKING:
    from cryptography import x509

#: Names in the folder: the authority, its revocations, and the certificate and key of one side.
AUTHORITY, REVOKED, CERTIFICATE, KEY = "ca.pem", "crl.pem", "certificate.pem", "key.pem"
#: What a certificate names as an alternative name of its subject, followed by a role.
ROLE_URI = "urn:stormcut:role:"
#: So long a refused client is listened to, that it may read why.
PARTING_SECONDS = 1.0
_CHUNK = 1 << 16


class Role(StrEnum):
    """What a certificate is for."""

    BRAIN = "brain"
    NIMBUS = "nimbus"
    OPERATE = "operate"
    VIEW = "view"


class Distrusted(OSError):
    """The other side has no certificate that counts here, or is not of the role it must have."""


class Tls:
    """TLS as one side of a connection.

    Parameters
    ----------
    folder : Path
        With `AUTHORITY`, `REVOKED`, `CERTIFICATE` and `KEY`.

    Raises
    ------
    InvalidInput
        A file of it is missing or cannot be used, or others may read the key.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._context(ssl.PROTOCOL_TLS_CLIENT)

    def check_role(self, role: Role) -> None:
        """Refuse a certificate that is not of this role, or is of a time gone by or to come.

        Raises
        ------
        InvalidInput
            It is.
        """
        # Takes a moment to import: only where there are certificates.
        from cryptography import x509

        path = self.folder / CERTIFICATE
        own = read_certificate(path)
        with suppress(x509.ExtensionNotFound):
            names = own.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            uris = names.get_values_for_type(x509.UniformResourceIdentifier)
            if ROLE_URI + role in uris:
                if own.not_valid_before_utc <= datetime.now(UTC) <= own.not_valid_after_utc:
                    return
                between = f"{own.not_valid_before_utc:%F} to {own.not_valid_after_utc:%F}"
                raise InvalidInput(f"is valid from {between} alone", str(path))
            its = [each.removeprefix(ROLE_URI) for each in uris if each.startswith(ROLE_URI)]
            has = f"has the role {', '.join(its) or 'of nobody'}"
            way = f"stormcut certs issue AUTHORITY NAME --role {role}"
            raise InvalidInput(f"{has}, but must have {role}: make one with {way}", str(path))
        raise InvalidInput(f"names no role, but must have {role}", str(path))

    def server_side(self, connection: socket.socket) -> ssl.SSLSocket:
        """Return a client's connection in TLS; `accepted` must follow.

        Raises
        ------
        InvalidInput
            As the class.
        """
        context = self._context(ssl.PROTOCOL_TLS_SERVER)
        context.verify_mode = ssl.CERT_REQUIRED
        return context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)

    def client_side(self, connection: socket.socket, deadline: float) -> ssl.SSLSocket:
        """Return a connection to a brain in TLS, once it has shown that it is one.

        Which host it is on is not asked: the authority signs for nothing else than this site's
        stormcut, and a brain may move.

        Parameters
        ----------
        deadline : float
            Moment of `time.monotonic`.

        Raises
        ------
        InvalidInput
            As the class.
        Distrusted
            It has no certificate of a brain's that counts, or none in time.
        """
        wrapped = self._context(ssl.PROTOCOL_TLS_CLIENT).wrap_socket(
            connection, do_handshake_on_connect=False
        )
        if (role := _shake_hands(wrapped, deadline)) != Role.BRAIN:
            raise Distrusted(f"its certificate is of the role {role}, not {Role.BRAIN}")
        return wrapped

    def _context(self, protocol: ssl._SSLMethod) -> ssl.SSLContext:
        for each in (AUTHORITY, REVOKED, CERTIFICATE, KEY):
            _check_readable(self.folder / each)
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
        path = self.folder
        try:
            context.load_cert_chain(path / CERTIFICATE, path / KEY, password="")
            for each in (AUTHORITY, REVOKED):
                path = self.folder / each
                context.load_verify_locations(path)
        except (OSError, ValueError) as error:
            raise InvalidInput(f"cannot be used for TLS: {words(error)}", str(path)) from error
        return context


def accepted(connection: ssl.SSLSocket, deadline: float) -> Role:
    """Shake hands with a client, and return the role of its certificate.

    Parameters
    ----------
    deadline : float
        Moment of `time.monotonic` by which it must be done.

    Raises
    ------
    Distrusted
        It has no certificate that counts, or did not show it in time.
    """
    try:
        return _shake_hands(connection, deadline)
    except Distrusted:
        _part(connection)
        raise


def _shake_hands(connection: ssl.SSLSocket, deadline: float) -> Role:
    """Return the other side's role."""
    connection.settimeout(max(deadline - time.monotonic(), 0.001))
    try:
        connection.do_handshake()
    except (OSError, ValueError) as error:
        raise Distrusted(f"TLS: {words(error)}") from error
    names: Any = (connection.getpeercert() or {}).get("subjectAltName", ())
    for kind, name in names:
        with suppress(ValueError):
            if kind == "URI" and name.startswith(ROLE_URI):
                return Role(name.removeprefix(ROLE_URI))
    raise Distrusted("TLS: its certificate names no role of stormcut")


def _part(connection: ssl.SSLSocket) -> None:
    """Let the other side read why it is refused: what it still sends would reset the connection."""
    until = time.monotonic() + PARTING_SECONDS
    with suppress(OSError, ValueError):
        connection.shutdown(socket.SHUT_WR)
        while (left := until - time.monotonic()) > 0:
            connection.settimeout(left)
            if not connection.recv(_CHUNK):
                return


def words(error: Exception) -> str:
    """Return what OpenSSL complains of without its marks."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.lower().replace("_", " ")
    if isinstance(error, TimeoutError):
        return "no handshake in time"
    return getattr(error, "strerror", None) or str(error)


def read_certificate(path: Path) -> x509.Certificate:
    """Read one certificate in PEM.

    Raises
    ------
    InvalidInput
        There is none.
    """
    from cryptography import x509

    _check_readable(path)
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except ValueError as error:
        raise InvalidInput("is no certificate in PEM", str(path)) from error


def _check_readable(path: Path) -> None:
    """Refuse a file that cannot be read, and a key that others may read."""
    try:
        with path.open("rb"):
            mode = path.stat().st_mode
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", str(path)) from error
    if path.name == KEY and stat.S_IMODE(mode) & 0o077:
        raise InvalidInput(f"is open to others than its owner: chmod 600 {path}", str(path))
