"""Answers of the service, as dataclasses with the names of the API.

Instants are aware :class:`~datetime.datetime` objects in UTC, and fields that end in ``_s`` are numbers of seconds. None is
what does not apply. A word, as in ``state``, may be one of a later version of the service. Fields that this version
does not know are left out. A name that is a word of Python has ``_`` behind it: ``from_``.
"""

# Written by .ci/parts/python/api_types.py.

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

__all__ = [
    "AlterResponse",
    "ArrayStatus",
    "BatchResponse",
    "ExpectedHostStatus",
    "ForecastPart",
    "ForecastSample",
    "JobDetails",
    "JobExplanation",
    "JobForecast",
    "JobHistory",
    "JobList",
    "JobOffer",
    "JobOutput",
    "JobSignal",
    "JobTurn",
    "MemoryUsage",
    "NodeList",
    "NodeStatus",
    "ProcessorUsage",
    "ReasonMessage",
    "ResourceStatus",
    "RiskCount",
    "RunTimeBelief",
    "RunTimeQuantile",
    "RunningTaskAge",
    "ServiceObjectives",
    "ServiceStatus",
    "ShadowStatus",
    "SignalResult",
    "SlowedHost",
    "SubmitResponse",
    "TaskFailures",
    "TaskRangeDecision",
    "TaskRuns",
    "TasksOutlook",
    "UnpredictableRun",
    "UsageMessage",
    "WaitMessage",
    "WorkerStatus",
]


@dataclass(frozen=True, kw_only=True)
class AlterResponse:
    """The answer to a change."""

    altered: bool
    """Whether the job was changed. If not, it stays as it was, with its promise."""
    answer: SubmitResponse
    """The decision about the changed job, as about a new one."""


@dataclass(frozen=True, kw_only=True)
class ArrayStatus:
    """The tasks of an array, counted by state."""

    tasks: str
    """Numbers of the tasks: `1-1000`."""
    queued: int
    """Queued tasks."""
    held: int
    """Held tasks."""
    running: int
    """Running tasks."""
    finished: int
    """Finished tasks."""
    timed_out: int
    """Tasks that reached their time limit."""
    out_of_memory: int
    """Tasks that the kernel ended for memory."""
    output_limit: int
    """Tasks that the limit of their output ended."""
    cancelled: int
    """Cancelled tasks."""
    lost: int
    """Lost tasks: their end was not observed."""
    abandoned: int
    """Tasks that were evicted more often than a rule permits."""
    rejected: int
    """Rejected tasks."""
    kept: int
    """Tasks whose promise was kept."""
    broken: int
    """Tasks whose promise was broken, also unfinished ones."""
    void: int
    """Tasks whose promise became void."""
    unpromised: int
    """Tasks that are over and had a deadline that was not promised."""
    unpromised_in_time: int
    """Those of them that succeeded by it."""
    max_running: int | None = None
    """Maximum number of tasks at a time."""
    failures: tuple[TaskFailures, ...] = ()
    """The tasks that failed, by how they ended; absent in lists."""
    outlook: TasksOutlook | None = None
    """The outlook of the tasks of an unfinished array; absent in lists."""


@dataclass(frozen=True, kw_only=True)
class BatchResponse:
    """The answer to jobs that were submitted together."""

    jobs: tuple[SubmitResponse, ...]
    """The answers, in the order of the jobs."""


@dataclass(frozen=True, kw_only=True)
class ExpectedHostStatus:
    """A host that is expected: a pilot in the queue of a batch system, or one that would be submitted."""

    site: str
    """Name of its site."""
    nodes: int
    """Number of its nodes."""
    stays_s: float
    """Seconds for which it stays."""
    worker: str | None = None
    """Name that its worker will have; none of a pilot that is not submitted yet."""
    median_start_at: datetime | None = None
    """Instant by which it is there with probability .5; none if that may be never."""
    late_start_at: datetime | None = None
    """Instant by which it is there with probability .9; none if that may be never."""


@dataclass(frozen=True, kw_only=True)
class ForecastPart:
    """A source of a forecast."""

    from_: str
    """The source, in words: `14 runs of this program in 3 batches`."""
    part: float
    """Its part, above 0; the sum of all is 1."""


