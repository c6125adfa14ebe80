"""Runs a workflow of toil: two jobs below one."""

from toil.common import Toil
from toil.job import Job


def square(job, number):
    return number * number


def root(job):
    children = [job.addChildJobFn(square, number, memory="200M", cores=1, disk="10M") for number in (3, 4)]
    return [child.rv() for child in children]


if __name__ == "__main__":
    options = Job.Runner.getDefaultArgumentParser().parse_args()
    with Toil(options) as toil:
        values = toil.start(Job.wrapJobFn(root, memory="200M", cores=1, disk="10M"))
    assert values == [9, 16], values
    print(f"toil: {values}")
