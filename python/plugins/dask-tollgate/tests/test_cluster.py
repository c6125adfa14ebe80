"""A cluster of Dask whose workers are jobs of a real service."""

from __future__ import annotations

import time
from collections.abc import Callable

import distributed
import pytest
from dask_tollgate import TollgateCluster

import tollgate as tg


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_workers_are_jobs_that_come_and_go(client: tg.Client) -> None:
    with (
        TollgateCluster(2, host="127.0.0.1", deadline="+2h", estimate="1h", mem="500M") as cluster,
        distributed.Client(cluster) as dask,
    ):
        dask.wait_for_workers(2, timeout=120)
        first = cluster.jobs
        for number in first:
            job = client.job(number)
            assert (job.state, job.procs, job.memory_bytes) == ("running", 1, 500 << 20)
            assert job.deadline_at is not None and job.promised_at is not None
        squares = dask.map(lambda number: number * number, range(20))
        assert dask.submit(sum, squares).result(timeout=120) == sum(number * number for number in range(20))

        cluster.scale(1)
        until(lambda: len(cluster.jobs) == 1)
        (retired,) = set(first) - set(cluster.jobs)
        assert client.wait(retired, 60).state in ("cancelled", "finished")
        assert dask.submit(pow, 2, 10).result(timeout=120) == 1024

        cluster.scale(2)
        dask.wait_for_workers(2, timeout=120)
        assert len(set(cluster.jobs) - set(first)) == 1
        last = cluster.jobs
    for number in last:
        assert client.wait(number, 60).finished_at is not None
    assert client.jobs(live=True) == []


def test_rejected_workers_say_why(client: tg.Client) -> None:
    with pytest.raises(tg.Rejected) as caught:
        TollgateCluster(1, host="127.0.0.1", deadline="+1s", estimate="30s", confidence=0.9)
    assert caught.value.offers
    assert client.jobs(live=True) == []
