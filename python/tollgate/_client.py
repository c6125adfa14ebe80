"""A client of a running service."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tollgate import _asks, api
from tollgate._address import find_address
from tollgate._asks import JobId
from tollgate._connection import Service
from tollgate._errors import ArgumentError, Rejected, ServiceError
from tollgate._events import Events
from tollgate._moments import Moment, Span, moment, span, to_wire
from tollgate._request import AnyJob, Command, JobOptions, alter_request, job_request, job_requests

if TYPE_CHECKING:
    # A feature of Python 3.11 and of type checkers; nothing is imported at run time.
    from typing_extensions import Unpack

__all__ = ["Client", "Offer", "Quote", "Submission"]

T = TypeVar("T")

_MAX_OUTPUT = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Offer(api.JobOffer, Generic[T]):
    """What the service would accept now: the job with one change."""

    _take: Callable[[dict[str, Any]], T] = field(repr=False, compare=False)

    def take(self) -> T:
        """Submit the job with the change.

        Raises:
            Rejected: What the offer rests on is gone.
        """
        changed: dict[str, Any] = {}
        if self.change == "deadline":
            changed = {"deadline_at": None, "deadline_s": None}
            if self.deadline_s is not None:
                changed["deadline_s"] = self.deadline_s
            elif self.deadline_at is not None:
                changed["deadline_at"] = to_wire(self.deadline_at)
        elif self.change == "budget":
            changed = {"budget": self.budget}
        elif self.change == "procs":
            changed = {"procs": self.procs}
        elif self.change == "confidence":
            changed = {"confidence": self.confidence, "at_least": None}
        else:
            raise ArgumentError(f"an offer of another {self.change} is one of a later version of the service")
        return self._take(changed)

    def words(self) -> str:
        """Return the change in words."""
        if self.change == "deadline" and self.deadline_at is not None:
            return f"a deadline of {self.deadline_at.isoformat(sep=' ', timespec='seconds')}"
        values = {"budget": self.budget, "procs": self.procs, "confidence": self.confidence}
        return f"{self.change}={values.get(self.change)}"


@dataclass(frozen=True, kw_only=True)
class Submission(api.SubmitResponse):
    """A submitted job, with the answer of the service about it."""

    # Every submission has one; a default has to be there because the field that it narrows has one.
    id: int = 0
    """Number of the job."""
    _client: Client = field(repr=False, compare=False)

    @property
    def is_promised(self) -> bool:
        """Whether the deadline is promised; without a deadline, whether the job was admitted."""
        return self.decision == "accepted"

    def job(self) -> api.JobDetails:
        """Return the job as it is now."""
        return self._client.job(self.id)

    def explain(self) -> api.JobExplanation:
        """Return what is expected of the job, and why."""
        return self._client.explain(self.id)

    def wait(self, timeout: float | None = None) -> api.JobDetails:
        """Wait until the job is over, and return it; at most ``timeout`` seconds."""
        return self._client.wait(self.id, timeout)

    def cancel(self) -> None:
        """Cancel the job."""
        self._client.cancel(self.id)


@dataclass(frozen=True, kw_only=True)
class Quote(api.SubmitResponse):
    """The answer about a job that is not submitted."""

    offers: tuple[Offer[Submission], ...] = ()
    """What would be accepted now instead, or surer promises."""
    _client: Client = field(repr=False, compare=False)
    _request: dict[str, Any] = field(repr=False, compare=False)

    def submit(self) -> Submission:
        """Submit the job; with ``reserve``, the room that was reserved for it is taken.

        Raises:
            Rejected: What the answer rests on is gone.
        """
        if self.id is None:
            return self._client._submit(self._request)
        return self._client._claim(self)


class Client:
    """A client of a service, for several threads at once.

    Without arguments it finds the service as the program does: at ``TOLLGATE_URL``, or in the data directory
    ``TOLLGATE_DATA``, by default ``~/.local/state/tollgate``.

    Args:
        data: Data directory of a service of this host.
        url: URL of a service on another host, ``https://HOST:PORT``.
        cluster: Name of a cluster in the user's file, as ``tollgate cluster list`` shows it.
        token_file: With ``url``: file with the token. Default: ``TOLLGATE_TOKEN_FILE``.
        certificate: With ``url``: file with the client's certificate and key. Default: ``TOLLGATE_CERTIFICATE``.
        ca: With ``url``: file with the certificates to trust. Default: ``TOLLGATE_CA``.
        fingerprint: With ``url``: key of the service, as ``tollgate serve`` prints it, instead of ``ca``. Default:
            ``TOLLGATE_FINGERPRINT``.
        reconnect: Time for which a request is sent again after a lost connection, also to a service that is not there
            yet. None is 60 seconds, without limit for :meth:`wait`. Nothing is submitted or changed twice.

    Raises:
        ConnectionLost: No service answers there, or not the expected one.
        ArgumentError: The address or a file is not understood.
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
        self._service = Service(address, patience(reconnect))

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of {self._service.address}>"

    def close(self) -> None:
        """Close idle connections. The client can be used afterwards."""
        self._service.close()

    def status(self) -> api.ServiceStatus:
        """Return the state of the service: its policy, and the numbers of nodes and jobs."""
        return self._service.do(_asks.status())

    def nodes(self) -> api.NodeList:
        """Return the nodes and workers."""
        return self._service.do(_asks.nodes())

    def quote(
        self, command: Command = (), *, reserve: Span | None = None, levels: bool = False, **options: Unpack[JobOptions]
    ) -> Quote:
        """Return what the service would answer to a job, which is not submitted.

        Args:
            command: Program and its arguments; a quote needs none.
            reserve: Time for which the room is reserved, at most an hour. :meth:`Quote.submit` then takes it.
            levels: Whether ``offers`` has surer promises and their prices.
            options: See :class:`JobOptions`.
        """
        request = job_request(command, options, self._service.address.token_file)
        read = self._service.do(_asks.quote(request, reserve, levels))
        read["offers"] = offers_of(read, lambda changed: self._submit(changed_request(request, changed)))
        return Quote(**read, _client=self, _request=request)

    def submit(self, command: Command, **options: Unpack[JobOptions]) -> Submission:
        """Submit a job, or an array with ``array="1-1000"``, and return the answer.

        A lost answer is asked for again, with the same key: the job is submitted once.

        Args:
            command: Program and its arguments; a text is split as a shell does. A script that is named with its path, as
                ``./job.sh``, is copied.
            options: See :class:`JobOptions`; they have the meaning of the flags of ``tollgate submit``.

        Raises:
            Rejected: The service does not admit the job, or no task of the array.
            ArgumentError: An argument is not understood.
            ServiceError: The service refuses the request.
        """
        return self._submit(job_request(command, options, self._service.address.token_file))

    def submit_all(self, jobs: Sequence[AnyJob], **options: Unpack[JobOptions]) -> list[Submission]:
        """Submit different jobs together, in one request, and return their answers in order.

        All of them are stored, or no job is. A job that is not admitted raises nothing: its ``decision`` is ``"rejected"``.

        Args:
            jobs: Commands, or mappings with ``command`` and options that only this job has; at most 1,000.
            options: The options of all jobs: see :class:`JobOptions`.

        Raises:
            ArgumentError: An argument is not understood.
            ServiceError: The service refuses the request.
        """
        requests = job_requests(jobs, options, self._service.address.token_file)
        return [Submission(**answer, _client=self) for answer in self._service.do(_asks.submit_all(requests))]

    def resubmit(self, job: JobId, *, deadline: Moment | None = None) -> Submission:
        """Submit a failed job, or the failed tasks of an array, again, and return the answer about the new job.

        Args:
            job: Number of the job.
            deadline: Deadline of the new job. None is no deadline.

        Raises:
            Rejected: The service does not admit it.
        """
        request = {} if deadline is None else moment(deadline, "deadline", of_day="end")
        answer = self._service.do(_asks.resubmit(job, request))
        submitted = Submission(**answer, _client=self)
        if is_rejected(submitted):
            raise Rejected(submitted)
        return submitted

    def alter(
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
        """Change a job that waits, and return the answer about the changed job. What is not given stays as it is.

        Args:
            job: Number of the job or array.
            name: Name.
            estimate: Expected run time.
            deadline: Latest finish; ``"none"`` takes it away.
            time_limit: Time after which it is ended; ``"none"`` takes it away.
            max_running: Maximum number of tasks of an array that run at once; ``"none"`` takes it away.
            comment: Remark; an empty one takes it away.

        Raises:
            Rejected: The changed job would not be admitted: it stays as it was, with its promise.
            ServiceError: The job runs or is over (status 409).
        """
        change = alter_request(name, estimate, deadline, time_limit, max_running, comment)
        return altered(self._service.do(_asks.alter(job, change)))

    def jobs(
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
        """Return jobs, latest first. A job is listed if all that is given applies.

        Args:
            ids: Jobs and tasks, at most 1,000.
            name: Name of the job.
            user: Login of the user.
            account: Account, a label.
            queue: Queue, a label.
            state: State, as ``"running"``.
            live: Only jobs that are not over.
            failed: Only jobs that failed.
            promise: ``"kept"``, ``"broken"``, ``"void"``, ``"at_risk"`` or ``"none"``.
            since: Only jobs that were not over before this instant.
            until: Only jobs submitted before this instant.
            expect: Whether each unfinished job has ``expected``, which costs the service one look ahead.
            limit: Maximum number of jobs. None is all of them.
        """
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
            self._service.do(page)
        return pages.found

    def job(self, job: JobId) -> api.JobDetails:
        """Return a job, an array, or a task as ``"7_3"``."""
        return self._service.do(_asks.job(job))

    def tasks(self, job: JobId, *, failed: bool = False, expect: bool = False) -> list[api.JobDetails]:
        """Return the tasks of an array, at most 10,000; only those that failed with ``failed``."""
        return self._service.do(_asks.tasks(job, failed, expect))

    def explain(self, job: JobId) -> api.JobExplanation:
        """Return what is expected of a job, and why."""
        return self._service.do(_asks.explain(job))

    def history(self, job: JobId) -> api.JobHistory:
        """Return what happened to a job, and how its expected end moved."""
        return self._service.do(_asks.history(job))

    def wait(self, job: JobId, timeout: float | None = None) -> api.JobDetails:
        """Wait until a job is over, and return it.

        A lost connection does not end the wait.

        Args:
            job: Number of the job, the array or the task.
            timeout: Maximum number of seconds.

        Raises:
            TimeoutError: The job is not over after ``timeout`` seconds.
        """
        try:
            return self._service.do(_asks.wait(job, timeout))
        except TimeoutError:
            raise TimeoutError(f"job {job}: not over after {timeout:g} s") from None

    def output(self, job: JobId, *, error: bool = False, last: int | None = None) -> str:
        """Return the output of a job or task as text, at most 1 MiB of it; with ``last``, the last bytes."""
        text = self._service.do(_asks.output(job, error, last))
        return file_of(self.job(job), error, last) if text is None else text

    def cancel(self, job: JobId) -> None:
        """Cancel a job, an array, or some tasks as ``"7_1-5,9"``.

        Raises:
            ServiceError: The job is over (status 409), or there is none (status 404).
        """
        self._service.do(_asks.cancel(job))

    def hold(self, job: JobId) -> None:
        """Hold a job that waits."""
        self._service.do(_asks.hold(job))

    def release(self, job: JobId) -> None:
        """Release a job that is held."""
        self._service.do(_asks.release(job))

    def requeue(self, job: JobId) -> None:
        """End a job that runs, and queue it again."""
        self._service.do(_asks.requeue(job))

    def signal(self, job: JobId, name: str) -> api.SignalResult:
        """Send a signal to the processes of a job, an array or tasks, as ``"USR1"``, and return how many got it.

        Raises:
            ServiceError: The job does not run (status 409).
        """
        return self._service.do(_asks.signal(job, name))

    def events(self) -> Events:
        """Return the events of jobs, workers and nodes from now on, which can be iterated without end.

        A lost connection does not end the iteration. A user gets the events of the own jobs.
        """
        return Events(self._service.events("/v1/events"))

    def _submit(self, request: dict[str, Any]) -> Submission:
        answer = self._service.do(_asks.submit(request))
        submitted = Submission(**answer, _client=self)
        if is_rejected(submitted):
            raise Rejected(submitted, offers_of(answer, lambda changed: self._submit(changed_request(request, changed))))
        return submitted

    def _claim(self, quote: Quote) -> Submission:
        number = self._service.do(_asks.claim(quote.id or 0, quote._request))
        return Submission(**{**answer_of(quote), "id": number}, _client=self)


def answer_of(quote: api.SubmitResponse) -> dict[str, Any]:
    """Return the fields of an answer."""
    return {each.name: getattr(quote, each.name) for each in fields(api.SubmitResponse)}


def altered(answer: api.AlterResponse) -> api.SubmitResponse:
    """Return the answer about a changed job.

    Raises:
        Rejected: The job stays as it was.
    """
    if not answer.altered:
        raise Rejected(answer.answer)
    return answer.answer


def is_rejected(answer: api.SubmitResponse) -> bool:
    """Return whether a job, or every task of an array, was not admitted."""
    return answer.decision == "rejected" and all(task.decision == "rejected" for task in answer.tasks)


def offers_of(answer: dict[str, Any], take: Callable[[dict[str, Any]], T]) -> tuple[Offer[T], ...]:
    """Return the offers of an answer, each with what its ``take`` does."""
    return tuple(
        Offer(**{each.name: getattr(offer, each.name) for each in fields(api.JobOffer)}, _take=take)
        for offer in answer.get("offers", ())
    )


def changed_request(request: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    """Return a request with other values; None takes a field away."""
    return {name: value for name, value in {**request, **changed}.items() if value is not None}


def file_of(job: api.JobDetails, error: bool, last: int | None) -> str:
    """Return what a file of this host has: the service leaves it to those who may read it."""
    path = (job.error if error else None) or job.output
    if path is None:
        return ""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - min(last or _MAX_OUTPUT, _MAX_OUTPUT)) if last else 0)
            return file.read(_MAX_OUTPUT).decode(errors="replace")
    except OSError as problem:
        raise ServiceError(f"job {job.id}: {path}: cannot be read: {problem.strerror}") from None


def patience(reconnect: Span | None) -> float | None:
    """Return a time of trying again in seconds: 0 is possible, unlike in other spans."""
    return None if reconnect is None else 0.0 if reconnect == 0 else span(reconnect, "reconnect")
