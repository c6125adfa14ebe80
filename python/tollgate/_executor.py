"""An executor whose calls are jobs of a service, with promised ends."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tollgate import _ends
from tollgate._calls import Arguments, Call, CallFolder
from tollgate._client import Client, Submission, changed_request, offers_of
from tollgate._ends import Batch
from tollgate._errors import ArgumentError, Rejected, ServiceError, TollgateError
from tollgate._request import JobOptions, job_request

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, Unpack

    P = ParamSpec("P")

__all__ = ["Executor", "MapResults", "Promise", "PromisedFuture"]

T = TypeVar("T")

_MAX_NAME = 128
# What a Python needs to be the same one elsewhere.
_VARIABLES = ("LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX")


@dataclass(frozen=True)
class Promise:
    """What the service answered about a call, or about all calls of a ``map`` together."""

    by: datetime | None
    """The promised end, in UTC; None without a promise or without a deadline."""
    probability: float | None
    """Probability of meeting the deadline; None without one."""
    decision: str
    """``"accepted"``, or without a promise ``"unpromised"``, ``"queued"``, ``"waitlisted"`` or ``"deferred"``; of a ``map``
    that is promised in part, that of the rest."""


class PromisedFuture(concurrent.futures.Future[T]):
    """The result of a call that runs as a job.

    Attributes:
        promise: What the service answered.
        job: Number of the job or task, as ``"7"`` or ``"7_3"``, for the commands of the program.
    """

    promise: Promise
    job: str
    _cancel: Callable[[PromisedFuture[T]], bool]
    _is_started = False

    def cancel(self) -> bool:
        """Cancel the job, also while it runs. False if it is over already."""
        return self._cancel(self)

    def running(self) -> bool:
        """Return whether the job has started and is not over."""
        return self._is_started and not self.done()


class MapResults(Generic[T]):
    """The results of a ``map``, in the order of the calls.

    A call that raised does so when its result is asked for; the iterator then goes on with the next one.

    Attributes:
        promise: What the service answered about all calls together; None without calls.
        job: Number of the array; None without calls.
        futures: A future for each task of the array.
    """

    def __init__(
        self,
        futures: list[PromisedFuture[list[T]]],
        promise: Promise | None,
        job: int | None,
        timeout: float | None,
    ) -> None:
        self.futures = futures
        self.promise = promise
        self.job = job
        self._until = None if timeout is None else time.monotonic() + timeout
        self._left = list(reversed(futures))
        self._values: list[T] = []

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        while not self._values:
            if not self._left:
                raise StopIteration
            timeout = None if self._until is None else max(self._until - time.monotonic(), 0)
            future = self._left[-1]
            try:
                self._values = list(reversed(future.result(timeout)))
            finally:
                if future.done():
                    self._left.pop()
        return self._values.pop()


class Executor(concurrent.futures.Executor):
    """Runs calls as jobs of a service: ``submit`` as a job of its own, ``map`` as one array.

    Functions, arguments and results go by pickle, with cloudpickle if it is installed, through a folder that the workers
    must see under the same path. The Python of a worker is that of the caller.

    Args:
        deadline: Latest end of each submission, as ``"+2h"`` or ``"fri 9am"``, in ``options`` as all arguments of
            :meth:`Client.submit`.
        client: The service. Default: that of ``tg.Client()``.
        folder: Directory for the folder. Default: the current one.
        options: See :class:`JobOptions`: ``deadline``, ``estimate``, ``confidence``, ``procs``, ``mem``, ..

    Raises:
        ConnectionLost: No service answers.
        ArgumentError: An argument is not understood.
    """

    def __init__(
        self,
        *,
        client: Client | None = None,
        folder: str | os.PathLike[str] | None = None,
        **options: Unpack[JobOptions],
    ) -> None:
        if "TOLLGATE_IMPORTS_MAIN" in os.environ:
            raise TollgateError(
                "a worker imports this script to find a function in it, and must not submit the calls again",
                'put what the script does under `if __name__ == "__main__":`',
            )
        for name in ("array", "output", "error", "input", "append"):
            if name in options:
                raise ArgumentError(f"{name}: an executor sets it itself")
        self._options: dict[str, Any] = {**options, "env": _environment(options.get("env"))}
        self._options.setdefault("dir", os.getcwd())
        job_request([sys.executable], self._options)  # type: ignore[arg-type]
        self._client = client if client is not None else Client()
        self._lock = threading.RLock()
        self._is_shut_down = False
        self._folder = CallFolder(folder)
        try:
            self._ends = _ends.Ends(self._client, self._lock, self._settle, self._fail)
        except BaseException:
            self._folder.remove()
            raise

    def __repr__(self) -> str:
        return f"<Executor at {self._client._service.address}>"

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> PromisedFuture[T]:
        """Submit a call as a job, and return its future.

        Raises:
            Rejected: The service does not admit the job: ``offers[0].take()`` submits what it would admit, and returns the
                future.
            NotPicklable: The function or an argument cannot be sent.
        """
        call = self._store(fn, [[(args, kwargs)]])
        request = self._request(fn, call, None)
        return self._send_one(call, request)

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        buffersize: int | None = None,
    ) -> MapResults[T]:
        """Submit a call for each of the arguments, all as one array, and return the results in order.

        Args:
            fn: The function.
            iterables: The arguments, as for the built-in ``map``.
            timeout: Maximum number of seconds from now until a result, then TimeoutError.
            chunksize: Number of calls of each task of the array.
            buffersize: Not supported: the array is decided about as a whole.

        Raises:
            Rejected: The service does not admit the array: ``offers[0].take()`` submits what it would admit, and returns
                the results.
            NotPicklable: The function or an argument cannot be sent.
        """
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        if buffersize is not None:
            raise ArgumentError("buffersize: an array is submitted as a whole: expected None")
        calls: list[Arguments] = [(args, {}) for args in zip(*iterables)]
        if not calls:
            return MapResults([], None, None, timeout)
        chunks = [calls[at : at + chunksize] for at in range(0, len(calls), chunksize)]
        call = self._store(fn, chunks)
        request = self._request(fn, call, len(chunks))
        return self._send_array(call, request, len(chunks), timeout)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls, and remove the folder once all are over.

        Args:
            wait: Whether to wait until all calls are over.
            cancel_futures: Whether to cancel the calls that have not started.
        """
        with self._lock:
            self._is_shut_down = True
            open_futures = self._ends.open_futures()
        if cancel_futures:
            for future in open_futures:
                if not future.running():
                    future.cancel()
        if wait:
            concurrent.futures.wait(open_futures)
        self._finish()

    def _store(self, function: Any, chunks: list[list[Arguments]]) -> Call:
        if self._is_shut_down:
            raise RuntimeError("cannot schedule new futures after shutdown")
        return self._folder.add(function, chunks)

    def _request(self, function: Any, call: Call, n_tasks: int | None) -> dict[str, Any]:
        options = {"name": _job_name(function), **self._options}
        options["output"] = call.output if n_tasks is not None else call.output.replace("%a", "0")
        if n_tasks is not None:
            options["array"] = f"0-{n_tasks - 1}"
        return job_request(call.command, options, self._client._service.address.token_file)  # type: ignore[arg-type]

    def _send_one(self, call: Call, request: dict[str, Any]) -> PromisedFuture[Any]:
        def again(changed: dict[str, Any]) -> PromisedFuture[Any]:
            return self._send_one(call, changed_request(request, changed))

        return self._send(call, request, None, again)[1][0]

    def _send_array(
        self, call: Call, request: dict[str, Any], n_tasks: int, timeout: float | None
    ) -> MapResults[Any]:
        def again(changed: dict[str, Any]) -> MapResults[Any]:
            return self._send_array(call, changed_request(request, changed), n_tasks, timeout)

        answer, futures = self._send(call, request, n_tasks, again)
        decisions = [part.decision for part in answer.tasks] or [answer.decision]
        # All of the calls are promised, or there is no promise about them together.
        weakest = next((decision for decision in decisions if decision != "accepted"), "accepted")
        return MapResults(futures, _promise(answer, weakest), answer.id, timeout)

    def _send(
        self, call: Call, request: dict[str, Any], n_tasks: int | None, again: Callable[[dict[str, Any]], T]
    ) -> tuple[Submission, list[PromisedFuture[Any]]]:
        self._ends.expect()
        batch = None
        try:
            try:
                answer = self._client._submit(request)
            except Rejected as error:
                raise Rejected(error.answer, offers_of({"offers": error.answer.offers}, again)) from None
            decisions = _decisions(answer)
            futures = []
            for number in range(n_tasks or 1):
                future: PromisedFuture[Any] = PromisedFuture()
                future.job = str(answer.id) if n_tasks is None else f"{answer.id}_{number}"
                future.promise = _promise(answer, decisions.get(number, answer.decision))
                future._cancel = self._cancel
                futures.append(future)
            batch = Batch(answer.id, call, n_tasks is not None, dict(enumerate(futures)))
            for number, decision in decisions.items():
                if decision == "rejected":
                    batch.futures.pop(number).set_exception(Rejected(answer))
        finally:
            self._ends.expected(batch)
        return answer, futures

    def _cancel(self, future: PromisedFuture[Any]) -> bool:
        if future.done():
            return future.cancelled()
        try:
            self._client.cancel(future.job)
        except ServiceError as error:
            if error.status not in (404, 409):
                raise
            # It is over, and its result is about to come.
            return future.cancelled()
        self._set_cancelled(future)
        return future.cancelled()

    def _settle(self, batch: Batch, future: PromisedFuture[Any], number: int, state: str) -> None:
        """Give a future its result, once its task is over."""
        if state == "cancelled":
            self._set_cancelled(future)
            return
        try:
            may_come = state == "finished"
            if may_come and not batch.call.has_result(number):
                details = self._client.job(future.job)
                may_come = details.exit_code in (0, 1)
                if not may_come and details.status is not None:
                    state = details.status
            values, error = batch.call.outcome(number, future.job, state, may_come)
        except Exception as problem:
            values, error = [], problem
        # It may have been cancelled meanwhile.
        with contextlib.suppress(concurrent.futures.InvalidStateError):
            if error is None:
                future.set_result(values if batch.is_array else values[0])
            else:
                future.set_exception(error)

    def _set_cancelled(self, future: PromisedFuture[Any]) -> None:
        with self._lock:
            is_first = not future.done() and concurrent.futures.Future.cancel(future)
        if is_first:
            future.set_running_or_notify_cancel()

    def _fail(self, error: BaseException) -> None:
        """Give every open future the error that ended the stream of events."""
        for future in self._ends.open_futures():
            with contextlib.suppress(concurrent.futures.InvalidStateError):
                future.set_exception(error)

    def _finish(self) -> None:
        # First, so that the end of the last call is not missed.
        self._ends.on_idle = self._finish
        if not self._ends.open_futures():
            self._ends.close()
            self._folder.remove()


def _promise(answer: Submission, decision: str) -> Promise:
    by = answer.deadline_at if decision == "accepted" else None
    return Promise(by, answer.probability, decision)


def _decisions(answer: Submission) -> dict[int, str]:
    """Return the decisions about the tasks of an array, if they differ."""
    return {number: part.decision for part in answer.tasks for number in _ends.numbers(part.tasks)}


def _job_name(function: Any) -> str:
    function = getattr(function, "func", function)
    name = str(getattr(function, "__qualname__", None) or type(function).__qualname__)
    return "".join(letter for letter in name if letter.isprintable())[:_MAX_NAME] or "call"


def _environment(given: Any) -> Mapping[str, str] | str:
    if given == "all":
        return "all"
    chosen = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    chosen.update({name: value for name, value in os.environ.items() if name.startswith("PYTHON")})
    if isinstance(given, Mapping):
        return {**chosen, **given}
    for name in given or ():
        if name not in os.environ:
            raise ArgumentError(f"env: there is no variable `{name}` to give on")
        chosen[name] = os.environ[name]
    return chosen