@dataclass(frozen=True, kw_only=True)
class ForecastSample:
    """The expectation of a job at an instant."""

    at: datetime
    """The instant."""
    expected_start_at: datetime
    """Expected start, or the start if the job had started."""
    expected_finish_at: datetime
    """Expected finish."""
    earliest_finish_at: datetime
    """The job finishes before this instant with a probability of one tenth."""
    latest_finish_at: datetime
    """The job finishes after this instant with a probability of one tenth."""
    probability: float | None = None
    """Probability of meeting the deadline, if there is one."""


@dataclass(frozen=True, kw_only=True)
class JobDetails:
    """The state of a job."""

    id: int
    """Number of the job."""
    user_id: int
    """User id of the owner."""
    user: str
    """Name of the owner; the number of a user without a name."""
    name: str
    """Name of the job."""
    state: str
    """State."""
    command: tuple[str, ...]
    """The program and its arguments."""
    dir: str
    """Working directory."""
    procs: int
    """Number of processors."""
    submitted_at: datetime
    """Instant of the submission."""
    estimate_s: float
    """Run time that the decision assumed."""
    estimate_source: str
    """Source of the estimate."""
    attempts: int
    """Number of attempts."""
    task: int | None = None
    """Number of the task, if this is a task of an array; its name is `id`, `_` and this number."""
    number: int | None = None
    """Whole number of the task, if this is a task of an array: at least 1,000,000,000, and never given twice. It
    stands for the task wherever the number of a job is expected."""
    array: ArrayStatus | None = None
    """The states of its tasks, if the job is an array."""
    after: tuple[int, ...] = ()
    """The jobs to start after, without those that had finished at the submission."""
    group_id: int | None = None
    """Id of the owner's main group; None if the system does not know the user."""
    account: str | None = None
    """Account that the user named."""
    queue: str | None = None
    """Queue that the user named."""
    comment: str | None = None
    """Remark of the user."""
    waits_for: WaitMessage | None = None
    """The first cause for which a job waits; of an array that of its first task that waits. None for a job that runs
    or is over."""
    suspended: str | None = None
    """Why it is suspended, or about to be evicted, if it runs on a computer that others use now."""
    unpredictable: UnpredictableRun | None = None
    """Of a job whose run time cannot be predicted: the run times of its class, and its treatment."""
    expected: JobForecast | None = None
    """Expected start and end with their interval, and the probability of meeting the deadline, by what is known now.
    Only in a list with `expect`, of a job that is not over."""
    output: str | None = None
    """Output file, if any; of an array with `%a` for the number of the task."""
    error: str | None = None
    """File of standard error, if it is not that of the output; of an array with `%a` for the number of the task.
    `/dev/null` if standard error is discarded and the output is not."""
    input: str | None = None
    """File of standard input, if any; of an array with `%a` for the number of the task."""
    submit_line: str | None = None
    """The command line of the submission, if it is known."""
    submit_host: str | None = None
    """Host on which the job was submitted, if it is known."""
    resources: dict[str, int] = field(default_factory=dict)
    """Devices and licences that the job, or each task of it, takes while it runs."""
    one_host: bool = False
    """Whether all processors have to be on one host."""
    requested_host: str | None = None
    """Name of the host on which the job has to run, if its user named one."""
    requeue: bool = False
    """Whether the job may run again from its start after it was lost."""
    memory_bytes: int | None = None
    """Maximum memory, if the job names one; of a job with `auto_memory` what is set aside for it, if that is known."""
    auto_memory: bool = False
    """Whether the service sets aside memory by what jobs like it used."""
    time_limit_s: float | None = None
    """Time limit of the request."""
    signal: JobSignal | None = None
    """Signal before the time limit."""
    deadline_at: datetime | None = None
    """Deadline."""
    begin_at: datetime | None = None
    """The instant before which the job was not to start, if its user named one."""
    budget: float | None = None
    """Budget, in credits."""
    decided_at: datetime | None = None
    """Instant of the admission or rejection."""
    price: float | None = None
    """Maximum cost, in credits, of an admitted job; of an array the sum over its tasks."""
    reasons: tuple[ReasonMessage, ...] = ()
    """Why the job was rejected, was cancelled with a job that it depends on, or runs without a promise."""
    probability: float | None = None
    """Probability of meeting the deadline as promised, or as quoted if nothing is promised."""
    quoted_probability: float | None = None
    """Probability of meeting the deadline in the answer to the submission."""
    promised_probability: float | None = None
    """Probability of meeting the deadline at which it was promised, which counts for calibration; of an array the
    mean of its tasks. A policy that admits jobs only when they start promises then."""
    promised_at: datetime | None = None
    """Instant of the promise; of an array that of the last task that was promised after the submission."""
    counts_on_expected_hosts: bool = False
    """Whether the promise counted on hosts that were not there when it was made: pilots in the queue of a batch
    system."""
    forecast_finish_at: datetime | None = None
    """End that was forecast when the job was decided about; none for an array."""
    promise: str | None = None
    """The outcome of the deadline, promised or not. None before, without a deadline, for a job that was never
    admitted or started, and for an array, whose tasks have one each."""
    broken_by: str | None = None
    """The cause of a broken promise."""
    started_at: datetime | None = None
    """Instant of the first start. Absent of a running job as long as the batch system that runs it has not started
    it."""
    finished_at: datetime | None = None
    """Instant of the end."""
    retries: str | None = None
    """How often, and after which ends, a task that fails is tried again, as in the request."""
    give_up: str | None = None
    """The user's rule for evicted tasks, as in the request."""
    status: str | None = None
    """End of the last attempt: `exit 0`, `signal 9 (memory limit)`, `lost`, ..; of a finished array `exit` and the
    greatest exit code of its tasks, as of `wait`."""
    exit_code: int | None = None
    """The exit code of the program as in a shell, also if a limit ended it: 128 + n after signal n, 127 if the
    program never ran."""
    exit_signal: int | None = None
    """The signal that ended the program, if one did."""
    host: str | None = None
    """Host of the last attempt: the name of a worker, or of the service's host. None for an array, whose tasks have
    one each."""
    hosts: str | None = None
    """Hosts of the last attempt with the number of its processors on each, as in `n1:4,n2:2`, if there are several.
    None for an array."""
    run_s: float | None = None
    """Wall-clock time of the last attempt, once it has ended; none for an array."""
    cpu_s: float | None = None
    """Processor time of all attempts that have ended; of an array of all its tasks."""
    peak_memory_bytes: int | None = None
    """Peak memory of an attempt or task that has ended, the greatest of all."""
    dropped: tuple[str, ...] = ()
    """Texts that came with the job and are no longer kept, because the job is over."""


