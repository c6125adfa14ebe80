"""Runs ten apps on two blocks of Parsl's provider for Slurm, with each of two launchers."""

import os

import parsl
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.launchers import SimpleLauncher, SrunLauncher
from parsl.providers import SlurmProvider


@parsl.python_app
def square(number):
    import os

    return number * number, os.environ.get("SLURM_JOB_ID")


def run(launcher):
    name = type(launcher).__name__
    provider = SlurmProvider(
        partition="main",
        account="lab",
        launcher=launcher,
        init_blocks=1,
        max_blocks=1,
        walltime="00:05:00",
        worker_init=f"export PATH={os.environ['PATH']}",
    )
    executor = HighThroughputExecutor(
        label=name,
        provider=provider,
        max_workers_per_node=1,
        address="127.0.0.1",
        loopback_address="127.0.0.1",
    )
    with parsl.load(Config(executors=[executor], run_dir=f"runinfo-{name}", strategy="none")):
        results = [square(number).result(timeout=120) for number in range(10)]
    assert [value for value, _ in results] == [number * number for number in range(10)], results
    assert all(job for _, job in results), "no block had the number of its job"
    print(f"parsl {name}: 10 apps in blocks {sorted({job for _, job in results})}")


if __name__ == "__main__":
    run(SimpleLauncher())
    run(SrunLauncher())
