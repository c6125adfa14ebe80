#!/usr/bin/env python3
"""Gives a desktop's idle time to a worker and to a real HTCondor at once, under the same user, and compares them.

    desktops_beside.py PROGRAM FOLDER

PROGRAM is the built tollgate; FOLDER keeps the root directory of HTCondor. One terminal has input five times, for 138 s of
330. Both batch systems have thirty tasks that count to 400, once in 0.1 s, on one core each, and the same times: free after
15 s without input, evicted after 30 s of suspension. HTCondor has its desktop policy with a static slot.

Prints for both how long a task still ran after the user had come and how long after the user had left it ran again, with
tasks finished and work lost, which differ by a task from run to run. Fails if tollgate gives way later. Needs root.
"""

import collections
import os
import pathlib
import pty
import shutil
import statistics
import struct
import subprocess
import sys
import threading
import time

# When the user comes, and how long the user stays, in seconds.
VISITS = ((20, 12), (70, 60), (150, 8), (190, 40), (260, 18))
LENGTH_S, BEATS, TASKS = 330, 400, 30
# One process that hardly needs the processor, so that its priority does not matter.
TASK = f"""cd "$1" || exit 1
exec perl -MTime::HiRes=time -e 'for (1..{BEATS}) {{ open F, ">>beats"; print F "$$ ", time, "\\n"; close F; select undef, undef, undef, 0.1 }}'
"""
CONDOR = """
use POLICY : DESKTOP
NUM_SLOTS_TYPE_1 = 1
SLOT_TYPE_1_PARTITIONABLE = False
NUM_CPUS = 1
SLOTS_CONNECTED_TO_KEYBOARD = 1000
SLOTS_CONNECTED_TO_CONSOLE = 1000
StartIdleTime = 15
ContinueIdleTime = 15
MaxSuspendTime = 30
KeyboardBusy = (KeyboardIdle < 15)
BackgroundLoad = 50
HighLoad = 60
"""

Result = collections.namedtuple("Result", "still_ran ran_again finished lost_s")


def utmp_entry(line):
    """Returns the record of a log-in at a terminal."""
    seconds = int(time.time())
    words = (7, os.getpid(), line.encode(), b"t1", b"user", b"", 0, 0, 0, seconds, 0, 0, 0, 0, 0)
    return struct.pack("hxxi32s4s32s256shhiii4i20x", *words)


def result_of(file, visits):
    """Reads the beats of all tasks of one batch system: the process and the time of each."""
    beats = [(pid, float(at)) for pid, at in (line.split() for line in file.read_text().splitlines())]
    times = sorted(at for _, at in beats)
    gaps = [(one, other) for one, other in zip(times, [*times[1:], float("inf")]) if other - one > 1]
    still_ran, ran_again = [], []
    for came, left in visits:
        # A task that did not run when the user came did not have to give way.
        if any(came - 1 < at < came for at in times):
            still_ran.append(min(max(0.0, one - came) for one, other in gaps if other > came))
        ran_again += [other - left for one, other in gaps if left < other < float("inf")][:1]
    attempts = collections.Counter(pid for pid, _ in beats)
    last = max(beats, key=lambda beat: beat[1])[0]
    lost = sum(n for pid, n in attempts.items() if n < BEATS and pid != last)
    return Result(still_ran, ran_again, sum(n == BEATS for n in attempts.values()), lost / 10)


def shell(command, **options):
    return subprocess.run(["bash", "-c", command], check=True, capture_output=True, text=True, **options).stdout


