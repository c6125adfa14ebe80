"""TLS with a service: TLS 1.3, and the key of the service is checked before the token is sent."""

from __future__ import annotations

import hashlib
import hmac
import socket
import ssl

from tollgate._address import Address, check_private
from tollgate._errors import ArgumentError, ConnectionLost

__all__ = ["CONNECT_TIMEOUT_S", "connect", "context", "other_key", "public_key"]

CONNECT_TIMEOUT_S = 10.0


def context(address: Address) -> ssl.SSLContext:
    """Return the settings of TLS for an address.

    Raises:
        ArgumentError: A file with certificates cannot be used.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.set_alpn_protocols(["http/1.1"])
    if address.fingerprint is not None:
        # The key is compared after the handshake, in which the service proves that it holds the key.
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    elif address.ca is not None:
        made.hostname_checks_common_name = False
        try:
            made.load_verify_locations(cafile=address.ca)
        except (OSError, ssl.SSLError) as error:
            raise ArgumentError(f"{address.ca}: expected certificates in PEM: {error}") from None
    if address.certificate is not None:
        check_private(address.certificate)
        try:
            made.load_cert_chain(address.certificate)
        except (OSError, ssl.SSLError) as error:
            raise ArgumentError(f"{address.certificate}: expected a certificate and its key in PEM: {error}") from None
    return made


def connect(address: Address, settings: ssl.SSLContext) -> ssl.SSLSocket:
    """Connect to a service, and check its key.

    Raises:
        OSError: The service cannot be reached.
        ConnectionLost: It is not the service that was expected.
    """
    plain = socket.create_connection((address.host, address.port), timeout=CONNECT_TIMEOUT_S)
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _keep_alive(plain)
        try:
            stream = settings.wrap_socket(plain, server_hostname=address.host)
        except ssl.SSLCertVerificationError as error:
            raise ConnectionLost(f"{address}: {error.verify_message}") from None
    except BaseException:
        plain.close()
        raise
    if address.fingerprint is not None:
        certificate = stream.getpeercert(binary_form=True) or b""
        found = hashlib.sha256(public_key(certificate)).digest()
        if not hmac.compare_digest(found, address.fingerprint):
            stream.close()
            raise other_key(address)
    stream.settimeout(None)
    return stream


def other_key(address: Address) -> ConnectionLost:
    """Return the error of a service with another key than expected."""
    hint = "this is not the service with that fingerprint, or it was given a new key"
    return ConnectionLost(f"{address}: the service has another key", hint)


def _keep_alive(stream: socket.socket) -> None:
    """Make the system ask an idle peer: one that is gone breaks the connection after about two minutes."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            stream.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def public_key(certificate: bytes) -> bytes:
    """Return the public key of a certificate: the field ``subjectPublicKeyInfo`` in DER; nothing for other bytes."""
    try:
        start, _, _ = _element(certificate, 0)
        at, _, _ = _element(certificate, start)
        # The version is optional, and has the tag [0]. Serial number, algorithm, issuer, dates and subject follow.
        before = 6 if certificate[at] == 0xA0 else 5
        for _ in range(before):
            _, at, _ = _element(certificate, at)
        _, end, begin = _element(certificate, at)
        return certificate[begin:end]
    except IndexError:
        return b""


def _element(der: bytes, at: int) -> tuple[int, int, int]:
    """Return where the content of an element begins, where it ends, and where the element begins."""
    length, begin = der[at + 1], at + 2
    if length & 0x80:
        size = length & 0x7F
        length, begin = int.from_bytes(der[begin : begin + size], "big"), begin + size
    return begin, begin + length, at
