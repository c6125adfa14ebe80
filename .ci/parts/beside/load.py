"""Submits jobs of several users to a batch system: short sleeps of several widths, in bursts, so that some wait.

    load.py ENGINE JOBS SEED PROCS USER..

ENGINE is slurm, sge or htcondor. PROCS are the processors of the cluster. The run times and widths are drawn from the seed.
Needs root, because the jobs are those of the users.
"""

import os
import random
import subprocess
import sys
import time

engine = sys.argv[1]
jobs, seed, procs = (int(word) for word in sys.argv[2:5])
users = sys.argv[5:]
draw = random.Random(seed)


def submit(user, width, run_s, limit_m, is_short):
    """Submits a job. A short one goes to another queue, where the engine has some."""
    if engine == "slurm":
        command = ["sbatch", "--quiet", f"--uid={user}", f"--ntasks={width}", f"--time={limit_m}", "--mem-per-cpu=1M",
                   f"--partition={'short' if is_short else 'main'}", "--chdir=/tmp", "--output=/dev/null",
                   f"--wrap=sleep {run_s}"]
        text = None
    elif engine == "sge":
        command = [*os.environ["SGE_ENTER"].split(), "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups",
                   "env", "HOME=/tmp", f"USER={user}", "qsub", "-terse", "-wd", "/tmp", "-b", "y", "-o", "/dev/null",
                   "-j", "y", "-l", f"h_rt={60 * limit_m}"]
        command += ["-pe", "smp", str(width)] if width > 1 else []
        command += ["-q", "all.q"] if is_short else []
        command += ["sleep", str(run_s)]
        text = None
    else:
        command = ["chroot", f"--userspec={user}:{user}", os.environ["CONDOR_ROOT"], "env", "HOME=/", f"USER={user}",
                   "condor_submit", "-terse", "-"]
        text = (f"executable = /bin/sleep\ntransfer_executable = false\narguments = {run_s}\nrequest_cpus = {width}\n"
                f"request_memory = 1\nallowed_execute_duration = {60 * limit_m}\nshould_transfer_files = NO\n"
                "initialdir = /\nqueue\n")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, input=text, text=True)


def count_waiting():
    """Returns the number of jobs that wait."""
    if engine == "slurm":
        command = ["squeue", "--noheader", "--states=PENDING", "--format=%A"]
    elif engine == "sge":
        command = [*os.environ["SGE_ENTER"].split(), "qstat", "-s", "p", "-u", "*"]
    else:
        command = ["condor_q", "-allusers", "-constraint", "JobStatus == 1", "-af", "ClusterId"]
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    # Grid Engine prints two lines of titles above its jobs.
    return max(len(lines) - 2, 0) if engine == "sge" else len(lines)


# Each user has habits: a usual run time in seconds, and the widths of the jobs.
habits = {user: (draw.choice([2, 3, 4, 6]), draw.choice([[1, 1, 2], [1, 2, 4], [2, 4, 8], [4, 8, 16]])) for user in users}
began = time.monotonic()
submitted = 0
while submitted < jobs:
    user = draw.choice(users)
    usual, widths = habits[user]
    for _ in range(min(draw.choice([1, 2, 4, 8, 16]), jobs - submitted)):
        width = min(draw.choice(widths), procs // 2)
        run_s = max(1, round(draw.lognormvariate(0, 0.5) * usual))
        limit_m = draw.choice([1, 2, 5])
        submit(user, width, run_s, limit_m, draw.random() < 0.2)
        submitted += 1
    # The next burst comes when at most a few jobs wait, now more, now less.
    few = draw.choice([4, 8, 16, 30, 60])
    while count_waiting() > few:
        time.sleep(1)
print(f"{submitted} jobs in {time.monotonic() - began:.0f} s")