@dataclass(frozen=True, kw_only=True)
class JobExplanation:
    """The explanation of the state of a job, with a forecast."""

    job: JobDetails
    """The job."""
    words: tuple[str, ...]
    """Sentences: why the job waits and for what, or how it ended."""
    expected_start_at: datetime | None = None
    """Expected start, or the start if the job has started."""
    latest_start_at: datetime | None = None
    """The job starts after this instant with a probability of one tenth."""
    expected_finish_at: datetime | None = None
    """Expected finish."""
    earliest_finish_at: datetime | None = None
    """The job finishes before this instant with a probability of one tenth."""
    latest_finish_at: datetime | None = None
    """The job finishes after this instant with a probability of one tenth."""
    probability: float | None = None
    """Probability of meeting the deadline, if there is one."""
    quote: SubmitResponse | None = None
    """Of a rejected job: what the same submission would get now, with what would be accepted instead. A deadline
    that has passed counts anew from now."""


@dataclass(frozen=True, kw_only=True)
class JobForecast:
    """The forecast for a job."""

    expected_start_at: datetime
    """Expected start, or the start if the job has started."""
    expected_finish_at: datetime
    """Expected finish."""
    earliest_finish_at: datetime
    """The job finishes before this instant with a probability of one tenth."""
    latest_finish_at: datetime
    """The job finishes after this instant with a probability of one tenth."""
    latest_start_at: datetime | None = None
    """The job starts after this instant with a probability of one tenth."""
    probability: float | None = None
    """Probability of meeting the deadline, if there is one."""


