#!/usr/bin/env python3
"""Runs a small lab of desktops whose users come and go, and compares what happened with the simulator.

    desktops.py [OPTION..] PROGRAM FOLDER

PROGRAM is the built tollgate; FOLDER gets a folder for each lab, with its records. A lab is a service under `fcfs` with
workers of one core each on this host. A command says of each whether it is in use: free for 25 s in the mean, and used
for 8 s (both exponential). Good tasks come in batches of 1 to 6, with log-normal run times around 1 to 12 s; a quarter as
many tasks as there are computers never end. Tasks are evicted at once. Each seed has one lab without a limit, and
one that abandons a task at its fourth eviction, with the same users and tasks; all labs run at once. Needs root.

Then `tollgate campus` plays the exported tasks and log-ins of each lab under the same rule. Fails

- if the evictions of all labs, or the time that they held computers, differ from the simulator's by more than 15 %;
- if a task was abandoned where nothing limits retries, or a bad task finished.
"""

import argparse
import collections
import csv
import json
import os
import pathlib
import random
import statistics
import subprocess
import threading
import time

# The mean of the times in which a computer is free, and of those in which it is used, in seconds.
FREE_S, USED_S = 25.0, 8.0
# The median run times of batches, in seconds.
BATCHES_S = (1, 2, 4, 8, 12)
# The run time of a task that never ends.
ENDLESS_S = 36_000.0
RULES = ("forever", "max-evictions:3")
# The worst share by which the simulator may be off.
TOLERANCE = 0.15

PRESENCE = """while [ -e $1 ]; do
  now=$(cat $1)
  [ "$now" = "$last" ] || echo "$now"
  last=$now
  sleep 0.1
done
"""

Lab = collections.namedtuple("Lab", "seed rule evictions held_s abandoned_good abandoned_bad bad_s good simulated")


