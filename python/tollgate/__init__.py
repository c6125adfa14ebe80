"""Tollgate decides which jobs a shared cluster should promise to finish, by when and at what price.

This package replays records of jobs under scheduling policies, in the calling process and with the results of the
program ``tollgate``, which comes with the package. Tables come from and go to pandas, polars, duckdb and pyarrow by
Arrow; none of these is needed. :class:`Client` and :class:`Executor` submit jobs to a running service.

>>> import tollgate as tg
>>> r = tg.replay(policies=["easy", "libra-risk"], last=500)
>>> r.summary["policy"]
['easy', 'libra-risk']
>>> len(r.jobs)
922
"""

from __future__ import annotations

import atexit as _atexit

from tollgate import _native
from tollgate._errors import (
    ArgumentError,
    ConnectionLost,
    InternalError,
    JobLost,
    NotPicklable,
    PolicyError,
    RecordError,
    Rejected,
    RunError,
    ServiceError,
    TollgateError,
)
from tollgate._forecast import forecast
from tollgate._native import FinishedExperiment, Forecast, Job, JobList, Picture, PolicyView, Replay, Table
from tollgate._policy import Policy, Reject
from tollgate._program import find_program
from tollgate._replay import policies, read, replay
from tollgate._study import Study, experiments, study

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tollgate import api
    from tollgate._async_client import AsyncClient, AsyncQuote, AsyncSubmission
    from tollgate._client import Client, Offer, Quote, Submission
    from tollgate._events import AsyncEvents, Event, Events
    from tollgate._executor import Executor, MapResults, Promise, PromisedFuture
    from tollgate._request import JobDescription, JobOptions

# Imported when they are used: connections and dataclasses would take longer to import than everything else.
_LIVE = {
    "AsyncClient": "_async_client",
    "AsyncQuote": "_async_client",
    "AsyncSubmission": "_async_client",
    "AsyncEvents": "_events",
    "Client": "_client",
    "Event": "_events",
    "Events": "_events",
    "JobDescription": "_request",
    "Executor": "_executor",
    "JobOptions": "_request",
    "MapResults": "_executor",
    "Offer": "_client",
    "Promise": "_executor",
    "PromisedFuture": "_executor",
    "Quote": "_client",
    "Submission": "_client",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "api":
        return import_module("tollgate.api")
    if name not in _LIVE:
        raise AttributeError(f"module 'tollgate' has no attribute {name!r}")
    found: object = getattr(import_module(f"tollgate.{_LIVE[name]}"), name)
    globals()[name] = found
    return found


# A replay that was interrupted may still be in a question to a policy.
_atexit.register(_native.join_interrupted)

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "AsyncClient",
    "AsyncEvents",
    "AsyncQuote",
    "AsyncSubmission",
    "Client",
    "ConnectionLost",
    "Event",
    "Events",
    "Executor",
    "FinishedExperiment",
    "Forecast",
    "InternalError",
    "Job",
    "JobDescription",
    "JobList",
    "JobLost",
    "JobOptions",
    "MapResults",
    "NotPicklable",
    "Offer",
    "Picture",
    "Policy",
    "PolicyError",
    "PolicyView",
    "Promise",
    "PromisedFuture",
    "Quote",
    "RecordError",
    "Reject",
    "Rejected",
    "Replay",
    "RunError",
    "ServiceError",
    "Study",
    "Submission",
    "Table",
    "TollgateError",
    "__version__",
    "api",
    "experiments",
    "find_program",
    "forecast",
    "policies",
    "read",
    "replay",
    "study",
]