def start_condor(folder, shared, line):
    engine = pathlib.Path(__file__).parent / "engines/htcondor.sh"
    environment = {**os.environ, "CPUS": "1", "MEMORY": "2000", "SHARE": str(shared)}
    condor = folder / "htcondor"
    subprocess.run([engine, "install", condor], check=True, env=environment)
    (condor / "root/etc/condor/config.d/99-z-desktop.config").write_text(CONDOR)
    (condor / "root/run").mkdir(exist_ok=True)
    (condor / "root/run/utmp").write_bytes(utmp_entry(line))
    subprocess.run([engine, "up", condor], check=True, env=environment)
    script = shared / "condor/task.sh"
    script.write_text(f"#!/bin/sh\n{TASK}")
    script.chmod(0o755)
    submit = f"executable = {script}\narguments = {script.parent}\ninitialdir = {script.parent}\nrequest_cpus = 1\n"
    (shared / "condor/job.sub").write_text(submit + f"should_transfer_files = NO\nqueue {TASKS}\n")
    print(shell(f". {condor}/env; $CONDOR_ENTER condor_submit {shared}/condor/job.sub"), end="")
    return lambda: subprocess.run([engine, "down", condor], check=True, env=environment)


class Ours:
    """A service with a worker on a desktop."""

    def __init__(self, program, folder, shared):
        data = folder / "data"
        shutil.rmtree(data, ignore_errors=True)
        shutil.rmtree(folder / "worker", ignore_errors=True)
        data.mkdir(mode=0o700)
        (data / "config.toml").write_text('policy = "fcfs"\nlocal.nodes = 0\n')
        environment = {**os.environ, "TOLLGATE_DATA": str(data)}
        log = open(folder / "log", "w")
        self.processes = [subprocess.Popen([program, "serve"], env=environment, stderr=log)]
        while not (data / "socket").exists():
            time.sleep(0.05)
        words = ["worker", "--connect", f"unix:{data}/socket", "--data", folder / "worker", "--name", "desk", "--nodes", "1"]
        words += ["--root-jobs", "--account", "root", "--desktop", "--watch", "terminals"]
        words += ["--idle-for", "15s", "--suspend-for", "30s"]
        self.processes.append(subprocess.Popen([program, *words], stderr=log))
        task = ["--", "sh", "-c", TASK, "task", shared / "ours"]
        for _ in range(TASKS):
            subprocess.run([program, "submit", "-q", "--requeue", "--output", "none", *task], env=environment, check=True, stdout=subprocess.DEVNULL)

    def end(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait()


def main():
    program, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    shared = folder / "shared"
    shutil.rmtree(shared, ignore_errors=True)
    for name in ("ours", "condor"):
        (shared / name).mkdir(parents=True)
        (shared / name).chmod(0o777)
    master, slave = pty.openpty()
    line = os.ttyname(slave).removeprefix("/dev/")

    def read():
        while os.read(slave, 64):
            pass

    threading.Thread(target=read, daemon=True).start()
    down = start_condor(folder, shared, line)
    ours = Ours(program, folder, shared)
    try:
        beats = {name: shared / name / "beats" for name in ("ours", "condor")}
        end = time.time() + 180
        while not all(file.exists() for file in beats.values()):
            assert time.time() < end, "a task never began"
            time.sleep(0.1)
        begin, visits = time.time(), []
        for at, stay in VISITS:
            time.sleep(max(0.0, begin + at - time.time()))
            came = time.time()
            while time.time() < came + stay:
                os.write(master, b"x\n")
                time.sleep(1)
            visits.append((came, time.time() - 1))
        time.sleep(max(0.0, begin + LENGTH_S - time.time()))
        results = {name: result_of(file, visits) for name, file in beats.items()}
    finally:
        ours.end()
        down()
    for name, result in results.items():
        ran, again = result.still_ran, result.ran_again
        print(
            f"{name}: ran on for {statistics.median(ran):.2f} s in the median of {len(ran)}, {max(ran):.2f} at most; again"
            f" {statistics.median(again):.1f} s after the user had left; {result.finished} tasks done, {result.lost_s:.1f} s lost"
        )
    ours, condor = results["ours"], results["condor"]
    assert statistics.median(ours.still_ran) <= statistics.median(condor.still_ran), "gives way later"


if __name__ == "__main__":
    main()
