"""Replays of records under policies."""

from __future__ import annotations

from tollgate import _native

# The module `typing` would take longer to import than the whole package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, timedelta
    from os import PathLike
    from typing import Literal, Protocol, Union

    from tollgate._native import Replay, Table
    from tollgate._policy import Policy

    class ArrowTable(Protocol):
        """A table of any library that speaks Arrow: pyarrow, pandas, polars, duckdb, or a :class:`Table`."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

    Jobs = Union[str, PathLike[str], ArrowTable]
    Progress = Callable[[int, int], object]
    PolicyChoice = Union[str, Policy, type[Policy]]

__all__ = ["policies", "read", "replay"]


def replay(
    jobs: Jobs | None = None,
    *,
    policies: PolicyChoice | Sequence[PolicyChoice] | None = None,
    market: Literal["none", "commodity", "bid"] | None = None,
    nodes: int | str | Sequence[int | str] | None = None,
    first: int | None = None,
    last: int | None = None,
    start: str | int | datetime | None = None,
    end: str | int | datetime | None = None,
    users: str | Sequence[str] | None = None,
    queues: str | Sequence[str] | None = None,
    deadlines: Literal["paper", "habit", "estimate"] | str | None = None,
    estimates: str | None = None,
    learn: Jobs | Sequence[Jobs] | None = None,
    learn_before: bool | None = None,
    overrun: Literal["run", "kill"] | None = None,
    speeds: str | None = None,
    node_memory: str | int | None = None,
    tasks: Literal["rigid", "independent"] | None = None,
    preemption_cost: float | timedelta | None = None,
    unpredictable: str | Sequence[str] | None = None,
    unpredictable_spread: float | None = None,
    by: Literal["queue", "user", "size"] | None = None,
    windows: int | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    calibration: bool | None = None,
    check: bool | None = None,
    threads: int | None = None,
    progress: bool | Progress = False,
    never_ran: Literal["drop", "one"] | None = None,
    arrival_factor: float | None = None,
    inaccuracy: float | None = None,
    high_urgency: float | None = None,
    without_deadline: float | None = None,
    deadline_low: float | None = None,
    deadline_ratio: float | None = None,
    deadline_bias: float | None = None,
    budget_low: float | None = None,
    budget_ratio: float | None = None,
    budget_bias: float | None = None,
    penalty_low: float | None = None,
    penalty_ratio: float | None = None,
    penalty_bias: float | None = None,
    penalty_limit: float | None = None,
) -> Replay:
    """Replay the jobs of a record under policies, and return the results of each.

    Same jobs and arguments give the same results as ``tollgate replay``, to the byte. An argument has the meaning and
    the default of the flag of the same name. Ctrl-C ends a replay; other threads of Python go on meanwhile.

    Args:
        jobs: A path of a trace, of accounting records or of a job table; or a table with ``__arrow_c_stream__``
            whose columns are those of a job table. None is a generated workload, modelled on SDSC SP2.
        policies: Names with parameters, as ``"easy"`` or ``"easy:order=sjf"``, and policies in Python: subclasses of
            :class:`Policy` or objects of them. None is every policy of the market.
        market: ``"none"``, ``"commodity"`` (a price a job) or ``"bid"`` (a bid per user).
        nodes: Number of nodes; ``"+16"`` is 16 more than the record has. Several numbers give results for each.
        first: Number of records that are used, from the beginning.
        last: Number of records that are used, from the end.
        start: Only jobs submitted at this time or later: a date in UTC, or a second of the record's clock.
        end: Only jobs submitted before this time.
        users: Only jobs of these users.
        queues: Only jobs of these queues.
        deadlines: Model of the deadlines that the record does not have.
        estimates: Run times that policies assume: ``"user"``, ``"true"``, ``"forecast:0.9"``,
            ``"user+forecast:0.9"``.
        learn: Records from which run times are learned before the first submission.
        learn_before: Learn from up to 20,000 records before the last ones.
        overrun: Let jobs outlive their estimates (``"run"``), or kill them at that limit (``"kill"``).
        speeds: Speeds of nodes, as ``"64*1,64*1.5"``.
        node_memory: Memory of each node, as ``"4G"`` or in bytes. A job that requests more memory than its processors come
            with gets as many as that memory comes with. None does not count memory.
        tasks: Whether the tasks of jobs that share nodes run in step (``"rigid"``).
        preemption_cost: Work that a paused task loses when it resumes, in seconds.
        unpredictable: Treatments to compare of jobs whose run time cannot be predicted: ``"none"``, ``"no-promise"``,
            ``"limit:4h"``, ``"dedicated:16"``. Each policy runs with each of them.
        unpredictable_spread: How many times as long the longest tenth of a class takes as the shortest tenth, or as a
            minute, from which on its run time counts as unpredictable.
        by: Also measure the jobs by queue, user or number of processors.
        windows: Number of windows into which the record is cut, with the risk of each policy over them.
        seed: Seed of drawn deadlines, budgets and penalty rates.
        seeds: Number of seeds with which each run is repeated.
        calibration: Count the promises of each policy that were kept, for :attr:`Replay.calibration`.
        check: Verify every schedule after each event and at the end.
        threads: Number of policies that run in parallel. None is the number of processors.
        progress: True for a bar on standard error, or a function that gets the numbers of jobs that have been
            submitted and of all jobs.
        never_ran: Leave out jobs that never ran (``"drop"``), or run them for one second (``"one"``).
        arrival_factor: Factor on the times between submissions.
        inaccuracy: Part of the estimates' error to keep: 0 is exact, 1 as recorded.
        high_urgency: Share of jobs with high urgency, 0 to 1.
        without_deadline: Probability that a job without a recorded deadline gets none.
        deadline_low: Mean deadline of jobs with high urgency, as a factor.
        deadline_ratio: Deadlines of jobs with low urgency over those with high urgency.
        deadline_bias: With ``deadlines="paper"``: longer jobs get 1/bias, shorter ones times bias.
        budget_low: Budgets of jobs with low urgency: mean credits for a second of run time.
        budget_ratio: Budgets of jobs with high urgency over those with low urgency.
        budget_bias: Budgets of longer and shorter jobs, as for deadlines.
        penalty_low: Penalty rates of jobs with low urgency: mean credits for a second of delay.
        penalty_ratio: Penalty rates of jobs with high urgency over those with low urgency.
        penalty_bias: Penalty rates of longer and shorter jobs, as for deadlines.
        penalty_limit: The most that a delay costs, in budgets of the job. None is no limit.

    Raises:
        ArgumentError: An argument is not understood.
        RecordError: A record cannot be read, or no job of it ran.
        RunError: A policy could not decide on every job.
        PolicyError: A policy in Python answered what it must not. An exception that it raises arrives as it is, with
            a note of the job.

    >>> r = replay(policies="easy", last=500)
    >>> r.summary["accepted"], r.summary["mean_wait"]
    ([461], [datetime.timedelta(seconds=45691, microseconds=993492)])
    """
    arguments = {
        name: value
        for name, value in locals().items()
        if value is not None and name not in ("jobs", "progress")
    }
    if progress is True:
        with _Bar() as bar:
            return _native.replay(jobs, arguments, bar)
    return _native.replay(jobs, arguments, progress or None)


def read(jobs: Jobs | None = None) -> Table:
    """Read a record, and return its jobs, a row a job.

    Args:
        jobs: A path of a trace, of accounting records or of a job table; or a table. None is the workload that
            :func:`replay` uses without a record.

    Returns:
        A table with the columns of a job table. Instants and spans have the types of Arrow. A column for which the
        record has nothing has only missing values; columns that tollgate does not know follow.

    >>> jobs = read()
    >>> len(jobs), jobs.columns[:5]
    (5000, ['job_id', 'submit', 'runtime', 'procs', 'estimate'])
    """
    return _native.read(jobs)


def policies() -> dict[str, str]:
    """Return the names of the policies, each with a summary.

    >>> policies()["fcfs"]
    'strictly in order of submission; never rejects'
    """
    return dict(_native.policies())


class _Bar:
    """A bar on standard error, once the work has turned out to be long."""

    WIDTH = 40
    QUIET_S = 1.0

    def __init__(self, unit: str = "jobs") -> None:
        import time

        self._unit = unit
        self._clock = time.monotonic
        self._began = self._clock()
        self._is_shown = False

    def __enter__(self) -> _Bar:
        return self

    def __call__(self, done: int, all: int) -> None:
        if all == 0 or (not self._is_shown and self._clock() - self._began < self.QUIET_S):
            return
        self._is_shown = True
        filled = self.WIDTH * done // all
        bar = "#" * filled + "-" * (self.WIDTH - filled)
        import sys

        print(f"\r{bar} {done:,} of {all:,} {self._unit}", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            import sys

            print(file=sys.stderr)
