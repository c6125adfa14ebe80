"""Submits jobs of several users to a Slurm: short sleeps of several widths, in bursts, at a load near the capacity.

    load.py JOBS SEED PROCS USER..

PROCS are the processors of the cluster. The run times and widths are drawn from the seed. Needs root, because the jobs
are those of the users.
"""

import random
import subprocess
import sys
import time

jobs, seed, procs = (int(word) for word in sys.argv[1:4])
users = sys.argv[4:]
draw = random.Random(seed)
# Each user has habits: a usual run time in seconds, and the widths of the jobs.
habits = {user: (draw.choice([3, 5, 8, 12]), draw.choice([[1, 1, 2], [2, 4, 8], [4, 8, 16], [16, 32]])) for user in users}
began = time.monotonic()
work = 0.0
submitted = 0
while submitted < jobs:
    user = draw.choice(users)
    usual, widths = habits[user]
    for _ in range(min(draw.choice([1, 1, 2, 3, 6, 12]), jobs - submitted)):
        width = min(draw.choice(widths), procs // 2)
        run_s = max(1, round(draw.lognormvariate(0, 0.5) * usual))
        limit = draw.choice([1, 2, 5])
        partition = "short" if draw.random() < 0.2 else "main"
        command = ["sbatch", "--quiet", f"--uid={user}", f"--ntasks={width}", f"--time={limit}", "--mem-per-cpu=1M",
                   f"--partition={partition}", "--chdir=/tmp", "--output=/dev/null", f"--wrap=sleep {run_s}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        work += width * run_s
        submitted += 1
    # The work that was submitted is ahead of what the cluster can do by half a minute, now more, now less.
    ahead = work / procs - (time.monotonic() - began)
    time.sleep(max(0.0, ahead - draw.choice([0, 15, 30, 60, 90])))
print(f"{submitted} jobs in {time.monotonic() - began:.0f} s")
