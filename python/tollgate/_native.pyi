"""The compiled part of the package."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import Any, final

from tollgate._forecast import ClassKey
from tollgate._policy import Policy
from tollgate._replay import Jobs

@final
class Table:
    """A table of columns.

    Other libraries read it through Arrow without a copy: ``polars.DataFrame(table)``,
    ``pandas.DataFrame.from_arrow(table)``, ``pyarrow.table(table)``, ``duckdb.sql("from table")``. A table never
    changes. Instants are ``timestamp[us, UTC]``, spans ``duration[us]``; a missing value is None.
    """

    def __len__(self) -> int:
        """Return the number of rows."""

    def __getitem__(self, column: str, /) -> list[Any]:
        """Return the values of a column: instants are ``datetime``, spans ``timedelta``."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a fresh stream over the same buffers. A requested schema is not followed."""

    def __arrow_c_schema__(self) -> object:
        """Return the schema."""

    def _repr_html_(self) -> str: ...
    @property
    def columns(self) -> list[str]:
        """The names of the columns."""

    @property
    def schema(self) -> dict[str, str]:
        """The types of the columns by name."""

    @property
    def metadata(self) -> dict[str, str]:
        """The facts about the source of the table besides its rows, such as the size of a machine."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""

    def to_arrow(self) -> Any:
        """Return the table as a ``pyarrow.Table``."""

    def to_pandas(self) -> Any:
        """Return the table as a ``pandas.DataFrame``."""

    def to_polars(self) -> Any:
        """Return the table as a ``polars.DataFrame``."""

    def to_duckdb(self) -> Any:
        """Return the table as a relation of ``duckdb``."""

@final
class Job:
    """A job as a policy sees it: what a scheduler knows at its submission, and no more.

    Jobs are equal if their numbers are. Instants are seconds of the clock of the record, spans numbers of seconds.
    """

    @property
    def number(self) -> int:
        """The place in the order of submission, from 0."""

    @property
    def job_id(self) -> int | None:
        """The number that the record gives the job; None in a study."""

    @property
    def submit(self) -> float:
        """The instant of submission."""

    @property
    def procs(self) -> int:
        """The number of processors that the job needs at once."""

    @property
    def estimate(self) -> float:
        """The estimated run time, above 0."""

    @property
    def deadline(self) -> float | None:
        """The span after submission by which the job must have finished; None without a deadline."""

    @property
    def due(self) -> float | None:
        """The instant of the deadline."""

    @property
    def budget(self) -> float | None:
        """The most that the user pays, in credits; None without a limit."""

    @property
    def penalty_per_s(self) -> float:
        """The loss for each second past the deadline, in credits."""

    @property
    def start(self) -> float | None:
        """The instant of the start; None while the job waits."""

    @property
    def user(self) -> str | None:
        """The name of the user, if the record has it; None in a study."""

    @property
    def queue(self) -> str | None:
        """The name of the queue, if the record has it; None in a study."""

    @property
    def executable(self) -> str | None:
        """The name of the program, if the record has it; None in a study."""

    @property
    def forecast(self) -> list[float] | None:
        """The run times that the job exceeds with probability 95, 90, 80, .., 20, 10, 5 and 1 %, if it is forecast."""

    def slack(self, now: float) -> float:
        """Return the seconds to spare if the job starts at ``now`` and its estimate is right: negative if it is late.

        The difference is exact to the microsecond, and infinite without a deadline.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class JobList:
    """Jobs in an order. It is a sequence, and a table for other libraries: ``polars.DataFrame(view.queue)``."""

    def __len__(self) -> int: ...
    def __getitem__(self, place: int, /) -> Job: ...
    def __iter__(self) -> Iterator[Job]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a fresh stream of the table."""

    def table(self) -> Table:
        """Return the jobs as a table, a row a job, whose columns are the properties of a job."""

@final
class PolicyView:
    """The jobs and nodes at the instant of a call. A policy reads it during the call only."""

    @property
    def now(self) -> float:
        """The instant, in seconds of the clock of the record."""

    @property
    def n_nodes(self) -> int:
        """The number of nodes of the machine."""

    @property
    def n_idle(self) -> int:
        """The number of nodes without a job."""

    @property
    def queue(self) -> JobList:
        """The waiting jobs, in the order of submission."""

    @property
    def running(self) -> JobList:
        """The running jobs, in the order of their ends by the estimates."""

    @property
    def nodes(self) -> Table:
        """The nodes, a row a node: ``node``, ``is_up``, ``n_jobs`` and ``free_at`` (seconds, by the estimates)."""

@final
class Picture:
    """A picture, which notebooks show by themselves."""

    @property
    def svg(self) -> str:
        """The picture as an SVG document."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the SVG document to a file."""

    def _repr_svg_(self) -> str: ...