def script_of(seed, computers, seconds):
    """Returns what happens, by time: (seconds, computer, use), or (seconds, None, run time)."""
    draws = random.Random(seed)
    events = []
    for computer in range(computers):
        at = draws.expovariate(1 / FREE_S)
        while at < seconds:
            used = max(2.0, draws.expovariate(1 / USED_S))
            events += [(at, computer, "in-use user"), (at + used, computer, "free")]
            at += used + max(1.0, draws.expovariate(1 / FREE_S))
    at = 0.0
    while at < seconds * 0.8:
        count, median = draws.randint(1, 6), draws.choice(BATCHES_S)
        events += [(at, None, max(0.5, draws.lognormvariate(0, 0.4) * median)) for _ in range(count)]
        at += draws.expovariate(computers / (count * median * 1.6))
    events += [(draws.uniform(0, seconds * 0.3), None, ENDLESS_S) for _ in range(max(2, computers // 4))]
    return sorted(events, key=lambda event: (event[0], str(event[1:])))


class Service:
    """A service with its workers."""

    def __init__(self, program, folder, rule, computers):
        self.program, self.folder = program, folder
        (folder / "data").mkdir(parents=True)
        settings = f'policy = "fcfs"\nlocal.nodes = 0\n[desktops]\nretry = "{rule}"\n'
        (folder / "data/config.toml").write_text(settings)
        (folder / "presence.sh").write_text(PRESENCE)
        self.environment = {**os.environ, "TOLLGATE_DATA": str(folder / "data"), "HOME": str(folder)}
        self.processes = [self.spawn("service", "serve")]
        while not (folder / "data/socket").exists():
            time.sleep(0.05)
        for computer in range(computers):
            self.use(computer, "free")
            command = f"exec:sh {folder}/presence.sh {folder}/user{computer}"
            words = ["--connect", "unix:data/socket", "--data", f"worker{computer}", "--name", f"pc{computer}"]
            words += ["--nodes", "1", "--root-jobs", "--account", "root"]
            words += ["--desktop", "--suspend-for", "0", "--watch", "command", "--presence", command]
            self.processes.append(self.spawn(f"worker{computer}", "worker", *words))
        while self.json("status")["workers"] < computers:
            time.sleep(0.3)

    def spawn(self, log, *words):
        with open(self.folder / f"{log}.log", "w") as log:
            return subprocess.Popen([self.program, *words], cwd=self.folder, env=self.environment, stderr=log)

    def run(self, *words):
        ran = subprocess.run(
            [self.program, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=True
        )
        return ran.stdout

    def json(self, *words):
        return json.loads(self.run(*words, "--format", "json"))

    def jobs(self):
        return self.json("jobs", "--all", "--limit", "10000")["jobs"]

    def use(self, computer, state):
        path = self.folder / f"user{computer}"
        new = path.with_suffix(".new")
        new.write_text(state)
        new.rename(path)

    def end(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait()


def is_bad(job):
    return float(job["command"][1]) >= ENDLESS_S


def rows(path):
    with open(path, newline="") as table:
        return list(csv.DictReader(table))


def simulated(program, folder, rule):
    """Returns the evictions and the time that they held computers, in the mean of five seeds of the simulator."""
    results = []
    for seed in range(1, 6):
        words = ["campus", "jobs.csv", "--logins", "logins.csv", "--retry", rule, "--select", "prefer-awake"]
        ran = subprocess.run(
            [program, *words, "--seed", str(seed), "--format", "json"], cwd=folder, capture_output=True, text=True, check=True
        )
        policy = json.loads(ran.stdout)["policies"][0]
        evictions = sum(policy[f"{kind}_evictions"] * policy[f"{kind}_tasks"] for kind in ("good", "bad"))
        results.append((evictions, policy["good_wasted_s"] + policy["bad_wasted_s"]))
    return [statistics.mean(values) for values in zip(*results)]


def run_lab(program, folder, seed, rule, options):
    service = Service(program, folder, rule, options.computers)
    try:
        begin = time.time()
        for at, computer, what in script_of(seed, options.computers, options.seconds):
            time.sleep(max(0.0, begin + at - time.time()))
            if computer is None:
                service.run("submit", "-q", "--requeue", "--output", "none", "--", "sleep", f"{what:.2f}")
            else:
                service.use(computer, what)
        time.sleep(max(0.0, begin + options.seconds - time.time()))
        for computer in range(options.computers):
            service.use(computer, "free")
        open_jobs = [job for job in service.jobs() if job["state"] in ("running", "queued")]
        for job in filter(is_bad, open_jobs):
            service.run("cancel", str(job["id"]))
        while any(job["state"] in ("running", "queued") for job in service.jobs()):
            time.sleep(0.5)
        for table in ("jobs", "evictions", "logins"):
            service.run("export", table, "--out", f"{table}.csv")
        jobs = service.jobs()
    finally:
        service.end()
    evictions = rows(folder / "evictions.csv")
    bad = {str(job["id"]) for job in jobs if is_bad(job)}
    assert not any(job["state"] == "finished" for job in filter(is_bad, jobs)), "a bad task finished"
    abandoned = [job for job in jobs if job["state"] == "abandoned"]
    # The attempt that the user cancelled held its computer, too.
    removed = [row for row in rows(folder / "jobs.csv") if row["job_id"] in bad and row["state"] == "cancelled"]
    bad_s = sum(float(one["held_s"]) for one in evictions if one["job"] in bad)
    return Lab(
        seed=seed,
        rule=rule,
        evictions=len(evictions),
        held_s=sum(float(one["held_s"]) for one in evictions),
        abandoned_good=sum(not is_bad(job) for job in abandoned),
        abandoned_bad=sum(map(is_bad, abandoned)),
        bad_s=bad_s + sum(float(row["runtime_s"]) for row in removed),
        good=len(jobs) - len(bad),
        simulated=simulated(program, folder, rule),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--computers", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    program, labs = options.program.resolve(), []

    def one(seed, rule):
        folder = options.folder.resolve() / f"seed-{seed}-{rule.split(':')[0]}"
        labs.append(run_lab(program, folder, seed, rule, options))

    each = [threading.Thread(target=one, args=(seed, rule)) for seed in range(1, options.seeds + 1) for rule in RULES]
    for thread in each:
        thread.start()
    for thread in each:
        thread.join()
    assert len(labs) == len(each), "a lab failed"
    print("seed rule             good evicted simulated  held_s simulated  bad_s  abandoned: bad, good")
    for lab in sorted(labs):
        evictions, held_s = lab.simulated
        print(
            f"{lab.seed:4} {lab.rule:16} {lab.good:4} {lab.evictions:7} {evictions:9.1f} {lab.held_s:7.0f} {held_s:9.0f}"
            f" {lab.bad_s:6.0f} {lab.abandoned_bad:15} {lab.abandoned_good:5}"
        )
    live = sum(lab.evictions for lab in labs), sum(lab.held_s for lab in labs)
    paper = [sum(values) for values in zip(*(lab.simulated for lab in labs))]
    for what, here, there in zip(("evictions", "held time"), live, paper):
        off = here / there - 1
        print(f"{what}: {here:.0f} live, {there:.0f} simulated: {off:+.1%}")
        assert abs(off) <= TOLERANCE, f"{what} of the labs and of the simulator differ"
    of_rule = {rule: sum(lab.bad_s for lab in labs if lab.rule == rule) for rule in RULES}
    print(f"time on computers for bad tasks: {of_rule[RULES[1]] / of_rule[RULES[0]]:.2f} of that without a limit")
    assert not any(lab.abandoned_bad + lab.abandoned_good for lab in labs if lab.rule == RULES[0])


if __name__ == "__main__":
    main()