@dataclass(frozen=True, kw_only=True)
class JobHistory:
    """The history of a job, or of one task of an array."""

    id: int
    """Number of the job."""
    now_at: datetime
    """Instant of the answer, by the service's clock."""
    turns: tuple[JobTurn, ...]
    """The turns of the job in order of time."""
    samples: tuple[ForecastSample, ...]
    """The expectations of the job as time went by, at most 64; none of a task of an array. The older a job is, the
    longer are the times between them."""
    task: int | None = None
    """Number of the task, if it is one of an array."""


@dataclass(frozen=True, kw_only=True)
class JobList:
    """A list of jobs, latest first; or of the tasks of an array, ascending."""

    jobs: tuple[JobDetails, ...]
    """The jobs."""
    array: JobDetails | None = None
    """The array, if these are tasks of one."""
    more: bool = False
    """True if there are more than the list has, because of its limit."""


@dataclass(frozen=True, kw_only=True)
class JobOffer:
    """A job that would be accepted now: the requested one with one change."""

    change: str
    """Changed field."""
    procs: int
    """Number of processors of the offer."""
    deadline_at: datetime | None = None
    """Deadline of the offer."""
    deadline_s: float | None = None
    """The deadline as a span after submission."""
    budget: float | None = None
    """Budget of the offer, in credits."""
    confidence: float | None = None
    """Minimum probability of meeting the deadline, as requested or of the offer."""
    price: float | None = None
    """Maximum cost, in credits."""
    probability: float | None = None
    """Probability of meeting the deadline, if there is one."""


@dataclass(frozen=True, kw_only=True)
class JobOutput:
    """Some of the output of a job, or of one task of an array."""

    source: str
    """The source of the bytes."""
    attempt: int
    """Number of the attempt that wrote the output; 0 if none has started."""
    start: int
    """Position of the first byte, counted from the beginning of the output."""
    size_bytes: int
    """Size of the whole output, with the bytes that are not here."""
    text: str | None = None
    """The bytes, if they are UTF-8."""
    bytes: tuple[int, ...] | None = None
    """The bytes, if they are not UTF-8."""
    inode: int | None = None
    """Number of the file in its file system."""
    modified_us: int | None = None
    """Time of the file's last change, in microseconds since 1970."""
    problem: str | None = None
    """Why bytes are missing that should be here."""


@dataclass(frozen=True, kw_only=True)
class JobSignal:
    """A signal to the processes of a task, once, some time before its time limit."""

    name: str
    """Name: `HUP`, `INT`, `QUIT`, `USR1`, `USR2`, `TERM` or `XCPU`."""
    before_s: float
    """Time before the limit, and shorter than it."""


@dataclass(frozen=True, kw_only=True)
class JobTurn:
    """A turn in the life of a job."""

    at: datetime
    """Instant of the turn."""
    key: str
    """Stable key: the name of an event, or `submitted`, `promised` or `attempt_ended`."""
    text: str
    """Sentence without a full stop."""
    tasks: str | None = None
    """Numbers of the tasks, as in `1-5,9`, if it concerns some of an array."""


@dataclass(frozen=True, kw_only=True)
class MemoryUsage:
    """The peak memory of jobs like one."""

    low_bytes: int
    """One in ten used less."""
    high_bytes: int
    """One in ten used more."""
    enough_bytes: int
    """The amount that `auto_memory` sets aside once enough jobs like it have ended."""
    batches: int
    """Number of batches of jobs like it that ended."""


@dataclass(frozen=True, kw_only=True)
class NodeList:
    """The nodes and workers of the service."""

    nodes: tuple[NodeStatus, ...]
    """The nodes: cores of the service's host and of the workers' hosts."""
    memory_per_node_bytes: int
    """Maximum memory of all tasks on a node of the service's host; 0 if it offers none."""
    enforced: tuple[str, ...]
    """Sentences: what is enforced on the service's host, and what can escape."""
    workers: tuple[WorkerStatus, ...]
    """Workers on other hosts, lost ones included."""
    resources: tuple[ResourceStatus, ...] = ()
    """Devices of hosts, and licences of the site."""
    slowed_hosts: tuple[SlowedHost, ...] = ()
    """Hosts on which load that is not of jobs slows jobs."""
    expected_hosts: tuple[ExpectedHostStatus, ...] = ()
    """Hosts that are expected at sites, on which promises may count."""


