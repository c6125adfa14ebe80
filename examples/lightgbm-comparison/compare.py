#!/usr/bin/env python3
"""Forecasts the run times of a record by LightGBM, and compares them with those of `tollgate forecast evaluate`.

    pip install -r requirements.txt
    compare.py [--tollgate PROGRAM] TRACE.swf[.gz]..

Causal: a job is forecast from what was known at its submission. A model for each level learns anew every 30 days from the
last 50,000 jobs that had ended. Its forecasts are moved by an offset for each level, which follows whether they held; each is
judged when it falls due. Before the first model, the quantiles of all ended jobs are the forecast. Printed is the mean pinball
loss, of logarithms of seconds, with a run time below a second as one second.
"""

import argparse
import collections
import datetime
import gzip
import heapq
import itertools
import json
import math
import statistics
import subprocess

import lightgbm
import numpy

LEVELS = (0.5, 0.9, 0.95)
DAY_S = 86_400
REFIT_S = 30 * DAY_S
FIRST_ROWS = 500
LAST_ROWS = 50_000
STEP = 0.02
SETTINGS = {
    "objective": "quantile",
    "learning_rate": 0.05,
    "num_leaves": 31,
    "min_data_in_leaf": 20,
    "deterministic": True,
    "force_row_wise": True,
    "seed": 1,
    "num_threads": 1,
    "verbosity": -1,
}
ROUNDS = 150

Job = collections.namedtuple("Job", "submit start end ln_run procs request user group executable queue")


def read(path):
    """Returns the jobs of a record in the Standard Workload Format that ran, in the order of their submissions."""
    jobs, begin = [], 0
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", errors="replace") as lines:
        for line in lines:
            if line.startswith(";"):
                if "UnixStartTime" in line:
                    begin = int(line.split(":")[1].split()[0])
                continue
            fields = [float(field) for field in line.split()]
            if len(fields) < 18 or fields[3] <= 0:
                continue
            submit, wait, run = fields[1] + begin, max(fields[2], 0.0), fields[3]
            procs = next((procs for procs in (fields[4], fields[7]) if procs > 0), 1)
            request = fields[8] if fields[8] > 0 else math.nan
            ids = [int(field) + 1 for field in (fields[11], fields[12], fields[13], fields[14])]
            jobs.append(Job(submit, submit + wait, submit + wait + run, math.log(max(run, 1.0)), procs, request, *ids))
    jobs.sort(key=lambda job: job.submit)
    return jobs


class Known:
    """What is known at an instant: the last ended jobs of several kinds, and how many have not ended."""

    def __init__(self):
        self.ended = collections.defaultdict(lambda: collections.deque(maxlen=5))
        self.ratios = collections.defaultdict(lambda: collections.deque(maxlen=5))
        self.site = collections.deque(maxlen=100)
        self.n_open = collections.Counter()

    @staticmethod
    def kinds(job):
        own = ("user", job.user)
        alike = ("alike", job.user, job.executable, job.procs, job.request if job.request == job.request else None)
        return own, ("executable", job.user, job.executable), ("procs", job.user, job.procs), alike

    def features(self, job):
        at = datetime.datetime.fromtimestamp(job.submit, datetime.UTC)
        own, *_, alike = self.kinds(job)
        row = [job.user, job.group, job.executable, job.queue]
        row += [math.log(job.procs), math.log(job.request) if job.request == job.request else math.nan, at.hour, at.weekday()]
        row += [self.n_open[own], self.n_open[alike]]
        for kind in self.kinds(job):
            last = self.ended[kind]
            row += [last[-1], statistics.median(last), max(last), min(last)] if last else [math.nan] * 4
        row += (list(self.ended[own]) + [math.nan] * 5)[:5]
        ratios = self.ratios[job.user]
        row.append(statistics.median(ratios) + row[5] if ratios else math.nan)
        row.append(statistics.median(self.site) if self.site else math.nan)
        return row

    def submit(self, job):
        own, *_, alike = self.kinds(job)
        self.n_open[own] += 1
        self.n_open[alike] += 1

    def end(self, job):
        own, *_, alike = self.kinds(job)
        self.n_open[own] -= 1
        self.n_open[alike] -= 1
        for kind in self.kinds(job):
            self.ended[kind].append(job.ln_run)
        if job.request == job.request:
            self.ratios[job.user].append(job.ln_run - math.log(job.request))
        self.site.append(job.ln_run)


