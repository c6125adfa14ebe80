"""Runs functions by submitit: one, three as an array, one that fails, and one that is interrupted and requeued."""

import os
import pathlib
import sys
import time

import submitit


def square(number):
    return number * number, os.environ["SLURM_JOB_ID"]


class Interrupted:
    """Counts its runs in a file; the first one lasts until it is interrupted."""

    def __call__(self, runs):
        with open(runs, "a") as file:
            file.write("run\n")
        count = len(pathlib.Path(runs).read_text().split())
        if count == 1:
            time.sleep(300)
        return count

    def checkpoint(self, runs):
        return submitit.helpers.DelayedSubmission(self, runs)


def main():
    executor = submitit.AutoExecutor(folder="submitit-logs", cluster="slurm")
    executor.update_parameters(timeout_min=5, slurm_partition="main", mem_gb=1, cpus_per_task=1, name="submitit")
    value, _ = executor.submit(square, 7).result()
    assert value == 49, value
    jobs = executor.map_array(square, [1, 2, 3])
    values = [job.result() for job in jobs]
    assert [value for value, _ in values] == [1, 4, 9], values
    assert len({job for _, job in values}) == 3, values
    failing = executor.submit(int, "none")
    assert failing.exception() is not None
    runs = pathlib.Path("submitit-runs").absolute()
    interrupted = executor.submit(Interrupted(), str(runs))
    while not runs.exists():
        time.sleep(0.2)
    interrupted._interrupt(timeout=True)
    assert interrupted.result() == 2
    print(f"submitit: {values}")


if __name__ == "__main__":
    main()
    sys.exit(0)
