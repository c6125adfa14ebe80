"""A backend of joblib whose calls are jobs of a tollgate service: ``joblib.parallel_config(backend="tollgate")``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tollgate as tg
from joblib import register_parallel_backend
from joblib._parallel_backends import AutoBatchingMixin, ParallelBackendBase

__all__ = ["TollgateBackend"]

_OPTIONS = frozenset(("client", "folder", *tg.JobOptions.__annotations__))


class TollgateBackend(AutoBatchingMixin, ParallelBackendBase):
    """Submits each batch of calls as a job.

    Args:
        nesting_level: That of joblib.
        inner_max_num_threads: That of joblib.
        options: Arguments of :class:`tollgate.Executor`: ``client``, ``folder``, ``deadline``, ``estimate``, ``procs``, ..
    """

    supports_retrieve_callback = True

    def __init__(
        self, nesting_level: int | None = None, inner_max_num_threads: int | None = None, **options: Any
    ) -> None:
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        self._options = options
        self._executor: tg.Executor | None = None
        self._futures: set[tg.PromisedFuture[Any]] = set()

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """Return the number of jobs that run at a time: with -1, as many as the service has processors for."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is None:
            return 1
        if n_jobs > 0:
            return n_jobs
        client = self._options.get("client") or tg.Client()
        n_all = client.status().nodes // int(self._options.get("procs", 1))
        return max(n_all + 1 + n_jobs, 1)

    def configure(
        self, n_jobs: int = 1, parallel: Any = None, prefer: str | None = None, require: str | None = None, **options: Any
    ) -> int:
        # The others are settings of pools on this host, as of memory maps, which joblib gives to every backend.
        self._options.update({name: value for name, value in options.items() if name in _OPTIONS})
        n_effective: int = super().configure(n_jobs, parallel, prefer, require)
        self._executor = tg.Executor(**self._options)
        return n_effective

    def submit(self, func: Callable[[], Any], callback: Callable[[Any], object] | None = None) -> Any:
        assert self._executor is not None, "joblib configures a backend before its first call"
        future = self._executor.submit(func)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, future: tg.PromisedFuture[Any]) -> Any:
        return future.result()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        for future in list(self._futures):
            future.cancel()

    def terminate(self) -> None:
        if self._executor is not None:
            self._executor.shutdown()
            self._executor = None


register_parallel_backend("tollgate", TollgateBackend)
