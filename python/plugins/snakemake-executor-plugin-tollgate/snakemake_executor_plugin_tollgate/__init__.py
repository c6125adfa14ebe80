"""Runs the jobs of a Snakemake workflow as jobs of a tollgate service: ``snakemake --executor tollgate``."""

import contextlib
import os
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Optional

import tollgate as tg
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface
from snakemake_interface_executor_plugins.settings import CommonSettings, ExecutorSettingsBase

__all__ = ["Executor", "ExecutorSettings", "common_settings"]

# The resources that go on as arguments of a submission, under the names of `tollgate.JobOptions`.
_OPTIONS = ("deadline", "estimate", "time_limit", "confidence", "at_least", "budget", "otherwise", "account", "queue")
_ASKED_AT_ONCE = 500
_LOGS = os.path.join(".snakemake", "tollgate_logs")


@dataclass
class ExecutorSettings(ExecutorSettingsBase):
    """The flags ``--tollgate-..``. Without one the service is found as by the program."""

    # Snakemake makes flags of these types: it understands no annotations as text, and no `str | None`.

    data: Optional[str] = field(
        default=None,
        metadata={"help": "Data directory of a service of this host", "env_var": False, "required": False},
    )
    url: Optional[str] = field(
        default=None,
        metadata={"help": "URL of a service on another host", "env_var": False, "required": False},
    )
    cluster: Optional[str] = field(
        default=None,
        metadata={"help": "Name of a cluster of `tollgate cluster list`", "env_var": False, "required": False},
    )
    deadline: Optional[str] = field(
        default=None,
        metadata={
            "help": "Deadline of each job that names none, as +2h or 17:00",
            "env_var": False,
            "required": False,
        },
    )


common_settings = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=False,
    job_deploy_sources=False,
    pass_default_storage_provider_args=True,
    pass_default_resources_args=True,
    pass_envvar_declarations_to_cmd=True,
    auto_deploy_default_storage_provider=False,
    init_seconds_before_status_checks=1,
)


class Executor(RemoteExecutor):
    """Submits each job of a workflow, and asks for the states of all of them at once."""

    def __post_init__(self) -> None:
        settings = self.workflow.executor_settings
        try:
            self._client = tg.Client(data=settings.data, url=settings.url, cluster=settings.cluster)
        except tg.TollgateError as error:
            raise WorkflowError(str(error)) from error
        self._deadline = settings.deadline

    def run_job(self, job: JobExecutorInterface) -> None:
        script = self.get_jobscript(job)
        self.write_jobscript(job, script)
        log = os.path.abspath(job.logfile_suggestion(_LOGS))
        os.makedirs(os.path.dirname(log), exist_ok=True)
        info = SubmittedJobInfo(job, aux={"log": log})
        try:
            options = _job_options(dict(job.resources), job.threads, self._deadline)
            answer = self._client.submit([script], name=job.name, env="all", output=log, **options)
        except tg.TollgateError as error:
            self.report_job_error(info, msg=f"tollgate: {error} ")
            return
        info.external_jobid = str(answer.id)
        by = answer.deadline_at
        if by is not None and answer.is_promised:
            self.logger.info(f"tollgate job {answer.id}: promised by {by.astimezone():%Y-%m-%d %H:%M:%S %Z}")
        elif by is not None:
            self.logger.info(f"tollgate job {answer.id}: no promise ({answer.decision})")
        self.report_job_submission(info)

    async def check_active_jobs(
        self, active_jobs: list[SubmittedJobInfo]
    ) -> AsyncGenerator[SubmittedJobInfo, None]:
        left = iter(active_jobs)
        while part := list(islice(left, _ASKED_AT_ONCE)):
            async with self.status_rate_limiter:
                try:
                    found = self._client.jobs(ids=[str(info.external_jobid) for info in part])
                except tg.ConnectionLost as error:
                    # The service may be restarted meanwhile: jobs go on.
                    self.logger.warning(f"tollgate: {error}")
                    found = None
            states = {str(one.id): one for one in found or ()}
            for info in part:
                now = states.get(str(info.external_jobid))
                if found is None or (now is not None and now.finished_at is None):
                    yield info
                elif now is not None and now.exit_code == 0:
                    self.report_job_success(info)
                else:
                    end = "is no longer known" if now is None else f"{now.state}: {now.status or 'never ran'}"
                    log = (info.aux or {})["log"]
                    self.report_job_error(info, msg=f"tollgate job {info.external_jobid} {end} ", aux_logs=[log])

    def cancel_jobs(self, active_jobs: list[SubmittedJobInfo]) -> None:
        for info in active_jobs:
            # A job may have ended meanwhile.
            with contextlib.suppress(tg.ServiceError):
                self._client.cancel(str(info.external_jobid))


def _job_options(resources: dict[str, Any], threads: int, deadline: str | None) -> dict[str, Any]:
    """Return the arguments of a submission for the resources of a job."""
    options: dict[str, Any] = {name: resources[name] for name in _OPTIONS if resources.get(name) is not None}
    options["procs"] = threads
    if deadline is not None:
        options.setdefault("deadline", deadline)
    if resources.get("runtime") is not None:
        options.setdefault("estimate", f"{resources['runtime']}m")
    if resources.get("mem_mb") is not None:
        options["mem"] = f"{resources['mem_mb']}M"
    if resources.get("gpu"):
        options["resources"] = {"gpu": int(resources["gpu"])}
    return options