@dataclass(frozen=True, kw_only=True)
class NodeStatus:
    """A node: one core."""

    id: int
    """Number of the node, from 0."""
    state: str
    """State."""
    tasks: int
    """Number of tasks on the node."""
    worker: str | None = None
    """Name of its worker; none for a node of the service's host."""


@dataclass(frozen=True, kw_only=True)
class ProcessorUsage:
    """How many processors jobs like one kept busy on average."""

    low: float
    """One in ten kept fewer busy."""
    high: float
    """One in ten kept more busy."""
    batches: int
    """Number of batches of jobs like it that ended."""


@dataclass(frozen=True, kw_only=True)
class ReasonMessage:
    """A reason why a job is rejected, or runs without a promise."""

    key: str
    """Stable key. Policies have reasons of their own, so that the keys are no fixed list. `after:7` names job 7,
    with which the job was cancelled."""
    text: str
    """Text to stand after "rejected:"."""


@dataclass(frozen=True, kw_only=True)
class ResourceStatus:
    """A device of a host, or a licence of the site."""

    name: str
    """Name, as `gpu`."""
    total: int
    """Number of units."""
    taken: int
    """Number of units that running jobs take."""
    host: str | None = None
    """Host that has the devices; none for licences."""


@dataclass(frozen=True, kw_only=True)
class RiskCount:
    """Promises that are at risk for the same cause."""

    promises: int
    """Number of promises."""
    cause: str
    """The cause, in words: `it takes longer than was planned`."""


@dataclass(frozen=True, kw_only=True)
class RunTimeBelief:
    """The run time that a service expects of a job, with its evidence."""

    quantiles: tuple[RunTimeQuantile, ...]
    """Quantiles, ascending."""
    batches: int
    """Number of batches of jobs of its user that run the same program or ask for the same, and have ended. 0 if the
    expectation rests on other jobs."""


@dataclass(frozen=True, kw_only=True)
class RunTimeQuantile:
    """A quantile of a run time."""

    probability: float
    """The probability that the job takes no longer, above 0 and below 1."""
    run_s: float
    """The run time, in seconds."""


@dataclass(frozen=True, kw_only=True)
class RunningTaskAge:
    """A running task."""

    task: int
    """Number of the task."""
    age_s: float
    """The time since its start."""


@dataclass(frozen=True, kw_only=True)
class ServiceObjectives:
    """The books of the service: what became of each job and task and of its promise, with the four objectives of Yeo
    & Buyya (2008, eq. 1-4). A promise is entered at its deadline, or with the end of its job before. Jobs that
    never started because their user cancelled them are left out. A replay has the same figures under the same
    names."""

    submitted: int
    """Number of jobs in the books: those that ran or were dropped as late, and rejected ones."""
    accepted: int
    """Number of those that were admitted, with or without a promise."""
    kept: int
    """Number of kept promises: exit code 0 by the deadline."""
    broken: int
    """Number of broken promises: the job was late or lost at its deadline, or the site ended it."""
    broken_by_own_run: int
    """Number of broken promises of jobs that started early enough for the run time that was planned for them."""
    broken_by_others: int
    """Number of broken promises of jobs that could not start early enough, because others ran longer than planned."""
    broken_by_site: int
    """Number of broken promises of jobs that the site ended, lost, or was late to start."""
    broken_by_eviction: int
    """Number of broken promises of jobs that were evicted from computers that others use."""
    void: int
    """Number of void promises: the job failed by itself, reached a limit of its own, or was cancelled while it ran,
    before its deadline."""
    unpromised: int
    """Number of admitted jobs whose deadline was not promised."""
    unpromised_in_time: int
    """Number of them that succeeded by their deadline all the same."""
    unpromised_late: int
    """Number of them that ended after it or were lost."""
    unpromised_dropped: int
    """Number of them that were cancelled because they could hardly meet it any more (`--drop-late`)."""
    unpromised_void: int
    """Number of them that failed by themselves, reached a limit of their own, or were cancelled while they ran,
    before it."""
    no_deadline: int
    """Number of admitted jobs without a deadline; they are in no percentage of deadlines."""
    wait_s: float | None = None
    """Mean span from submission to start of jobs with a kept promise; none without any."""
    sla_pct: float | None = None
    """Kept promises in percent of submitted jobs with a deadline; none without any."""
    reliability_pct: float | None = None
    """Kept promises in percent of kept and broken ones; none without any."""
    in_time_pct: float | None = None
    """Jobs that succeeded by their deadline, promised or not, in percent of submitted jobs with a deadline; none
    without any."""
    profitability_pct: float | None = None
    """Earnings in percent of the budgets of submitted jobs, at most 100; none without any."""


