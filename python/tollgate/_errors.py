"""Exceptions of the package."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tollgate._client import Offer
    from tollgate.api import ReasonMessage, SubmitResponse

__all__ = [
    "ArgumentError",
    "ConnectionLost",
    "InternalError",
    "JobLost",
    "NotPicklable",
    "PolicyError",
    "RecordError",
    "Rejected",
    "RunError",
    "ServiceError",
    "TollgateError",
]


class TollgateError(Exception):
    """An error of tollgate, with the next thing to try.

    Attributes:
        message: The problem.
        hint: The next thing to try; None if there is none.
    """

    message: str
    hint: str | None

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        if self.hint is None:
            return self.message
        return f"{self.message}\nhint: {self.hint}"


class ArgumentError(TollgateError, ValueError):
    """An argument that is not understood, or that does not fit the record."""


class RecordError(TollgateError):
    """A record that cannot be read, or has no job that ran."""


class RunError(TollgateError):
    """A replay without a result: a policy could not decide on every job."""


class InternalError(TollgateError):
    """A defect of tollgate. Please report it."""


class PolicyError(RunError):
    """A policy in Python answered what it must not: the message names the method, the job and the time."""


class ServiceError(TollgateError):
    """A request that the service refused.

    Attributes:
        status: The status of HTTP, as 404 for a job that does not exist, and 409 for one that is over.
    """

    status: int

    def __init__(self, message: str, hint: str | None = None, status: int = 0) -> None:
        super().__init__(message, hint)
        self.status = status


class ConnectionLost(TollgateError, ConnectionError):
    """A service that is not there, that did not come back in time, or that is another one than expected."""


class Rejected(TollgateError):
    """A job that the service did not admit.

    Attributes:
        reasons: Why, each with a ``key`` and a ``text``.
        offers: What would be accepted now instead. :meth:`Offer.take` submits it.
        answer: The whole answer.
    """

    answer: SubmitResponse
    reasons: tuple[ReasonMessage, ...]
    offers: tuple[Offer[Any], ...]

    def __init__(self, answer: SubmitResponse, offers: Sequence[Offer[Any]] = ()) -> None:
        self.reasons = answer.reasons or _reasons_of_tasks(answer)
        why = "; ".join(reason.text for reason in self.reasons) or "no reason was given"
        hint = None
        if offers:
            hint = f"`error.offers[0].take()` submits the job with {offers[0].words()}"
        super().__init__(f"rejected: {why}", hint)
        self.answer = answer
        self.offers = tuple(offers)


def _reasons_of_tasks(answer: SubmitResponse) -> tuple[ReasonMessage, ...]:
    """Return why some tasks of an array were not admitted, each reason once."""
    reasons = [reason for part in answer.tasks if part.decision == "rejected" for reason in part.reasons]
    return tuple(dict.fromkeys(reasons))


class JobLost(TollgateError):
    """A call of an executor that ended without a result: its process was killed, reached a limit, or was lost.

    Attributes:
        job: The number of the job or task, as ``"7_3"``.
        state: How it ended, as ``"timed_out"``, ``"out_of_memory"`` or ``"lost"``.
    """

    job: str
    state: str

    def __init__(self, message: str, hint: str | None = None, job: str = "", state: str = "") -> None:
        super().__init__(message, hint)
        self.job = job
        self.state = state


class NotPicklable(ArgumentError, TypeError):
    """A function or an argument that cannot be sent to a worker."""
