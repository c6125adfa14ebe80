"""Forecasts of run times, learned from records."""

from __future__ import annotations

from tollgate import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from tollgate._native import Forecast
    from tollgate._replay import Jobs

    ClassKey = Literal["user", "group", "account", "executable", "queue", "procs", "estimate"]

__all__ = ["forecast"]


def forecast(
    jobs: Jobs | Sequence[Jobs] | None = None,
    *,
    by: ClassKey | Sequence[ClassKey] | None = None,
    series: int = 160,
) -> Forecast:
    """Learn how long jobs take from records of jobs that have ended, and return the forecasts.

    The numbers are those of ``tollgate forecast`` for the same records. Ctrl-C ends the learning, once a record that
    is being read is read.

    Args:
        jobs: A path of a trace, of accounting records or of a job table; or a table with ``__arrow_c_stream__``
            whose columns are those of a job table; or several of them. None is the workload that :func:`replay` uses
            without a record.
        by: Keys that make a class. None is the user, split where that helps.
        series: Minimum number of jobs of a class to count its errors in :attr:`Forecast.calibration`.

    Raises:
        ArgumentError: An argument is not understood.
        RecordError: A record cannot be read, or no job of it ran.

    >>> f = forecast()
    >>> f
    <tollgate.Forecast: 4536 jobs from the embedded workload>
    >>> [str(bound).split(".")[0] for bound in f.quantiles([0.1, 0.5, 0.9], user="user1", procs=8, estimate=3600)]
    ['0:00:43', '0:03:53', '0:35:18']
    """
    return _native.forecast(jobs, by, series)
