"""Requests to a service in asyncio: as in :mod:`tollgate._connection`, without threads."""

from __future__ import annotations

import asyncio
import email.parser
import hashlib
import hmac
import http.client
import io
import json
import secrets
import ssl
import time
from dataclasses import dataclass
from typing import Any, TypeVar

from tollgate import _tls
from tollgate._address import Address
from tollgate._asks import Ask
from tollgate._connection import Outage, Pauses, answer_in, lost, request_headers
from tollgate._errors import ConnectionLost, InternalError

__all__ = ["AsyncService"]

T = TypeVar("T")
_MAX_HEAD = 1 << 16


@dataclass
class _Stream:
    """An open connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class AsyncService:
    """A service at an address, for many tasks of one event loop at a time.

    Args:
        address: Where it is.
        reconnect: Seconds for which a request is sent again after the connection was lost, as for the client without asyncio.
    """

    def __init__(self, address: Address, reconnect: float | None) -> None:
        self.address = address
        self.reconnect = reconnect
        self._settings = None if address.socket else _tls.context(address)
        self._headers = request_headers(address)
        self._idle: list[_Stream] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_found = reconnect is not None

    async def do(self, ask: Ask[T]) -> T:
        """Return the answer to a request."""
        method = "POST" if ask.is_command else "GET"
        headers, body = dict(self._headers), b""
        if ask.is_command:
            headers["Idempotency-Key"] = secrets.token_hex(16)
            body = json.dumps({} if ask.body is None else ask.body, ensure_ascii=False, allow_nan=False).encode()
            headers["Content-Length"] = str(len(body))
        lines = [f"{method} {ask.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        sent = "\r\n".join(lines).encode() + body
        return ask.read(await self._exchange(sent, ask))

    async def _exchange(self, sent: bytes, ask: Ask[Any]) -> Any:
        until = None if ask.timeout is None else time.monotonic() + ask.timeout
        pauses = Pauses(self.reconnect, ask.waits)
        while True:
            try:
                if until is None:
                    return await self._once(sent)
                return await asyncio.wait_for(self._once(sent), max(until - time.monotonic(), 0.001))
            except asyncio.TimeoutError:
                raise TimeoutError("no answer in time") from None
            except Outage as outage:
                # A service that was never there is an error at once.
                pause = pauses.next(until) if self._is_found else None
                if pause is None:
                    raise lost(self.address, outage, pauses if self._is_found else None) from None
            await asyncio.sleep(pause)

    async def close(self) -> None:
        """Close idle connections."""
        while self._idle:
            stream = self._idle.pop()
            stream.writer.close()
            try:
                await stream.writer.wait_closed()
            except (OSError, ssl.SSLError):
                pass

    async def _once(self, sent: bytes) -> Any:
        loop = asyncio.get_running_loop()
        # The connections of an event loop end with it.
        if loop is not self._loop:
            self._idle, self._loop = [], loop
        stream = self._idle.pop() if self._idle else await self._connected()
        is_whole = False
        try:
            stream.writer.write(sent)
            await stream.writer.drain()
            status, reason, headers = await _head(stream.reader)
            read = await stream.reader.readexactly(int(headers.get("Content-Length", "0")))
            is_whole = headers.get("Connection", "").lower() != "close"
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError, http.client.HTTPException) as error:
            raise Outage(f"the connection to the service broke: {error}") from None
        finally:
            if is_whole:
                self._idle.append(stream)
            else:
                stream.writer.close()
        return answer_in(status, reason, headers.get("Retry-After"), read)

    async def _connected(self) -> _Stream:
        try:
            opened = await asyncio.wait_for(self._open(), _tls.CONNECT_TIMEOUT_S)
        except (FileNotFoundError, ConnectionRefusedError) as error:
            what = "no service answers" if self.address.socket else f"cannot be reached: {error.strerror}"
            raise Outage(f"{self.address}: {what}") from None
        except ConnectionLost:
            raise
        except ssl.SSLCertVerificationError as error:
            raise ConnectionLost(f"{self.address}: {error.verify_message}") from None
        except (OSError, asyncio.TimeoutError) as error:
            raise Outage(f"{self.address}: cannot be reached: {error}") from None
        self._is_found = True
        return opened

    async def _open(self) -> _Stream:
        if self.address.socket is not None:
            return _Stream(*await asyncio.open_unix_connection(self.address.socket, limit=_MAX_HEAD))
        reader, writer = await asyncio.open_connection(
            self.address.host, self.address.port, ssl=self._settings, server_hostname=self.address.host, limit=_MAX_HEAD
        )
        if self.address.fingerprint is not None:
            certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True) or b""
            found = hashlib.sha256(_tls.public_key(certificate)).digest()
            if not hmac.compare_digest(found, self.address.fingerprint):
                writer.close()
                raise _tls.other_key(self.address)
        return _Stream(reader, writer)


async def _head(reader: asyncio.StreamReader) -> tuple[int, str, Any]:
    """Return the status and the headers of an answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    line, _, rest = head.partition(b"\r\n")
    words = line.decode("latin-1").split(" ", 2)
    if len(words) < 2 or not words[0].startswith("HTTP/1."):
        raise InternalError("the answer of the service is not HTTP")
    headers = email.parser.Parser().parse(io.StringIO(rest.decode("latin-1")), headersonly=True)
    return int(words[1]), words[2] if len(words) > 2 else "", headers