@dataclass(frozen=True, kw_only=True)
class ServiceStatus:
    """The state of the service."""

    version: str
    """Version of the service."""
    pid: int
    """Process id of the service."""
    now_at: datetime
    """Instant of the answer."""
    up_since_at: datetime
    """Instant of the start of the service."""
    policy: str
    """Admission policy."""
    market: str
    """Market."""
    nodes: int
    """Number of nodes."""
    idle_nodes: int
    """Number of idle nodes."""
    queued: int
    """Number of queued tasks."""
    held: int
    """Number of held tasks."""
    running: int
    """Number of running tasks, with those that are suspended."""
    open_promises: int
    """Number of promises that are neither kept, broken nor void yet; each task of an array counts."""
    open_unpromised: int
    """Number of unfinished tasks in the queue or running whose deadline is not promised."""
    workers: int
    """Number of connected workers on other hosts."""
    workers_disconnected: int
    """Number of workers that lost their connection and may still reconnect."""
    clock_ahead_s: float | None = None
    """How far the service's clock is ahead of its host's, if by more than a minute: the host's clock was set back,
    and the service's runs on."""
    suspended: int = 0
    """Number of tasks that are suspended, for their computers are in use by others."""
    at_risk: int = 0
    """Number of promises with a chance below 0.8 to be kept; an array counts once."""
    risks: tuple[RiskCount, ...] = ()
    """Why they are at risk."""
    maintenance_from_at: datetime | None = None
    """Beginning of the maintenance at this instant, or of the next one."""
    maintenance_until_at: datetime | None = None
    """End of that maintenance."""
    sends_notices: bool = False
    """Whether the service sends notices."""
    notice_targets: tuple[str, ...] = ()
    """The targets of notices, by the names that `notify` may end with."""
    user: str | None = None
    """Name of the user of the request, by which the service knows this user's jobs."""
    may_operate: bool = False
    """Whether the user of the request may drain nodes, and sees the jobs of all users."""
    shadow: ShadowStatus | None = None
    """The policy on paper, if there is one; only operators see it."""


@dataclass(frozen=True, kw_only=True)
class ShadowStatus:
    """The results of a second policy with the same jobs, on paper, beside the real ones: over the jobs that were
    submitted since it began and have finished under both."""

    policy: str
    """The policy on paper."""
    since_at: datetime
    """Instant at which it began."""
    running: int
    """Number of jobs that run on paper."""
    queued: int
    """Number of jobs that wait on paper."""
    undecided: int
    """Number of jobs that are unfinished under either policy, and count in neither objectives."""
    by_forecast: int
    """Number of jobs whose end on paper is a forecast, because their run time is not known."""
    real_objectives: ServiceObjectives
    """Objectives of the deciding policy."""
    paper_objectives: ServiceObjectives
    """Objectives of the policy on paper."""


@dataclass(frozen=True, kw_only=True)
class SignalResult:
    """The answer to a signal."""

    id: int
    """Number of the job."""
    signalled: int
    """Number of running tasks to which the signal was sent; 1 for a job that is no array."""
    unreached: int
    """Number of running tasks that got none: their worker is not connected, or their program does not run yet or any
    more."""


