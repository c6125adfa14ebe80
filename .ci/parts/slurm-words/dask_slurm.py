"""Runs a sum on two workers of dask-jobqueue's cluster for Slurm."""

from dask.distributed import Client
from dask_jobqueue import SLURMCluster


def main():
    options = {"cores": 1, "memory": "300MB", "walltime": "00:05:00", "interface": "lo", "queue": "main"}
    with SLURMCluster(**options) as cluster, Client(cluster) as client:
        cluster.scale(jobs=2)
        client.wait_for_workers(2, timeout=120)
        total = client.submit(sum, client.map(lambda number: number * number, range(10))).result(timeout=120)
        cluster.scale(jobs=0)
    assert total == 285, total
    print(f"dask-jobqueue: {total}")


if __name__ == "__main__":
    main()
