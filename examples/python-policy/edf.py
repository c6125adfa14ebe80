#!/usr/bin/env python3
"""Earliest deadline first, in Python: decides as the built-in policy `edf`.

    python examples/python-policy/edf.py [FILE]
"""

import math
import sys

import tollgate as tg


class Edf(tg.Policy):
    """Starts the job that is due first; rejects it if it cannot finish in time by its estimate."""

    def pass_(self, view):
        decided, idle = [], view.n_idle
        for job in sorted(view.queue, key=lambda job: math.inf if job.due is None else job.due):
            if job.procs > idle:
                break
            if job.slack(view.now) < -1e-6:
                decided.append(tg.Reject("too late", job))
            else:
                decided.append(job)
                idle -= job.procs
        return decided


if __name__ == "__main__":
    jobs = sys.argv[1] if len(sys.argv) > 1 else None
    print(tg.replay(jobs, policies=["edf", Edf], last=2000, check=True))