def features_of(jobs):
    """Returns a row of features for each job, and the places of those that had ended by each submission: how many, of the list of
    all places in the order of the ends."""
    known, events, rows, n_ended = Known(), [], [], []
    by_end = []
    for place, job in enumerate(jobs):
        while events and events[0][0] <= job.submit:
            _, ended = heapq.heappop(events)
            known.end(jobs[ended])
            by_end.append(ended)
        rows.append(known.features(job))
        n_ended.append(len(by_end))
        known.submit(job)
        heapq.heappush(events, (job.end, place))
    return numpy.array(rows), n_ended, by_end


def models_of(rows, targets):
    """Returns a model for each level."""
    data = lightgbm.Dataset(rows, targets, categorical_feature=[0, 1, 2, 3], free_raw_data=False)
    return [lightgbm.train({**SETTINGS, "alpha": level}, data, ROUNDS) for level in LEVELS]


def bounds_of(jobs):
    """Returns the logarithms of the bounds of each job at the levels, before the offsets; not numbers before the first model."""
    rows, n_ended, by_end = features_of(jobs)
    targets = numpy.array([job.ln_run for job in jobs])
    bounds = numpy.full((len(jobs), len(LEVELS)), math.nan)
    begin = next((place for place, n in enumerate(n_ended) if n >= FIRST_ROWS), len(jobs))
    while begin < len(jobs):
        until = jobs[begin].submit + REFIT_S
        end = next((place for place in range(begin, len(jobs)) if jobs[place].submit >= until), len(jobs))
        learned = by_end[max(0, n_ended[begin] - LAST_ROWS) : n_ended[begin]]
        for level, model in enumerate(models_of(rows[learned], targets[learned])):
            bounds[begin:end, level] = model.predict(rows[begin:end])
        begin = end
    return bounds


def forecasts(jobs):
    """Yields each job with the logarithms of its bounds at the levels."""
    order, events, offsets, ended = itertools.count(), [], [0.0] * len(LEVELS), []
    for job, bounds in zip(jobs, bounds_of(jobs)):
        while events and events[0][0] <= job.submit:
            _, _, other, level, is_kept = heapq.heappop(events)
            if level is None:
                ended.append(other.ln_run)
            else:
                offsets[level] += STEP * (LEVELS[level] - 1.0 if is_kept else LEVELS[level])
        if math.isnan(bounds[0]):
            bounds = numpy.quantile(ended, LEVELS) if ended else None
        else:
            bounds = bounds + offsets
            for level, bound in enumerate(bounds):
                is_kept = job.ln_run <= bound
                due = job.end if is_kept else job.start + math.exp(bound)
                heapq.heappush(events, (due, next(order), job, level, is_kept))
        if bounds is not None:
            yield job, bounds
        heapq.heappush(events, (job.end, next(order), job, None, None))


def judged(jobs):
    """Returns the number of forecasts and, by level, the part that was kept and the mean pinball loss."""
    n, kept, loss = 0, [0] * len(LEVELS), [0.0] * len(LEVELS)
    for job, bounds in forecasts(jobs):
        n += 1
        for at, (level, bound) in enumerate(zip(LEVELS, bounds)):
            kept[at] += job.ln_run <= bound
            loss[at] += max(level * (job.ln_run - bound), (level - 1.0) * (job.ln_run - bound))
    return n, [part / n for part in kept], [part / n for part in loss]


def stated(program, path):
    """Returns the number of forecasts of tollgate and, by level, the part that was kept and the mean pinball loss."""
    command = [program, "forecast", "evaluate", path, "--format", "json", "--quiet"]
    causal = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["aggregate"]["causal"]
    keys = [str(level) for level in LEVELS]
    return causal["promises"], [causal["coverage"][key] for key in keys], [causal["pinball"][key] for key in keys]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tollgate", default="tollgate", metavar="PROGRAM")
    parser.add_argument("traces", nargs="+", metavar="TRACE")
    args = parser.parse_args()
    print("| trace | forecasts by | jobs | kept at 0.50 | at 0.90 | at 0.95 | loss at 0.50 | at 0.90 | at 0.95 |")
    print("|---|---|---|---|---|---|---|---|---|")
    for path in args.traces:
        ours, theirs = stated(args.tollgate, path), judged(read(path))
        name = path.rsplit("/", 1)[-1].split(".swf")[0]
        for by, (n, kept, loss) in (("tollgate", ours), ("LightGBM", theirs)):
            cells = [name, by, str(n), *(f"{part:.3f}" for part in kept), *(f"{part:.4f}" for part in loss)]
            print(f"| {' | '.join(cells)} |", flush=True)
        ratios = (f"{our / their:.3f}" for our, their in zip(ours[2], theirs[2]))
        print(f"| {name} | tollgate / LightGBM |  |  |  |  | {' | '.join(ratios)} |", flush=True)


main()
