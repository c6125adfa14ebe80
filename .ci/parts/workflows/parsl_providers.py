"""Runs ten apps on two blocks of each of Parsl's providers for batch systems of this kind."""

import os
import sys

import parsl
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.launchers import SimpleLauncher
from parsl.providers import GridEngineProvider, PBSProProvider, TorqueProvider


@parsl.python_app
def square(number):
    import os

    return number * number, os.environ.get("PBS_JOBID") or os.environ.get("JOB_ID")


def provider(name):
    common = {
        "launcher": SimpleLauncher(),
        "init_blocks": 2,
        "max_blocks": 2,
        "walltime": "00:05:00",
        "worker_init": f"export PATH={os.environ['PATH']}",
    }
    if name == "torque":
        return TorqueProvider(**common)
    if name == "pbspro":
        return PBSProProvider(**common)
    return GridEngineProvider(**common)


def main():
    name = sys.argv[1]
    executor = HighThroughputExecutor(
        label=name,
        provider=provider(name),
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
    main()
