"""Runs functions by submitit: one, three as an array, and one that fails."""

import os
import sys

import submitit


def square(number):
    return number * number, os.environ["SLURM_JOB_ID"]


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
    print(f"submitit: {values}")


if __name__ == "__main__":
    main()
    sys.exit(0)
