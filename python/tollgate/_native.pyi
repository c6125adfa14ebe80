"""The compiled part of the package."""

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, final

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
def policies() -> list[tuple[str, str]]: ...
def experiments() -> list[str]: ...
def run_study(
    name: str,
    folder: str | PathLike[str],
    resume: bool,
    changes: tuple[str | None, int | None, float | None],
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> FinishedExperiment: ...
