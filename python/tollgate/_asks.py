"""Requests to a service with the types of their answers, for clients that wait and for clients of asyncio."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar, Union
from urllib.parse import quote as _quoted
from urllib.parse import urlencode

from tollgate import _wire, api
from tollgate._errors import ServiceError
from tollgate._moments import Span, span, to_wire

__all__ = ["PAGE", "Ask", "JobId", "JobPages", "alter", "cancel", "claim", "explain", "history", "hold", "job", "nodes"]
__all__ += ["output", "quote", "release", "requeue", "resubmit", "signal", "status", "submit", "submit_all", "tasks", "wait"]

T = TypeVar("T")
JobId = Union[int, str]

PAGE = 10_000


@dataclass(frozen=True)
class Ask(Generic[T]):
    """A request, and how its answer is read."""

    path: str
    read: Callable[[Any], T]
    is_command: bool = False
    """Whether it changes something: it then has a key, and is carried out once however often it is sent."""
    body: object = None
    waits: bool = False
    """Whether a lost connection is no error, however long it lasts."""
    timeout: float | None = None


def status() -> Ask[api.ServiceStatus]:
    return Ask("/v1/status", _reader(api.ServiceStatus))


def nodes() -> Ask[api.NodeList]:
    return Ask("/v1/nodes", _reader(api.NodeList))


def job(number: JobId) -> Ask[api.JobDetails]:
    return Ask(_of(number), _reader(api.JobDetails))


def tasks(number: JobId, failed: bool, expect: bool) -> Ask[list[api.JobDetails]]:
    asked = {"failed": failed or None, "expect": expect or None, "limit": PAGE}
    return Ask(_path(_of(number, "tasks"), asked), lambda answer: list(_wire.read(api.JobList, answer).jobs))


def explain(number: JobId) -> Ask[api.JobExplanation]:
    return Ask(_of(number, "explain"), _reader(api.JobExplanation))


def history(number: JobId) -> Ask[api.JobHistory]:
    return Ask(_of(number, "history"), _reader(api.JobHistory))


def wait(number: JobId, timeout: float | None) -> Ask[api.JobDetails]:
    return Ask(_of(number, "wait"), _reader(api.JobDetails), waits=True, timeout=timeout)


def output(number: JobId, error: bool, last: int | None) -> Ask[str | None]:
    """Ask for an output as text; None if it is a file of the host."""

    def read(answer: Any) -> str | None:
        found = _wire.read(api.JobOutput, answer)
        if found.source == "host":
            return None
        if found.problem is not None:
            raise ServiceError(f"job {number}: {found.problem}", status=200)
        return found.text if found.text is not None else bytes(found.bytes or ()).decode(errors="replace")

    return Ask(_path(_of(number, "output"), {"error": error or None, "last": last}), read)


def cancel(number: JobId) -> Ask[None]:
    return _command(number, "cancel")


def hold(number: JobId) -> Ask[None]:
    return _command(number, "hold")


def release(number: JobId) -> Ask[None]:
    return _command(number, "release")


def requeue(number: JobId) -> Ask[None]:
    return _command(number, "requeue")


def signal(number: JobId, name: str) -> Ask[api.SignalResult]:
    body = {"signal": name.upper().removeprefix("SIG")}
    return Ask(_of(number, "signal"), _reader(api.SignalResult), is_command=True, body=body)


def alter(number: JobId, change: dict[str, Any]) -> Ask[api.AlterResponse]:
    return Ask(_of(number, "alter"), _reader(api.AlterResponse), is_command=True, body=change)


def resubmit(number: JobId, deadline: dict[str, Any]) -> Ask[dict[str, Any]]:
    return Ask(_of(number, "resubmit"), _answered, is_command=True, body=deadline)


def submit_all(requests: list[dict[str, Any]]) -> Ask[list[dict[str, Any]]]:
    """Ask to submit jobs together. What all of them have in common is sent once."""
    common = {
        name: value
        for name, value in (requests[0] if requests else {}).items()
        if all(name in other and other[name] == value for other in requests)
    }
    jobs = [{name: value for name, value in request.items() if name not in common} for request in requests]

    def read(answer: Any) -> list[dict[str, Any]]:
        return [_answered(one) for one in answer["jobs"]]

    return Ask("/v1/batches", read, is_command=True, body={"common": common, "jobs": jobs})


def submit(request: dict[str, Any]) -> Ask[dict[str, Any]]:
    """Ask to submit a job: the answer is the fields of a :class:`~tollgate.api.SubmitResponse`."""
    return Ask("/v1/jobs", _answered, is_command=True, body=request)


def quote(request: dict[str, Any], reserve: Span | None, levels: bool) -> Ask[dict[str, Any]]:
    asked = dict(request, levels=levels)
    if reserve is not None:
        asked["hold_s"] = span(reserve, "reserve")
    return Ask("/v1/quotes", _answered, is_command=True, body=asked)


def claim(number: int, request: dict[str, Any]) -> Ask[int]:
    # A claim has a key in its path: the service confirms one that it has carried out.
    path = f"/v1/quotes/{number}/claim?key={secrets.token_hex(16)}"
    return Ask(path, lambda answer: int(answer["id"]), is_command=True, body=request)


class JobPages:
    """A list of jobs, which comes in pages: ask :meth:`next` until it is None."""

    def __init__(self, ids: Sequence[JobId] | None, limit: int | None, **asked: Any) -> None:
        instants = {name: to_wire(value) for name, value in asked.items() if isinstance(value, datetime)}
        self._asked: dict[str, Any] = {**asked, **instants}
        self._asked["ids"] = None if ids is None else ",".join(str(one) for one in ids)
        self._limit = limit
        self._is_last = False
        self.found: list[api.JobDetails] = []

    def next(self) -> Ask[None] | None:
        left = PAGE if self._limit is None else min(PAGE, self._limit - len(self.found))
        if self._is_last or left <= 0:
            return None
        return Ask(_path("/v1/jobs", {**self._asked, "limit": left}), self._add)

    def _add(self, answer: Any) -> None:
        page = _wire.read(api.JobList, answer)
        self.found += page.jobs
        self._is_last = not page.more or not page.jobs
        if page.jobs:
            self._asked["before"] = page.jobs[-1].id


def _reader(kind: type[T]) -> Callable[[Any], T]:
    return lambda answer: _wire.read(kind, answer)


def _answered(answer: Any) -> dict[str, Any]:
    return _wire.values(api.SubmitResponse, answer)


def _command(number: JobId, what: str) -> Ask[None]:
    return Ask(_of(number, what), lambda answer: None, is_command=True)


def _of(number: JobId, what: str | None = None) -> str:
    path = f"/v1/jobs/{_quoted(str(number), safe=',-_')}"
    return path if what is None else f"{path}/{what}"


def _path(path: str, asked: dict[str, Any]) -> str:
    given = {name: str(value).lower() if isinstance(value, bool) else value for name, value in asked.items()}
    words = urlencode({name: value for name, value in given.items() if value is not None}, safe=",")
    return f"{path}?{words}" if words else path
