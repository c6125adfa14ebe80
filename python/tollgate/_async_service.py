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
from tollgate._connection import EventLines, Outage, Pauses, answer_in, lost, request_headers
from tollgate._errors import ConnectionLost, InternalError

__all__ = ["AsyncEventStream", "AsyncService"]

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

    def events(self, path: str) -> AsyncEventStream:
        """Return a stream of events, which is not open yet."""
        return AsyncEventStream(self, path)

    async def stream_once(self, path: str, last: str | None) -> _Stream:
        """Open a stream of events."""
        headers = dict(self._headers) if last is None else {**self._headers, "Last-Event-ID": last}
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        stream = await self._connected()
        try:
            stream.writer.write("\r\n".join(lines).encode())
            await stream.writer.drain()
            status, reason, answered = await _head(stream.reader)
            if status != 200:
                read = await stream.reader.readexactly(int(answered.get("Content-Length", "0")))
                answer_in(status, reason, answered.get("Retry-After"), read)
        except (OSError, EOFError, ValueError) as error:
            stream.writer.close()
            if isinstance(error, ConnectionLost):
                raise
            raise Outage(f"the connection to the service broke: {error}") from None
        except BaseException:
            stream.writer.close()
            raise
        return stream

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


class AsyncEventStream:
    """A stream of events: names and data, and ``("reconnected", {})`` after an outage."""

    def __init__(self, service: AsyncService, path: str) -> None:
        self._service = service
        self._path = path
        self._stream: _Stream | None = None
        self._lines = EventLines()
        self._left = b""
        self._is_closed = False

    async def open(self) -> None:
        if self._stream is None and not self._is_closed:
            try:
                self._stream = await self._service.stream_once(self._path, self._lines.last)
            except Outage as outage:
                raise lost(self._service.address, outage) from None

    def close(self) -> None:
        self._is_closed = True
        self._disconnect()

    def _disconnect(self) -> None:
        if self._stream is not None:
            self._stream.writer.close()
            self._stream = None

    async def next(self) -> tuple[str, dict[str, Any]]:
        """Wait for the next event."""
        await self.open()
        while self._stream is not None:
            line, is_whole, rest = self._left.partition(b"\n")
            if is_whole:
                self._left = rest
                event = self._lines.add(line)
                if event is not None:
                    return event
                continue
            try:
                self._left += await _chunk(self._stream.reader)
            except (OSError, EOFError, ValueError):
                if self._is_closed:
                    break
                await self._open_again()
                return "reconnected", {}
        raise StopAsyncIteration

    async def _open_again(self) -> None:
        self._disconnect()
        self._left, last = b"", self._lines.last
        self._lines = EventLines()
        self._lines.last = last
        pauses = Pauses(None, waits=True)
        while self._stream is None:
            try:
                self._stream = await self._service.stream_once(self._path, last)
            except Outage:
                await asyncio.sleep(pauses.next(None) or 0)


async def _chunk(reader: asyncio.StreamReader) -> bytes:
    """Return the next part of an answer that comes in parts.

    Raises:
        EOFError: It was the last one.
    """
    size = int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16)
    if size == 0:
        raise EOFError("the stream has ended")
    return (await reader.readexactly(size + 2))[:-2]


async def _head(reader: asyncio.StreamReader) -> tuple[int, str, Any]:
    """Return the status and the headers of an answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    line, _, rest = head.partition(b"\r\n")
    words = line.decode("latin-1").split(" ", 2)
    if len(words) < 2 or not words[0].startswith("HTTP/1."):
        raise InternalError("the answer of the service is not HTTP")
    headers = email.parser.Parser().parse(io.StringIO(rest.decode("latin-1")), headersonly=True)
    return int(words[1]), words[2] if len(words) > 2 else "", headers
