"""Requests to a service: over its socket or TLS, and again after a lost connection."""

from __future__ import annotations

import http.client
import json
import os
import random
import secrets
import socket
import ssl
import time
from collections.abc import Iterator
from typing import Any, TypeVar

from tollgate import _tls
from tollgate._address import Address, read_token
from tollgate._asks import Ask
from tollgate._errors import ConnectionLost, InternalError, ServiceError

__all__ = ["EventLines", "Outage", "Pauses", "Service", "answer_in", "lost", "request_headers"]

T = TypeVar("T")

FIRST_PAUSE_S = 0.05
MAX_PAUSE_S = 5.0
DEFAULT_PATIENCE_S = 60.0


class Outage(Exception):
    """A service that may answer later."""


class _Connection(http.client.HTTPConnection):
    """A connection over a stream that is open."""

    def __init__(self, service: Service) -> None:
        super().__init__("localhost")
        self.service = service

    def connect(self) -> None:
        self.sock = self.service.open()


class Service:
    """A service at an address, for several threads at once.

    Args:
        address: Where it is.
        reconnect: Seconds for which a request is sent again after the connection was lost. None is 60, and no limit for
            requests that wait. A number also waits for a service that is not there yet.
    """

    def __init__(self, address: Address, reconnect: float | None) -> None:
        self.address = address
        self.reconnect = reconnect
        self._settings = None if address.socket else _tls.context(address)
        self._headers = request_headers(address)
        self._idle: list[_Connection] = []
        self._process = os.getpid()
        if reconnect is None:
            try:
                self._give_back(self._connected())
            except Outage as outage:
                raise lost(address, outage) from None

    def get(self, path: str, *, waits: bool = False, timeout: float | None = None) -> Any:
        """Return the answer to a question. With ``waits`` a lost connection is no error, however long it lasts."""
        return self._exchange("GET", path, None, waits, timeout)

    def do(self, ask: Ask[T]) -> T:
        """Return the answer to a request."""
        method = "POST" if ask.is_command else "GET"
        body = {} if ask.body is None and ask.is_command else ask.body
        return ask.read(self._exchange(method, ask.path, body, ask.waits, ask.timeout))

    def __del__(self) -> None:
        if getattr(self, "_process", None) == os.getpid():
            self.close()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def open(self) -> socket.socket:
        if self.address.socket is not None:
            stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                stream.connect(self.address.socket)
            except BaseException:
                stream.close()
                raise
            return stream
        assert self._settings is not None
        return _tls.connect(self.address, self._settings)

    def _exchange(self, method: str, path: str, body: object, waits: bool, timeout: float | None) -> Any:
        headers = dict(self._headers)
        text = None
        if method == "POST":
            headers["Idempotency-Key"] = secrets.token_hex(16)
            text = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        until = None if timeout is None else time.monotonic() + timeout
        pauses = Pauses(self.reconnect, waits)
        while True:
            try:
                return self._once(method, path, text, headers, until)
            except Outage as outage:
                pause = pauses.next(until)
                if pause is None:
                    raise lost(self.address, outage, pauses) from None
            time.sleep(pause)

    def _once(self, method: str, path: str, text: bytes | None, headers: dict[str, str], until: float | None) -> Any:
        connection = self._connected()
        is_whole = False
        try:
            assert connection.sock is not None
            connection.sock.settimeout(None if until is None else max(until - time.monotonic(), 0.001))
            connection.request(method, path, text, headers)
            answer = connection.getresponse()
            read = answer.read()
            is_whole = not answer.will_close
        except TimeoutError:
            raise TimeoutError("no answer in time") from None
        except (OSError, http.client.HTTPException) as error:
            raise Outage(f"the connection to the service broke: {error}") from None
        finally:
            if is_whole:
                self._give_back(connection)
            else:
                connection.close()
        return answer_in_response(answer, read)

    def _connected(self) -> _Connection:
        # A child of this process must not use the connections of its parent.
        if os.getpid() != self._process:
            self._idle, self._process = [], os.getpid()
        try:
            return self._idle.pop()
        except IndexError:
            pass
        connection = _Connection(self)
        try:
            connection.connect()
        except (FileNotFoundError, ConnectionRefusedError) as error:
            what = "no service answers" if self.address.socket else f"cannot be reached: {error.strerror}"
            raise Outage(f"{self.address}: {what}") from None
        except ConnectionLost:
            raise
        except ssl.SSLError as error:
            if isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
                raise Outage(f"{self.address}: {error}") from None
            raise ConnectionLost(f"{self.address}: {error}") from None
        except OSError as error:
            raise Outage(f"{self.address}: cannot be reached: {error}") from None
        return connection

    def _give_back(self, connection: _Connection) -> None:
        self._idle.append(connection)

    def events(self, path: str) -> EventStream:
        """Open a stream of events."""
        return EventStream(self, path)

    def stream_once(self, path: str, last: str | None) -> tuple[_Connection, http.client.HTTPResponse]:
        connection = _Connection(self)
        headers = dict(self._headers)
        if last is not None:
            headers["Last-Event-ID"] = last
        try:
            connection.connect()
            connection.request("GET", path, None, headers)
            answer = connection.getresponse()
            if answer.status != 200:
                answer_in_response(answer, answer.read())
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if isinstance(error, ConnectionLost):
                raise
            raise Outage(f"{self.address}: {error}") from None
        except BaseException:
            connection.close()
            raise
        return connection, answer


