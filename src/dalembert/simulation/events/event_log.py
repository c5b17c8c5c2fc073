"""Log of the events of a run in order; events of friction and stops are made where they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, overload

from ...result import EventRecord

__all__ = ["EventLog", "EventSource"]


class EventSource(Protocol):
    """Data from which events are made."""

    @property
    def events(self) -> list[EventRecord]:
        """Events in order."""


class EventLog(Sequence[EventRecord]):
    """Events of a run in order.

    Parameters
    ----------
    records : iterable of EventRecord
    """

    def __init__(self, records: Iterable[EventRecord] = ()) -> None:
        self._records = list(records)
        self._sources: list[tuple[EventSource, list[EventRecord]]] = []  # not read yet, with the events after each

    def append(self, record: EventRecord) -> None:
        """Add an event."""
        (self._sources[-1][1] if self._sources else self._records).append(record)

    def append_source(self, source: EventSource) -> None:
        """Add events that are made when they are read."""
        self._sources.append((source, []))

    def clear(self) -> None:
        """Drop all events."""
        self._records, self._sources = [], []

    def copy(self) -> EventLog:
        """Return a log of the events so far."""
        other = EventLog(self._records)
        other._sources = [(source, list(after)) for source, after in self._sources]
        return other

    def records(self) -> list[EventRecord]:
        """Return the events."""
        for source, after in self._sources:
            self._records += source.events
            self._records += after
        self._sources = []
        return self._records

    def __len__(self) -> int:
        return len(self.records())

    def __iter__(self) -> Iterator[EventRecord]:
        return iter(self.records())

    @overload
    def __getitem__(self, k: int) -> EventRecord: ...
    @overload
    def __getitem__(self, k: slice) -> list[EventRecord]: ...
    def __getitem__(self, k: int | slice) -> Any:
        return self.records()[k]

    def __reduce__(self) -> tuple[Any, ...]:
        return EventLog, (self.records(),)
