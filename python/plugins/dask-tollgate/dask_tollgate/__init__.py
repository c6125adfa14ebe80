"""A Dask cluster whose workers are jobs of a tollgate service."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import tollgate as tg
from dask.utils import parse_bytes
from distributed import Scheduler, SpecCluster
from distributed.deploy.spec import ProcessInterface

__all__ = ["TollgateCluster"]


class _WorkerJob(ProcessInterface):
    """A worker of a cluster, which is a job.

    Args:
        scheduler: Address of the scheduler.
        name: Name of the worker.
        client: The service.
        options: Arguments of the submission.
    """

    def __init__(
        self, scheduler: str, name: object, *, client: tg.AsyncClient, options: Mapping[str, Any]
    ) -> None:
        super().__init__(scheduler=scheduler, name=name)
        self._scheduler = scheduler
        self._name = str(name)
        self._client = client
        self._options = options
        self.job: tg.AsyncSubmission | None = None

    async def start(self) -> None:
        options = self._options
        memory = parse_bytes(options["mem"]) if "mem" in options else 0
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self._scheduler, "--name", self._name]
        # The job ends with its worker, and its limit is that of the job.
        command += ["--nthreads", str(options.get("procs", 1)), "--memory-limit", str(memory)]
        command += ["--no-nanny", "--no-dashboard"]
        usual = {"name": f"dask-worker-{self._name}", "one_host": True, "env": "all"}
        self.job = await self._client.submit(command, **{**usual, **options})
        await super().start()

    async def close(self) -> None:
        if self.job is not None:
            try:
                await self.job.cancel()
            except tg.ServiceError as error:
                # A worker that was retired has ended by itself.
                if error.status not in (404, 409):
                    raise
        await super().close()


class TollgateCluster(SpecCluster):
    """A cluster of Dask: its scheduler runs in this process, and each worker is a job.

    Args:
        n_workers: Number of workers at the start.
        client: The service. Default: that of ``tollgate.AsyncClient()``.
        host: Address of the scheduler, which the workers have to reach.
        scheduler_options: More arguments of ``distributed.Scheduler``.
        asynchronous: Whether the cluster is used within an event loop.
        name: Name of the cluster.
        options: Arguments of each submission, those of :class:`tollgate.JobOptions`: ``deadline``, ``procs``, which is
            the number of threads of a worker, ``mem``, ``time_limit``, ..
    """

    def __init__(
        self,
        n_workers: int = 0,
        *,
        client: tg.AsyncClient | None = None,
        host: str | None = None,
        scheduler_options: Mapping[str, Any] | None = None,
        asynchronous: bool = False,
        name: str | None = None,
        **options: Any,
    ) -> None:
        made = {"client": client if client is not None else tg.AsyncClient(), "options": options}
        worker = {"cls": _WorkerJob, "options": made}
        scheduler = {"host": host, "dashboard_address": ":0", "dashboard": False, **(scheduler_options or {})}
        super().__init__(
            workers={str(number): worker for number in range(n_workers)},
            scheduler={"cls": Scheduler, "options": scheduler},
            worker=worker,
            asynchronous=asynchronous,
            name=name,
        )

    def _new_worker_name(self, worker_number: int) -> str:
        # The scheduler knows workers by the text of their flag.
        return str(worker_number)

    @property
    def jobs(self) -> list[int]:
        """The numbers of the jobs of the present workers."""
        return [worker.job.id for worker in self.workers.values() if worker.job is not None]
