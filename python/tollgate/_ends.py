"""The ends of jobs, from the stream of events of their service."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tollgate._calls import Call
from tollgate._client import Client

if TYPE_CHECKING:
    from tollgate._executor import PromisedFuture

__all__ = ["Batch", "Ends", "numbers"]

_LAST_EVENTS = frozenset(
    ("finished", "timed_out", "out_of_memory", "output_limit", "cancelled", "lost", "rejected", "expired")
)
# The service takes 1,000 numbers at once; a question then has at most 8 kB.
_ASKED_AT_ONCE = 500


@dataclass
class Batch:
    """The open calls of one job or array."""

    job: int
    call: Call
    is_array: bool
    futures: dict[int, PromisedFuture[Any]]
    """The futures by the number of their task; 0 for a job that is no array."""
    ending: set[int] = field(default_factory=set)
    """The tasks whose results are being read."""


class Ends:
    """Watches the jobs of an executor, in a thread of its own, without polling.

    Args:
        client: The service.
        lock: Held while the lists of jobs change, and never during a request or a callback.
        settle: Gets a batch, the future and the number of a task that is over, and how it ended.
        fail: Gets the error after which nothing more is known.
    """

    def __init__(
        self,
        client: Client,
        lock: threading.RLock,
        settle: Callable[[Batch, PromisedFuture[Any], int, str], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._client = client
        self._lock = lock
        self._settle = settle
        self._fail = fail
        self._batches: dict[int, Batch] = {}
        self._n_expected = 0
        self._early: list[tuple[str, dict[str, Any]]] = []
        self._error: BaseException | None = None
        self.on_idle: Callable[[], None] = lambda: None
        self._stream = client._service.events("/v1/events")
        self._thread = threading.Thread(target=self._watch, name="tollgate-executor", daemon=True)
        self._thread.start()

    def expect(self) -> None:
        """Keep events of unknown jobs from now on: a job may end before the answer to its submission is read."""
        with self._lock:
            if self._error is not None:
                raise self._error
            self._n_expected += 1

    def expected(self, batch: Batch | None) -> None:
        """Add the batch that was expected; None if there is none after all."""
        with self._lock:
            self._n_expected -= 1
            early = self._early
            if self._n_expected == 0:
                self._early = []
            if batch is None:
                return
            if batch.futures:
                self._batches[batch.job] = batch
        for name, data in early:
            if data.get("job") == batch.job:
                self._handle(name, data)

    def open_futures(self) -> list[PromisedFuture[Any]]:
        with self._lock:
            found = [future for batch in self._batches.values() for future in batch.futures.values()]
        return [future for future in found if not future.done()]

    def close(self) -> None:
        self._stream.close()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _watch(self) -> None:
        try:
            for name, data in self._stream:
                if name in ("gap", "reconnected"):
                    self._ask()
                else:
                    self._handle(name, data)
                with self._lock:
                    is_idle = not self._batches and self._n_expected == 0
                if is_idle:
                    self.on_idle()
        except BaseException as error:
            self._error = error
            self._fail(error)

    def _handle(self, name: str, data: dict[str, Any]) -> None:
        with self._lock:
            batch = self._batches.get(data.get("job", 0))
            if batch is None:
                if self._n_expected and "job" in data:
                    self._early.append((name, data))
                return
            is_whole = not batch.is_array or "tasks" not in data
            left = list(batch.futures) if is_whole else [at for at in numbers(data["tasks"]) if at in batch.futures]
            if name == "started":
                for number in left:
                    batch.futures[number]._is_started = True
        if name not in _LAST_EVENTS:
            return
        if batch.is_array and is_whole:
            # The end of an array follows those of its tasks: what is still open ended in another way.
            self._ask_about(batch)
            return
        for number in left:
            self._end(batch, number, name)

    def _end(self, batch: Batch, number: int, state: str) -> None:
        with self._lock:
            if number not in batch.futures or number in batch.ending:
                return
            batch.ending.add(number)
            future = batch.futures[number]
        self._settle(batch, future, number, state)
        with self._lock:
            del batch.futures[number]
            if not batch.futures:
                self._batches.pop(batch.job, None)

    def _ask(self) -> None:
        """Ask for the state of every open job: events may be missing."""
        with self._lock:
            batches = list(self._batches.values())
        for batch in batches:
            self._ask_about(batch)

    def _ask_about(self, batch: Batch) -> None:
        with self._lock:
            left = sorted(batch.futures)
        states: dict[int, str] = {}
        for at in range(0, len(left), _ASKED_AT_ONCE):
            part = left[at : at + _ASKED_AT_ONCE]
            names = [f"{batch.job}_{number}" for number in part] if batch.is_array else [str(batch.job)]
            answer = self._client._service.get(f"/v1/jobs?limit={len(names)}&ids={','.join(names)}", waits=True)
            for job in answer["jobs"]:
                number = job.get("task") or 0
                states[number] = job["state"]
                if number in batch.futures:
                    batch.futures[number]._is_started = job.get("started_at") is not None
        if len(states) < len(left):
            # A task that was never created has the state of its array.
            whole = str(self._client._service.get(f"/v1/jobs/{batch.job}", waits=True)["state"])
            states.update({number: whole for number in left if number not in states})
        for number, state in states.items():
            if state in _LAST_EVENTS:
                self._end(batch, number, state)


def numbers(words: str) -> Iterable[int]:
    """Yield the numbers of tasks: ``1-5,9`` or ``0-9:3``."""
    for part in words.split("%")[0].split(","):
        span, _, step = part.partition(":")
        first, _, last = span.partition("-")
        yield from range(int(first), int(last or first) + 1, int(step or 1))
