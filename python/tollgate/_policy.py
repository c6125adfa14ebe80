"""Policies that are written in Python."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Union

    from tollgate._native import Job, PolicyView

__all__ = ["Policy", "Reject"]


class Reject:
    """The rejection of a job.

    Args:
        reason: A few words, as ``"too wide"``; results show ``too_wide``.
        job: The job, in an answer of ``pass_``. The answer of ``admit`` needs none.
    """

    __slots__ = ("job", "reason")

    def __init__(self, reason: str, job: Union[Job, int, None] = None) -> None:
        self.reason = reason
        self.job = job

    def __repr__(self) -> str:
        return f"Reject({self.reason!r})" if self.job is None else f"Reject({self.reason!r}, {self.job!r})"


class Policy:
    """The base of policies in Python, for :func:`tollgate.replay` and :func:`tollgate.study`.

    A subclass has a method ``admit`` or ``key``, or both, which change the policy ``base``; or ``pass_``, which decides
    alone. Each run of a replay has an object of its own: a new one of a class, or a copy of an object. Times are
    seconds of the clock of the record, and numbers of seconds.

    >>> import tollgate as tg
    >>> class Narrow(tg.Policy):
    ...     base = "easy"
    ...     def admit(self, job, view):
    ...         return job.procs <= 64 or tg.Reject("too wide")
    >>> r = tg.replay(policies=["easy", Narrow], last=500)
    >>> r.summary["policy"], r.summary["accepted"]
    (['easy', 'Narrow'], [461, 458])
    """

    name: str | None = None
    """The name in the results. None is the name of the class."""

    base: str | None = None
    """The policy that is changed, with its parameters. None is ``"fcfs"``."""

    def admit(self, job: Job, view: PolicyView) -> bool | Reject:
        """Return whether a submitted job, which ``base`` would take, is admitted.

        Args:
            job: The job.
            view: The machine before the submission. It can be read during the call only.
        """
        return True

    def key(self, job: Job, now: float) -> float:
        """Return the place of a job in the queue: jobs start in ascending order, ties in the order of submission.

        It is asked when a job joins the queue, and once more in the first pass after its deadline.
        """
        return 0.0

    def pass_(self, view: PolicyView) -> Iterable[Job | int | Reject]:
        """Return the jobs that start now, in this order, each on the lowest idle nodes; and rejections, with their jobs.

        It is asked after the submissions and ends of an instant, if a job waits.
        """
        return ()
