"""A provider of Parsl whose blocks are jobs of a tollgate service."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import tollgate as tg
from parsl.jobs.states import JobState, JobStatus
from parsl.launchers import SingleNodeLauncher
from parsl.launchers.base import Launcher
from parsl.providers.base import ExecutionProvider
from parsl.providers.errors import SubmitException
from parsl.utils import RepresentationMixin

__all__ = ["TollgateProvider"]

_ENDS = {"cancelled": JobState.CANCELLED, "timed_out": JobState.TIMEOUT}


class TollgateProvider(ExecutionProvider, RepresentationMixin):
    """Submits each block as a job of one host.

    Args:
        options: Arguments of each submission, those of :class:`tollgate.JobOptions`: ``deadline``, ``procs``, ``mem``,
            ``time_limit``, ..
        client: The service. Default: that of ``tollgate.Client()``.
        worker_init: Commands of the shell before a block, such as ``source env/bin/activate``.
        launcher: Parsl's launcher.
        init_blocks: Number of blocks at the start.
        min_blocks: Minimum number of blocks.
        max_blocks: Maximum number of blocks.
        parallelism: Ratio of task slots to active tasks, 0 to 1.
        status_interval: Number of seconds between two questions for the states of the blocks.
    """

    def __init__(
        self,
        options: Mapping[str, Any] | None = None,
        client: tg.Client | None = None,
        worker_init: str = "",
        launcher: Launcher | None = None,
        init_blocks: int = 1,
        min_blocks: int = 0,
        max_blocks: int = 1,
        parallelism: float = 1,
        status_interval: int = 2,
    ) -> None:
        self.options = dict(options or {})
        self.client = client if client is not None else tg.Client()
        self.worker_init = worker_init
        self.launcher = launcher if launcher is not None else SingleNodeLauncher()
        self.init_blocks = init_blocks
        self.min_blocks = min_blocks
        self.max_blocks = max_blocks
        self.parallelism = parallelism
        self.status_interval = status_interval
        self.nodes_per_block = 1
        self.cores_per_node = self.options.get("procs", 1)
        self.mem_per_node = None
        self.script_dir: str | None = None
        self.resources: dict[object, Any] = {}

    @property
    def label(self) -> str:
        return "tollgate"

    @property
    def status_polling_interval(self) -> int:
        return self.status_interval

    def submit(self, command: str, tasks_per_node: int, job_name: str = "parsl.tollgate") -> str:
        """Submit a block, and return the number of its job."""
        folder = os.path.abspath(self.script_dir or ".")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{job_name}.{time.time_ns()}.sh")
        launched = self.launcher(command, tasks_per_node, self.nodes_per_block)
        cores = f"export PARSL_CORES={self.cores_per_node}"
        with open(path, "w") as script:
            script.write("\n".join(("#!/bin/bash", cores, self.worker_init, launched, "")))
        os.chmod(path, 0o700)
        files = {"output": f"{path}.out", "error": f"{path}.err"}
        try:
            job = self.client.submit([path], **{"name": job_name, "one_host": True, **files, **self.options})
        except tg.TollgateError as error:
            raise SubmitException(job_name, f"tollgate: {error}") from error
        self.resources[str(job.id)] = files
        return str(job.id)

    def status(self, job_ids: Sequence[object]) -> list[JobStatus]:
        """Return the states of blocks."""
        found = {str(job.id): job for job in self.client.jobs(ids=[str(job) for job in job_ids])} if job_ids else {}
        return [self._status(str(job), found.get(str(job))) for job in job_ids]

    def cancel(self, job_ids: Sequence[object]) -> list[bool]:
        """Cancel blocks, and return for each whether it was not over."""
        return [self._cancel(str(job)) for job in job_ids]

    def _status(self, number: str, job: tg.api.JobDetails | None) -> JobStatus:
        if job is None:
            return JobStatus(JobState.UNKNOWN, f"job {number} is not known")
        if job.finished_at is None:
            if job.state == "held":
                return JobStatus(JobState.HELD)
            return JobStatus(JobState.PENDING if job.started_at is None else JobState.RUNNING)
        files = self.resources.get(number, {})
        state = _ENDS.get(job.state, JobState.COMPLETED if job.exit_code == 0 else JobState.FAILED)
        return JobStatus(state, job.status, job.exit_code, files.get("output"), files.get("error"))

    def _cancel(self, number: str) -> bool:
        try:
            self.client.cancel(number)
        except tg.ServiceError as error:
            if error.status not in (404, 409):
                raise
            return False
        return True