@dataclass(frozen=True, kw_only=True)
class SlowedHost:
    """A host on which load that is not of jobs slows jobs."""

    host: str
    """Name of the host."""
    slowdown: float
    """How many times as long work takes there. Above 1, at most 100."""
    since: str
    """Instant since which jobs have been slower there."""


@dataclass(frozen=True, kw_only=True)
class SubmitResponse:
    """The answer to a submission or a quote."""

    decision: str
    """The decision."""
    now_at: datetime
    """Instant of the decision, by the service's clock."""
    estimate_s: float
    """Run time that the decision assumes."""
    estimate_source: str
    """Source of the estimate."""
    forecast_from: str
    """Sources of the forecast, in words: `14 runs of this program in 3 batches and from your request, as at other
    sites`."""
    forecast_parts: tuple[ForecastPart, ...]
    """All sources of the forecast with their parts, from the largest to the smallest."""
    id: int | None = None
    """Number of the job; none for a quote that is not reserved."""
    reasons: tuple[ReasonMessage, ...] = ()
    """Why the job is rejected, or runs without a promise."""
    price: float | None = None
    """Maximum cost, in credits; only of an accepted job."""
    clock_ahead_s: float | None = None
    """How far the service's clock is ahead of its host's, if by more than a minute: the host's clock was set back,
    and the service's runs on."""
    deadline_at: datetime | None = None
    """Deadline."""
    begin_at: datetime | None = None
    """Of a deferred job: the instant before which it does not start, if it names one."""
    decided_by_at: datetime | None = None
    """Of a waitlisted job: the instant by which it is promised or rejected."""
    time_limit_s: float | None = None
    """Wall-clock time from the start after which the job is ended: the time limit of the request, where the policy
    enforces one, or that of the site for such jobs."""
    forecast_doubt: str | None = None
    """Why the forecast is in doubt, so that its bounds are wider. None if the last jobs of the class ran as
    expected."""
    run_time: RunTimeBelief | None = None
    """The run time that is expected, with its evidence: for other clusters, which may know more of jobs like it."""
    unpredictable: UnpredictableRun | None = None
    """Of a job whose run time cannot be predicted: the run times of its class, and its treatment."""
    usage: UsageMessage | None = None
    """The use of memory and of processors by jobs like it. None if none has ended."""
    slowest_host: float | None = None
    """How many times as long work takes on the host that load which is not of jobs slows most. None if such load
    slows none."""
    expected_start_at: datetime | None = None
    """Expected start, or the start if the job has started."""
    latest_start_at: datetime | None = None
    """The job starts after this instant with a probability of one tenth."""
    expected_finish_at: datetime | None = None
    """Expected finish."""
    earliest_finish_at: datetime | None = None
    """The job finishes before this instant with a probability of one tenth."""
    latest_finish_at: datetime | None = None
    """The job finishes after this instant with a probability of one tenth."""
    probability: float | None = None
    """Probability of meeting the deadline, if there is one."""
    counts_on_expected_hosts: bool = False
    """Whether the promise counts on hosts that are not there yet: pilots in the queue of a batch system."""
    promisable_tasks: int | None = None
    """Of an array that cannot be promised whole: the number of its tasks that could be promised now."""
    offers: tuple[JobOffer, ...] = ()
    """Of a job that is not promised whole: what would be accepted now instead. Of an accepted quote with `levels`:
    surer promises."""
    held_until_at: datetime | None = None
    """Of a reserved quote: the instant at which it expires."""
    tasks: tuple[TaskRangeDecision, ...] = ()
    """Of an array: the decisions about its tasks, ascending. The other fields are about its first task, except for
    the price, which is the sum over all tasks."""


@dataclass(frozen=True, kw_only=True)
class TaskFailures:
    """Tasks of an array that failed in the same way."""

    state: str
    """Their state: `finished` with another status than `exit 0`, ended by a limit, or `lost`."""
    count: int
    """Number of such tasks."""
    tasks: str
    """Numbers of the tasks: `3,7-9`; the first of them if `cut`."""
    cut: bool
    """True if there are more tasks than are named."""
    status: str | None = None
    """The status of finished tasks: `exit 2`."""


