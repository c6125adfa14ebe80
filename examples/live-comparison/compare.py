#!/usr/bin/env python3
"""Runs the same jobs under several policies, each on a service of its own on this machine.

    compare.py [--tollgate PROGRAM] [--jobs N] [--seeds N] [--load X] POLICY...

Each job uses processor time, as much as a draw says; its user's estimate is wrong by a factor of 0.3 to 5, and
its deadline is a factor of what such jobs usually need. All policies get the same jobs at the same instants. Prints a table
of what `tollgate status` says at the end. The machine should do nothing else.
"""

import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

BURN = "import sys, time\nwhile time.process_time() < float(sys.argv[1]): pass"
CLASSES = 6


def draw(seed, n_jobs, load, cores):
    """Returns (instant of submission, class, processor time, estimate, deadline) of each job, in seconds."""
    rng = random.Random(seed)
    typical = [math.exp(rng.uniform(math.log(0.5), math.log(4.0))) for _ in range(CLASSES)]
    mean = sum(typical) / CLASSES
    at, jobs = 0.0, []
    for _ in range(n_jobs):
        kind = rng.randrange(CLASSES)
        need = typical[kind] * math.exp(rng.uniform(math.log(0.7), math.log(1.4)))
        estimate = need * math.exp(rng.uniform(math.log(0.3), math.log(5.0)))
        deadline = 1.0 + typical[kind] * math.exp(rng.uniform(math.log(1.5), math.log(12.0)))
        jobs.append((at, kind, need, max(estimate, 0.1), deadline))
        at += rng.expovariate(load * cores / mean)
    return jobs


def run(program, policy, jobs):
    """Returns the objectives of a service after it has run these jobs."""
    data = tempfile.mkdtemp(prefix="tollgate-compare-")
    env = dict(os.environ, TOLLGATE_DATA=data)
    with open(os.path.join(data, "config.toml"), "w", encoding="utf-8") as config:
        config.write(f'policy = "{policy}"\n')
    service = subprocess.Popen(
        [program, "serve"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while subprocess.run([program, "status"], env=env, capture_output=True).returncode:
            time.sleep(0.05)
        start = time.monotonic()
        for at, kind, need, estimate, deadline in jobs:
            time.sleep(max(0.0, start + at - time.monotonic()))
            command = [program, "submit", "--quiet", "--name", f"class-{kind}", "--output", "none"]
            command += ["--estimate", f"{estimate:.3f}s", "--deadline", f"+{deadline:.3f}s"]
            command += ["--", sys.executable, "-c", BURN, f"{need:.3f}"]
            subprocess.run(command, env=env, capture_output=True)
        while True:
            status = json.loads(
                subprocess.run(
                    [program, "status", "--format", "json"], env=env, capture_output=True, check=True
                ).stdout
            )
            if status["running"] + status["queued"] == 0:
                return status["objectives"]
            time.sleep(0.2)
    finally:
        service.terminate()
        service.wait()
        shutil.rmtree(data, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("policies", nargs="+", metavar="POLICY")
    parser.add_argument("--tollgate", default="tollgate")
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--load", type=float, default=1.0)
    args = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    print(f"{'policy':<28} {'seed':>4} {'submitted':>9} {'accepted':>8} {'kept':>5} {'broken':>6} {'SLA %':>6} {'reliability %':>13}")
    for policy in args.policies:
        for seed in range(1, args.seeds + 1):
            of = run(args.tollgate, policy, draw(seed, args.jobs, args.load, cores))
            reliability = of.get("reliability_pct")
            reliability = "-" if reliability is None else f"{reliability:.1f}"
            print(
                f"{policy:<28} {seed:>4} {of['submitted']:>9} {of['accepted']:>8} {of['kept']:>5} "
                f"{of['broken']:>6} {of.get('sla_pct', 0.0):>6.1f} {reliability:>13}",
                flush=True,
            )


if __name__ == "__main__":
    main()
