"""Runs a sum on two workers of each of dask-jobqueue's clusters of this kind."""

import sys

from dask.distributed import Client
from dask_jobqueue import PBSCluster, SGECluster


def main():
    kind = {"pbs": PBSCluster, "sge": SGECluster}[sys.argv[1]]
    options = {"cores": 1, "memory": "200MB", "walltime": "00:05:00", "interface": "lo"}
    if kind is SGECluster:
        options["resource_spec"] = "h_vmem=1G"
    with kind(**options) as cluster, Client(cluster) as client:
        cluster.scale(jobs=2)
        client.wait_for_workers(2, timeout=120)
        total = client.submit(sum, client.map(lambda number: number * number, range(10))).result(timeout=120)
        cluster.scale(jobs=0)
    assert total == 285, total
    print(f"dask-jobqueue {sys.argv[1]}: {total}")


if __name__ == "__main__":
    main()
