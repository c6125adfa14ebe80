"""Events of a service, as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tollgate._moments import from_wire

if TYPE_CHECKING:
    from tollgate._async_service import AsyncEventStream
    from tollgate._connection import EventStream

__all__ = ["AsyncEvents", "Event", "Events"]


@dataclass(frozen=True)
class Event:
    """An event of a job, a class of jobs, a worker or a node.

    After ``"gap"`` and ``"reconnected"`` ask for the current state: events before it may be missing.
    """

    kind: str
    """Kind: ``"started"``, ``"finished"``, ``"at_risk"``, ..; ``"class"``, ``"worker"``, ``"node"``; ``"gap"``,
    ``"reconnected"``. It may be one of a later version of the service."""
    job: int | None = None
    """Number of the job, if it is about one."""
    tasks: str | None = None
    """Numbers of the tasks of an array, as in ``"1-5,9"``, if not all."""
    at: datetime | None = None
    """Instant of the event, in UTC."""
    data: dict[str, Any] = field(default_factory=dict)
    """All fields of the event, as the service sent them."""


def event_of(kind: str, data: dict[str, Any]) -> Event:
    at = data.get("at")
    return Event(kind, data.get("job"), data.get("tasks"), None if at is None else from_wire(at), data)


class Events:
    """The events from the call of :meth:`Client.events` on. The iteration ends after :meth:`close`, also by another thread."""

    def __init__(self, stream: EventStream) -> None:
        self._stream = stream
        self._events = iter(stream)

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        return event_of(*next(self._events))

    def __enter__(self) -> Events:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the iteration."""
        self._stream.close()


class AsyncEvents:
    """The events from ``async with`` or the first one on."""

    def __init__(self, stream: AsyncEventStream) -> None:
        self._stream = stream

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        return event_of(*await self._stream.next())

    async def __aenter__(self) -> AsyncEvents:
        await self._stream.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()
