"""Tollgate decides which jobs a shared cluster should promise to finish, by when and at what price.

This package replays records of jobs under scheduling policies, in the calling process and with the results of the
program ``tollgate``, which comes with the package. Tables come from and go to pandas, polars, duckdb and pyarrow by
Arrow; none of these is needed.

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
from tollgate._errors import ArgumentError, InternalError, PolicyError, RecordError, RunError, TollgateError
from tollgate._native import FinishedExperiment, Job, JobList, Picture, PolicyView, Replay, Table
from tollgate._policy import Policy, Reject
from tollgate._program import find_program
from tollgate._replay import policies, read, replay
from tollgate._study import Study, experiments, study

# A replay that was interrupted may still be in a question to a policy.
_atexit.register(_native.join_interrupted)

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "FinishedExperiment",
    "InternalError",
    "Job",
    "JobList",
    "Picture",
    "Policy",
    "PolicyError",
    "PolicyView",
    "RecordError",
    "Reject",
    "Replay",
    "RunError",
    "Study",
    "Table",
    "TollgateError",
    "__version__",
    "experiments",
    "find_program",
    "policies",
    "read",
    "replay",
    "study",
]
