"""Studies: published experiments, and those of a file."""

from __future__ import annotations

from tollgate import _native
from tollgate._policy import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from tollgate._native import FinishedExperiment
    from tollgate._replay import Progress

__all__ = ["Study", "experiments", "study"]


class Study:
    """An experiment that is ready to be run. Use :func:`study` to get one."""

    def __init__(
        self,
        name: str,
        *,
        workload: str | None = None,
        seeds: int | None = None,
        scale: float | None = None,
        policies: Sequence[Policy | type[Policy]] = (),
    ) -> None:
        self.name = name
        self._changes = (workload, seeds, scale)
        self._policies = list(policies)

    def __repr__(self) -> str:
        return f"<tollgate.Study: {self.name}>"

    def run(
        self,
        *,
        threads: int | None = None,
        out: str | PathLike[str] | None = None,
        resume: bool = False,
        progress: bool | Progress = False,
    ) -> FinishedExperiment:
        """Execute all runs, test the claims, and return both.

        The results are those of ``tollgate study run``, on any number of threads. Ctrl-C ends the runs.

        Args:
            threads: Number of threads. None is the number of processors.
            out: Directory of the results, from which ``resume`` goes on. None keeps no files.
            resume: Go on with the runs of an earlier call with the same directory.
            progress: True for a bar on standard error, or a function that gets the numbers of finished and of all
                runs.

        Raises:
            ArgumentError: There is no such experiment, or the directory is that of another one.
            RecordError: The workload cannot be read.
            RunError: A policy could not decide on every job.
            PolicyError: A policy in Python answered what it must not.
        """
        if out is None:
            import tempfile

            # A thread that was interrupted may still write to it.
            with tempfile.TemporaryDirectory(prefix="tollgate-", ignore_cleanup_errors=True) as folder:
                return self._run(folder, False, threads, progress)
        return self._run(out, resume, threads, progress)

    def _run(
        self, folder: str | PathLike[str], resume: bool, threads: int | None, progress: bool | Progress
    ) -> FinishedExperiment:
        if progress is True:
            from tollgate._replay import _Bar

            with _Bar("runs") as bar:
                return self._call(folder, resume, threads, bar)
        return self._call(folder, resume, threads, progress or None)

    def _call(
        self, folder: str | PathLike[str], resume: bool, threads: int | None, progress: Progress | None
    ) -> FinishedExperiment:
        return _native.run_study(self.name, folder, resume, self._changes, self._policies, threads, progress)


def study(
    name: str | PathLike[str],
    *,
    workload: str | PathLike[str] | None = None,
    seeds: int | None = None,
    scale: float | None = None,
    policies: Policy | type[Policy] | Sequence[Policy | type[Policy]] = (),
) -> Study:
    """Return the experiment of a name or a file, with changes to it.

    Args:
        name: A name of :func:`experiments`, or the path of a TOML file.
        workload: A path of a record. None is as the experiment says.
        seeds: Number of seeds of every run.
        scale: Factor on the size of each run, as 0.1 to try.
        policies: Policies in Python: subclasses of :class:`Policy`, or objects of them. A market whose policies do
            not name one gets it behind them, if the experiment replays jobs on a cluster.

    >>> done = study("libra-risk-2006", scale=0.01, seeds=1).run()
    >>> done.claims.columns[:3]
    ['id', 'kind', 'source']
    """
    import os

    path = None if workload is None else os.fspath(workload)
    several = [policies] if isinstance(policies, (Policy, type)) else list(policies)
    return Study(os.fspath(name), workload=path, seeds=seeds, scale=scale, policies=several)


def experiments() -> list[str]:
    """Return the names of the built-in experiments.

    >>> "integrated-risk-2008" in experiments()
    True
    """
    return _native.experiments()
