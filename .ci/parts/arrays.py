#!/usr/bin/env python3
"""Runs arrays with deadlines on a real service, and checks that each task ran exactly once.

    arrays.py [--users N --arrays N --tasks N --deadline D | --tasks N --every S] PROGRAM FOLDER

PROGRAM is the built tollgate. FOLDER keeps the service, and the numbers that the tasks write: each appends its own to the
file of its array.

- With `--users`, that many users submit that many arrays of `--tasks` tasks side by side, each with a deadline; needs root,
  and a mount namespace of its own (`unshare --mount`), for the users.
- With `--every`, one array of `--tasks` tasks runs, and the service is killed with SIGKILL that many seconds after each of
  its starts. Needs no rights.

Prints how long the program took for its answers, and what became of the promises. Fails if a task was lost or ran twice, or if
the service did not start again.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

FIRST_UID = 3001
AT_ONCE = 8
"""Number of clients that ask at the same time."""


def add_accounts(folder, n_users):
    """Gives the system, in this mount namespace, the users."""
    etc = pathlib.Path(folder, "etc")
    subprocess.run(["cp", "--archive", "/etc", etc], check=True)
    for name, line in (("passwd", "user{0}:x:{1}:{1}::/:/bin/sh\n"), ("group", "user{0}:x:{1}:\n")):
        with open(etc / name, "a", encoding="utf-8") as accounts:
            accounts.writelines(line.format(user, FIRST_UID + user) for user in range(n_users))
    subprocess.run(["mount", "--bind", etc, "/etc"], check=True)


class Service:
    """A service on this host."""

    def __init__(self, program, folder, settings):
        self.program, self.folder = program, folder
        self.data = folder / "data"
        self.data.mkdir()
        (self.data / "config.toml").write_text(settings)
        self.env = dict(os.environ, TOLLGATE_DATA=str(self.data), HOME=str(folder))
        self.took_s = collections.defaultdict(list)
        self.process = None

    def start(self):
        """Starts the service; returns once it answers."""
        with open(self.folder / "log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen([self.program, "serve"], env=self.env, stdout=log, stderr=log)
        began = time.monotonic()
        while self.run("status").returncode:
            if self.process.poll() is not None:
                sys.exit((self.folder / "log").read_text())
            time.sleep(0.02)
        self.took_s["start"].append(time.monotonic() - began)

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait()

    def run(self, *words, uid=None):
        who = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
        return subprocess.run(
            [self.program, *words], env=self.env, cwd=self.folder, capture_output=True, text=True, check=False, **who
        )

    def ask(self, *words, uid=None, good=(0,)):
        """Returns the answer to a command, whose time is noted."""
        began = time.monotonic()
        done = self.run(words[0], "--format", "json", *words[1:], uid=uid)
        self.took_s[words[0]].append(time.monotonic() - began)
        if done.returncode not in good:
            sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def submit(self, name, tasks, deadline, uid=None):
        """Submits an array whose tasks write their numbers to the file of this name; returns its number."""
        out = self.folder / "written" / name
        task = f'echo "$TOLLGATE_TASK" >>{out}'
        words = ("--array", f"1-{tasks}", "--estimate", "1s", "--deadline", deadline, "--output", "none")
        return self.ask("submit", *words, "--", "sh", "-c", task, uid=uid)["id"]

    def wait_until_idle(self):
        while True:
            status = self.ask("status")
            if status["running"] + status["queued"] == 0:
                return
            time.sleep(2)


def check(folder, tasks, names):
    """Fails unless each array has written each of its numbers once."""
    lost = twice = 0
    for name in names:
        counts = collections.Counter((folder / "written" / name).read_text().split())
        lost += sum(str(task) not in counts for task in range(1, tasks + 1))
        twice += sum(count > 1 for count in counts.values())
    print(f"{len(names) * tasks} tasks: {lost} lost, {twice} twice")
    if lost or twice:
        sys.exit(1)


def of_many_users(service, args):
    """Submits arrays of many users side by side."""
    names = [f"array-{at}" for at in range(args.arrays)]

    def submit(at):
        return service.submit(names[at], args.tasks, args.deadline, uid=FIRST_UID + at % args.users)

    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as clients:
        jobs = list(clients.map(submit, range(args.arrays)))
    print(f"{args.arrays} arrays of {args.tasks} tasks by {args.users} users in {time.monotonic() - began:.1f} s")
    for job in jobs[:: max(1, len(jobs) // 20)]:
        service.ask("explain", str(job))
        service.ask("quote", "--estimate", "1s", "--deadline", "+1h", "--", "true")
    service.wait_until_idle()
    print(f"all over after {time.monotonic() - began:.1f} s")
    return names


def under_kills(service, args):
    """Kills the service again and again while an array runs."""
    began = time.monotonic()
    job = service.submit("array", args.tasks, "+2d")
    kills = 0
    while True:
        time.sleep(args.every)
        status = service.ask("status")
        if status["running"] + status["queued"] == 0:
            break
        service.ask("explain", str(job))
        service.end(signal.SIGKILL)
        kills += 1
        service.start()
    print(f"{args.tasks} tasks in {time.monotonic() - began:.0f} s, under {kills} kills of the service")
    return ["array"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--users", type=int, default=0)
    arguments.add_argument("--arrays", type=int, default=1000)
    arguments.add_argument("--tasks", type=int, default=100)
    arguments.add_argument("--deadline", default="+2h")
    arguments.add_argument("--every", type=float, default=10.0)
    arguments.add_argument("program", type=pathlib.Path)
    arguments.add_argument("folder", type=pathlib.Path)
    args = arguments.parse_args()
    folder = args.folder.resolve()
    (folder / "written").mkdir(parents=True)
    (folder / "written").chmod(0o777)
    settings = ""
    if args.users:
        add_accounts(folder, args.users)
        settings = 'users = "all"\naccount = "root"\n'
    service = Service(args.program.resolve(), folder, settings)
    service.start()
    try:
        names = of_many_users(service, args) if args.users else under_kills(service, args)
        books = service.ask("status")["objectives"]
        ticks = (pathlib.Path("/proc", str(service.process.pid), "stat").read_text().rsplit(")", 1)[1].split())[11:13]
        print(f"{sum(map(int, ticks)) / os.sysconf('SC_CLK_TCK'):.1f} s of processor time of the service since its last start")
    finally:
        service.end()
    print(", ".join(f"{books[name]} {name}" for name in ("submitted", "kept", "broken", "void", "unpromised")))
    for asked, took_s in service.took_s.items():
        took_s.sort()
        print(f"{asked:<8} {len(took_s):>6} times: median {took_s[len(took_s) // 2]:.3f} s, longest {took_s[-1]:.3f} s")
    check(folder, args.tasks, names)


if __name__ == "__main__":
    main()