class EventStream:
    """A stream of events that is open. Iteration gives names and data, and ``("reconnected", {})`` after an outage: what
    happened meanwhile may be missing."""

    def __init__(self, service: Service, path: str) -> None:
        self._service = service
        self._path = path
        self._is_closed = False
        self._last: str | None = None
        try:
            self._connection, self._answer = service.stream_once(path, None)
        except Outage as outage:
            raise ConnectionLost(str(outage)) from None

    def close(self) -> None:
        """End the iteration, also in another thread."""
        self._is_closed = True
        sock = self._connection.sock or getattr(getattr(self._answer.fp, "raw", None), "_sock", None)
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        while True:
            try:
                yield from self._read()
            except (OSError, http.client.HTTPException, ValueError):
                pass
            self._connection.close()
            pauses = Pauses(None, waits=True)
            while not self._is_closed:
                try:
                    self._connection, self._answer = self._service.stream_once(self._path, self._last)
                    break
                except Outage:
                    time.sleep(pauses.next(None) or 0)
            if self._is_closed:
                return
            yield "reconnected", {}

    def _read(self) -> Iterator[tuple[str, dict[str, Any]]]:
        lines = EventLines()
        while line := self._answer.readline():
            event = lines.add(line)
            self._last = lines.last or self._last
            if event is not None:
                yield event


class EventLines:
    """The lines of a stream of events, one after another."""

    def __init__(self) -> None:
        self.last: str | None = None
        """Identifier of the last event, after which a new stream goes on."""
        self._fields: dict[str, str] = {}

    def add(self, line: bytes) -> tuple[str, dict[str, Any]] | None:
        """Return the event that a line ends."""
        text = line.decode().rstrip("\r\n")
        if text:
            name, _, value = text.partition(":")
            self._fields[name] = value.removeprefix(" ")
            return None
        fields, self._fields = self._fields, {}
        self.last = fields.get("id", self.last)
        if "event" not in fields:
            return None
        return fields["event"], json.loads(fields.get("data") or "{}")


class Pauses:
    """The pauses between tries of a request, each twice as long as the one before.

    Args:
        reconnect: Seconds for which the request is sent again. None is 60, and no limit for requests that wait.
        waits: Whether the request waits.
    """

    def __init__(self, reconnect: float | None, waits: bool) -> None:
        self.patience = reconnect if reconnect is not None or waits else DEFAULT_PATIENCE_S
        self._began: float | None = None
        self._pause = 0.0

    def next(self, until: float | None) -> float | None:
        """Return the seconds before the next try; None if the time is over.

        Raises:
            TimeoutError: The instant ``until`` has passed.
        """
        now = time.monotonic()
        if self._began is None:
            self._began = now
        left = None if self.patience is None else self._began + self.patience - now
        if left is not None and left <= 0:
            return None
        if until is not None and until <= now:
            raise TimeoutError("no answer in time")
        self._pause = min(max(2 * self._pause, FIRST_PAUSE_S), MAX_PAUSE_S)
        # Clients that lost one service at once do not come back at once.
        pause = self._pause * random.uniform(0.5, 1.0)
        limits = [limit for limit in (left, None if until is None else until - now) if limit is not None]
        return min([pause, *limits])


def request_headers(address: Address) -> dict[str, str]:
    """Return the headers of each request to a service."""
    headers = {"Host": address.authority, "Content-Type": "application/json"}
    if address.token_file is not None:
        headers["Authorization"] = f"Bearer {read_token(address.token_file)}"
    return headers


def lost(address: Address, outage: Outage, pauses: Pauses | None = None) -> ConnectionLost:
    """Return the error of a service that did not answer, or not again."""
    message = str(outage)
    if pauses is not None and pauses.patience:
        message = f"the service did not answer again within {pauses.patience:g} s: {message}"
        return ConnectionLost(message, "jobs go on; a larger reconnect waits longer")
    hint = "start one with `tollgate serve --detach`, or name one: data, url or cluster"
    return ConnectionLost(message, hint if "no service answers" in message else None)


def answer_in_response(answer: http.client.HTTPResponse, read: bytes) -> Any:
    return answer_in(answer.status, answer.reason, answer.headers.get("Retry-After"), read)


def answer_in(status: int, reason: str, retry_after: str | None, read: bytes) -> Any:
    """Return what an answer has.

    Raises:
        Outage: The service is being stopped.
        ServiceError: It refuses the request.
    """
    try:
        body = json.loads(read) if read else None
    except ValueError:
        body = None
    if 200 <= status < 300:
        if body is None and status != 204:
            raise InternalError("the answer of the service cannot be read by this version")
        return body
    problem = body if isinstance(body, dict) else {}
    message = problem.get("error") or f"the service answered {status} {reason}"
    if status == 503 and retry_after is not None:
        raise Outage(message)
    raise ServiceError(message, problem.get("hint"), status)
