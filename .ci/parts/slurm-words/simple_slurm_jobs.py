"""Submits an array by simple_slurm, and cancels another job."""

import subprocess

from simple_slurm import Slurm


def main():
    array = Slurm(array=range(1, 4), job_name="simple", output=f"simple-{Slurm.JOB_ARRAY_MASTER_ID}_{Slurm.JOB_ARRAY_ID}.out", time="0:05:00")
    number = array.sbatch("echo task " + Slurm.SLURM_ARRAY_TASK_ID)
    subprocess.run(["tollgate", "wait", "--quiet", str(number)], check=True)
    texts = [open(f"simple-{number}_{task}.out").read() for task in (1, 2, 3)]
    assert texts == [f"task {task}\n" for task in (1, 2, 3)], texts
    waiting = Slurm(job_name="waiting", hold=True)
    number = waiting.sbatch("true")
    queue = Slurm()
    queue.squeue.update_squeue()
    assert str(number) in queue.squeue.jobs or number in queue.squeue.jobs, queue.squeue.jobs
    queue.scancel.cancel_job(number)
    queue.squeue.update_squeue()
    assert str(number) not in queue.squeue.jobs and number not in queue.squeue.jobs, queue.squeue.jobs
    print(f"simple_slurm: {texts}")


if __name__ == "__main__":
    main()
