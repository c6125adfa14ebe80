"""Submits jobs of several users to a Slurm: short sleeps of several widths, in bursts, so that some wait.

    load.py JOBS SEED PROCS USER..

PROCS are the processors of the cluster. The run times and widths are drawn from the seed. Needs root, because the jobs
are those of the users.
"""

import random
import subprocess
import sys
import time

WAITING = ["squeue", "--noheader", "--states=PENDING", "--format=%A"]
jobs, seed, procs = (int(word) for word in sys.argv[1:4])
users = sys.argv[4:]
draw = random.Random(seed)
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
        limit = draw.choice([1, 2, 5])
        partition = "short" if draw.random() < 0.2 else "main"
        command = ["sbatch", "--quiet", f"--uid={user}", f"--ntasks={width}", f"--time={limit}", "--mem-per-cpu=1M",
                   f"--partition={partition}", "--chdir=/tmp", "--output=/dev/null", f"--wrap=sleep {run_s}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        submitted += 1
    # The next burst comes when at most a few jobs wait, now more, now less.
    few = draw.choice([4, 8, 16, 30, 60])
    while len(subprocess.run(WAITING, capture_output=True, text=True).stdout.split()) > few:
        time.sleep(1)
print(f"{submitted} jobs in {time.monotonic() - began:.0f} s")
