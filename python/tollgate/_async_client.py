"""A client of a running service for asyncio."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tollgate import _asks, api
from tollgate._address import find_address
from tollgate._asks import JobId
from tollgate._async_service import AsyncService
from tollgate._client import Offer, altered, answer_of, changed_request, file_of, is_rejected, offers_of, patience
from tollgate._errors import Rejected
from tollgate._events import AsyncEvents
from tollgate._moments import Moment, Span, moment
from tollgate._request import AnyJob, Command, JobOptions, alter_request, job_request, job_requests

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["AsyncClient", "AsyncQuote", "AsyncSubmission"]


@dataclass(frozen=True, kw_only=True)
class AsyncSubmission(api.SubmitResponse):
    """A submitted job, with the answer of the service about it. See :class:`Submission`."""

    # Every submission has one; a default has to be there because the field that it narrows has one.
    id: int = 0
    """Number of the job."""
    _client: AsyncClient = field(repr=False, compare=False)

    @property
    def is_promised(self) -> bool:
        """Whether the deadline is promised; without a deadline, whether the job was admitted."""
        return self.decision == "accepted"

    async def job(self) -> api.JobDetails:
        """Return the job as it is now."""
        return await self._client.job(self.id)

    async def explain(self) -> api.JobExplanation:
        """Return what is expected of the job, and why."""
        return await self._client.explain(self.id)

    async def wait(self, timeout: float | None = None) -> api.JobDetails:
        """Wait until the job is over, and return it; at most ``timeout`` seconds."""
        return await self._client.wait(self.id, timeout)

    async def cancel(self) -> None:
        """Cancel the job."""
        await self._client.cancel(self.id)


@dataclass(frozen=True, kw_only=True)
class AsyncQuote(api.SubmitResponse):
    """The answer about a job that is not submitted. See :class:`Quote`."""

    offers: tuple[Offer[Awaitable[AsyncSubmission]], ...] = ()
    """What would be accepted now instead, or surer promises: ``await offers[0].take()``."""
    _client: AsyncClient = field(repr=False, compare=False)
    _request: dict[str, Any] = field(repr=False, compare=False)

    async def submit(self) -> AsyncSubmission:
        """Submit the job; with ``reserve``, the room that was reserved for it is taken."""
        if self.id is None:
            return await self._client._submit(self._request)
        number = await self._client._service.do(_asks.claim(self.id, self._request))
        return AsyncSubmission(**{**answer_of(self), "id": number}, _client=self._client)


class AsyncClient:
    """A client of a service for asyncio: :class:`Client` with ``await``, for many tasks of one event loop.

    The service is found as by :class:`Client`, at the first request. Arguments and exceptions are the same; in
    ``Rejected.offers``, ``await offers[0].take()``.
    """

    def __init__(
        self,
        *,
        data: str | os.PathLike[str] | None = None,
        url: str | None = None,
        cluster: str | None = None,
        token_file: str | os.PathLike[str] | None = None,
        certificate: str | os.PathLike[str] | None = None,
        ca: str | os.PathLike[str] | None = None,
        fingerprint: str | None = None,
        reconnect: Span | None = None,
    ) -> None:
        address = find_address(
            data=data,
            url=url,
            cluster=cluster,
            token_file=token_file,
            certificate=certificate,
            ca=ca,
            fingerprint=fingerprint,
        )
        self._service = AsyncService(address, patience(reconnect))

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<AsyncClient of {self._service.address}>"

    async def close(self) -> None:
        """Close idle connections."""
        await self._service.close()

    async def status(self) -> api.ServiceStatus:
        """Return the state of the service."""
        return await self._service.do(_asks.status())

    async def nodes(self) -> api.NodeList:
        """Return the nodes and workers."""
        return await self._service.do(_asks.nodes())

    async def quote(
        self, command: Command = (), *, reserve: Span | None = None, levels: bool = False, **options: Unpack[JobOptions]
    ) -> AsyncQuote:
        """Return what the service would answer to a job, as :meth:`Client.quote`."""
        request = job_request(command, options, self._service.address.token_file)
        read = await self._service.do(_asks.quote(request, reserve, levels))
        read["offers"] = offers_of(read, lambda changed: self._submit(changed_request(request, changed)))
        return AsyncQuote(**read, _client=self, _request=request)

    async def submit(self, command: Command, **options: Unpack[JobOptions]) -> AsyncSubmission:
        """Submit a job or an array, as :meth:`Client.submit`.

        Raises:
            Rejected: The service does not admit the job.
        """
        return await self._submit(job_request(command, options, self._service.address.token_file))

    async def submit_all(self, jobs: Sequence[AnyJob], **options: Unpack[JobOptions]) -> list[AsyncSubmission]:
        """Submit different jobs together, as :meth:`Client.submit_all`."""
        requests = job_requests(jobs, options, self._service.address.token_file)
        return [AsyncSubmission(**answer, _client=self) for answer in await self._service.do(_asks.submit_all(requests))]

    async def resubmit(self, job: JobId, *, deadline: Moment | None = None) -> AsyncSubmission:
        """Submit a failed job, or the failed tasks of an array, again, as :meth:`Client.resubmit`."""
        request = {} if deadline is None else moment(deadline, "deadline", of_day="end")
        submitted = AsyncSubmission(**await self._service.do(_asks.resubmit(job, request)), _client=self)
        if is_rejected(submitted):
            raise Rejected(submitted)
        return submitted

    async def alter(
        self,
        job: JobId,
        *,
        name: str | None = None,
        estimate: Span | None = None,
        deadline: Moment | None = None,
        time_limit: Span | None = None,
        max_running: int | str | None = None,
        comment: str | None = None,
    ) -> api.SubmitResponse:
        """Change a job that waits, as :meth:`Client.alter`."""
        change = alter_request(name, estimate, deadline, time_limit, max_running, comment)
        return altered(await self._service.do(_asks.alter(job, change)))

    async def jobs(
        self,
        *,
        ids: Sequence[JobId] | None = None,
        name: str | None = None,
        user: str | None = None,
        account: str | None = None,
        queue: str | None = None,
        state: str | None = None,
        live: bool | None = None,
        failed: bool | None = None,
        promise: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        expect: bool | None = None,
        limit: int | None = None,
    ) -> list[api.JobDetails]:
        """Return jobs, latest first, as :meth:`Client.jobs`."""
        pages = _asks.JobPages(
            ids,
            limit,
            name=name,
            user=user,
            account=account,
            queue=queue,
            state=state,
            live=live,
            failed=failed,
            promise=promise,
            since=since,
            until=until,
            expect=expect,
        )
        while (page := pages.next()) is not None:
            await self._service.do(page)
        return pages.found

    async def job(self, job: JobId) -> api.JobDetails:
        """Return a job, an array, or a task as ``"7_3"``."""
        return await self._service.do(_asks.job(job))

    async def tasks(self, job: JobId, *, failed: bool = False, expect: bool = False) -> list[api.JobDetails]:
        """Return the tasks of an array, at most 10,000."""
        return await self._service.do(_asks.tasks(job, failed, expect))

    async def explain(self, job: JobId) -> api.JobExplanation:
        """Return what is expected of a job, and why."""
        return await self._service.do(_asks.explain(job))

    async def history(self, job: JobId) -> api.JobHistory:
        """Return what happened to a job."""
        return await self._service.do(_asks.history(job))

    async def wait(self, job: JobId, timeout: float | None = None) -> api.JobDetails:
        """Wait until a job is over, and return it; TimeoutError after ``timeout`` seconds."""
        try:
            return await self._service.do(_asks.wait(job, timeout))
        except TimeoutError:
            raise TimeoutError(f"job {job}: not over after {timeout:g} s") from None

    async def output(self, job: JobId, *, error: bool = False, last: int | None = None) -> str:
        """Return the output of a job or task as text, as :meth:`Client.output`."""
        text = await self._service.do(_asks.output(job, error, last))
        return file_of(await self.job(job), error, last) if text is None else text

    async def cancel(self, job: JobId) -> None:
        """Cancel a job, an array, or some tasks as ``"7_1-5,9"``."""
        await self._service.do(_asks.cancel(job))

    async def hold(self, job: JobId) -> None:
        """Hold a job that waits."""
        await self._service.do(_asks.hold(job))

    async def release(self, job: JobId) -> None:
        """Release a job that is held."""
        await self._service.do(_asks.release(job))

    async def requeue(self, job: JobId) -> None:
        """End a job that runs, and queue it again."""
        await self._service.do(_asks.requeue(job))

    async def signal(self, job: JobId, name: str) -> api.SignalResult:
        """Send a signal to the processes of a job, an array or tasks, as :meth:`Client.signal`."""
        return await self._service.do(_asks.signal(job, name))

    def events(self) -> AsyncEvents:
        """Return the events of jobs, workers and nodes: ``async for event in client.events()``.

        They come from the first step of the iteration on, or from ``async with client.events() as events``. A lost
        connection does not end the iteration.
        """
        return AsyncEvents(self._service.events("/v1/events"))

    async def _submit(self, request: dict[str, Any]) -> AsyncSubmission:
        answer = await self._service.do(_asks.submit(request))
        submitted = AsyncSubmission(**answer, _client=self)
        if is_rejected(submitted):
            raise Rejected(submitted, offers_of(answer, lambda changed: self._submit(changed_request(request, changed))))
        return submitted