@final
class Replay:
    """The results of policies on the jobs of a record. Its text is the table of ``tollgate replay``."""

    @property
    def summary(self) -> Table:
        """The results of each policy, a row a policy (and a row a group, with ``by`` or ``windows``).

        The columns are the keys of ``tollgate replay --format json``; spans lose the ``_s`` of their names.
        """

    @property
    def jobs(self) -> Table:
        """What became of each job, a row a policy and job: decision, reason, start, wait, whether it was kept, ..

        The columns are those of ``tollgate replay --jobs-out``; instants and spans lose the ``_s`` of their names,
        and ``deadline_met`` is ``kept``.
        """

    @property
    def calibration(self) -> Table:
        """The promises of each policy, a row a policy and range of promised probabilities, against what was kept.

        The columns are the keys of ``tollgate replay --calibration --format json``. A policy that states no probability
        has no row.

        Raises:
            ArgumentError: The promises were not counted: ``replay(.., calibration=True)`` does.
        """

    @property
    def policies(self) -> list[str]:
        """The policies with their parameters, in the order of the results."""

    @property
    def nodes(self) -> list[int]:
        """The numbers of nodes of the machines."""

    def write_jobs(self, path: str | PathLike[str]) -> None:
        """Write a line of CSV for each policy and job: the file of ``tollgate replay --jobs-out``, to the byte."""

    def gantt(self, policy: str | None = None) -> Picture:
        """Draw the schedule of a policy; of the first one by default."""

    def plot(self) -> Picture:
        """Draw the share of the jobs that have started by a time after their submission, a line a policy."""

    def risk_plane(self) -> Picture:
        """Draw the performance and the volatility of each policy over the windows of the record.

        Raises:
            ArgumentError: The record was not cut into windows.
        """

    def _repr_html_(self) -> str: ...

@final
class Forecast:
    """The forecasts of a site, learned from its records."""

    def quantiles(
        self,
        levels: Sequence[float],
        *,
        user: str | None = None,
        name: str | None = None,
        group: str | None = None,
        account: str | None = None,
        queue: str | None = None,
        procs: int | None = None,
        estimate: float | timedelta | None = None,
    ) -> list[timedelta]:
        """Return upper bounds of the run time of a job that is submitted now: it stays within each at that probability.

        These are the bounds of ``tollgate forecast --explain``. Where the job stays within its estimate at least as often
        as a level says, the estimate is the most that is stated at it.

        Args:
            levels: Probabilities above 0 and below 1.
            user: The user.
            name: The name of the job or its program, as the records have it.
            group: The group of the user.
            account: The account.
            queue: The queue.
            procs: Number of processors; None is 1.
            estimate: The estimate of the user, in seconds or as a ``timedelta``.

        Raises:
            ArgumentError: An argument is not understood.
        """

    @property
    def calibration(self) -> Table:
        """How well the forecasts held: each job of the records, forecast from the jobs before it.

        A row a method and setting, as in ``tollgate forecast evaluate --format csv``; what :meth:`quantiles` states is
        the method ``aggregate``. It is measured at the first use, which takes longer than learning. Ctrl-C ends that.
        """

    @property
    def n_jobs(self) -> int:
        """Number of jobs that were learned."""

@final
class FinishedExperiment:
    """The outcome of a study. A notebook shows its claims."""

    @property
    def claims(self) -> Table:
        """The claims with their verdicts: the rows of ``tollgate study run --format csv``."""

    @property
    def results(self) -> Table:
        """The results of each run, a row a run: ``results.csv`` of the study's directory."""

    @property
    def n_unexpected(self) -> int:
        """Number of claims that were expected to hold and do not."""

    @property
    def report(self) -> str:
        """The report as a page of HTML, with its pictures: ``report.html`` of the study's directory."""

    def _repr_html_(self) -> str: ...

def replay(
    jobs: Jobs | None, arguments: Mapping[str, object], progress: Callable[[int, int], object] | None = None
) -> Replay: ...
def read(jobs: Jobs | None = None) -> Table: ...
def forecast(
    jobs: Jobs | Sequence[Jobs] | None, by: ClassKey | Sequence[ClassKey] | None, series: int
) -> Forecast: ...
def policies() -> list[tuple[str, str]]: ...
def experiments() -> list[str]: ...
def run_study(
    name: str,
    folder: str | PathLike[str],
    resume: bool,
    changes: tuple[str | None, int | None, float | None],
    policies: Sequence[Policy | type[Policy]],
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> FinishedExperiment: ...
def join_interrupted() -> None: ...