@dataclass(frozen=True, kw_only=True)
class TaskRangeDecision:
    """Tasks of an array with the same decision."""

    tasks: str
    """Numbers of the tasks: `1-640`."""
    count: int
    """Number of tasks."""
    decision: str
    """The decision."""
    reasons: tuple[ReasonMessage, ...] = ()
    """Why the tasks are rejected, or run without a promise."""
    price: float | None = None
    """Maximum cost of all of them, in credits; only of accepted tasks."""


@dataclass(frozen=True, kw_only=True)
class TaskRuns:
    """The run times of tasks that ended with success."""

    count: int
    """Number of these tasks: of many, the last 1,000."""
    low_s: float
    """One in ten ran shorter."""
    high_s: float
    """One in ten ran longer."""


@dataclass(frozen=True, kw_only=True)
class TasksOutlook:
    """The outlook of the tasks of an unfinished array."""

    forecast_from: str
    """Sources of the forecast, in words: `8 tasks of this array`."""
    forecast_parts: tuple[ForecastPart, ...]
    """All sources of the forecast with their parts, from the largest to the smallest."""
    oldest: RunningTaskAge | None = None
    """The task that has run longest."""
    youngest: RunningTaskAge | None = None
    """The task that started last."""
    runs: TaskRuns | None = None
    """The run times of its tasks that ended with success."""
    forecast_doubt: str | None = None
    """Why the forecast is in doubt, so that its bounds are wider. None if the last jobs of the class ran as
    expected."""
    expected_start_at: datetime | None = None
    """Expected start, or the start if the job has started."""
    latest_start_at: datetime | None = None
    """The job starts after this instant with a probability of one tenth."""
    expected_finish_at: datetime | None = None
    """Expected finish."""
    earliest_finish_at: datetime | None = None
    """The job finishes before this instant with a probability of one tenth."""
    latest_finish_at: datetime | None = None
    """The job finishes after this instant with a probability of one tenth."""
    probability: float | None = None
    """Probability of meeting the deadline, if there is one."""


@dataclass(frozen=True, kw_only=True)
class UnpredictableRun:
    """The run times of a class that cannot be predicted, and how the site treats a job of it."""

    low_s: float
    """One in ten jobs of the class takes no longer."""
    high_s: float
    """One in ten jobs of the class takes longer."""
    action: str
    """The treatment: `none`, `no-promise`, `dedicated`, or `limit:4h` for a job that is ended after four hours."""
    text: str
    """The same as a sentence."""


@dataclass(frozen=True, kw_only=True)
class UsageMessage:
    """The use of memory and of processors by jobs like one, with advice about the amounts to ask for."""

    memory: MemoryUsage | None = None
    """Peak memory."""
    processors: ProcessorUsage | None = None
    """Busy processors."""
    advice: tuple[str, ...] = ()
    """Sentences for its user."""


@dataclass(frozen=True, kw_only=True)
class WaitMessage:
    """The first cause for which a job waits, with a sentence about it."""

    key: str
    """Stable key."""
    text: str
    """Sentence without a full stop: `it needs 4 nodes at once, and 2 are idle`. It never names jobs of others."""


@dataclass(frozen=True, kw_only=True)
class WorkerStatus:
    """A worker: a process that offers the cores of another host."""

    name: str
    """Name of the worker; several workers may have the same name."""
    state: str
    """State of its connection."""
    incarnation: int
    """Number of its incarnation: one more each time that it registers after it was lost."""
    first_node: int
    """Number of its first node."""
    nodes: int
    """Number of its nodes."""
    enforced: tuple[str, ...]
    """Sentences: what is enforced on its host, and what can escape."""
    until: str | None = None
    """Instant at which its host ends it, if known."""
    site: str | None = None
    """Name of its site, if it has one."""
    is_desktop: bool = False
    """Whether people work at its host, so that tasks give way there."""
    in_use: str | None = None
    """Why its host is in use by others, if it is: no task starts there."""
    retired: str | None = None
    """Why the service drained its nodes itself, if it did: `tollgate resume` lets jobs start again."""
    memory_per_node_bytes: int | None = None
    """Maximum memory of all tasks on one of its nodes, if known."""
