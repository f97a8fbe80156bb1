"""Leases that count how often they are released, and handlers that answer with them."""

from typing import Any

import trio
from attrs import define, field

from trio_kafka.plugin import Context, api
from trio_kafka.purgatory import Delayed, Purgatory
from trio_kafka.records.file_range import FileRange
from trio_kafka.testing.sample_apis import ReadRequest, ReadResponse


@define(eq=False)
class CountedLease:
    """A lease on a file of ten bytes in memory."""

    key: int = -1
    end: int = 10
    cut: bool = False
    released: int = 0

    def content(self, start: int, limit: int) -> bytes:
        return bytes(10)[start : start + limit]

    def release(self) -> None:
        self.released += 1


@define(eq=False)
class LeasedReads:
    """Answers of ReadRequest with a leased range. leases: that were taken.

    is_ready: what `delayed` answers with is there.
    """

    leases: list[CountedLease] = field(factory=list)
    is_ready: bool = False

    def response(self) -> ReadResponse:
        self.leases.append(CountedLease())
        return ReadResponse(data=FileRange(self.leases[-1], 0, 10))  # type: ignore[arg-type]

    def at_once(self) -> Any:
        """Return a handler that answers at once."""

        @api(ReadRequest)
        def read(request: ReadRequest, context: Context) -> ReadResponse:
            return self.response()

        return read

    def delayed(self, purgatory: Purgatory) -> Any:
        """Return a handler that answers when "key" is marked and `is_ready` is set."""

        @api(ReadRequest)
        def read(request: ReadRequest, context: Context) -> Delayed:
            def outcome(timed_out: bool) -> ReadResponse | None:
                return self.response() if self.is_ready or timed_out else None

            return Delayed(("key",), trio.current_time() + 60, outcome, purgatory=purgatory)

        return read

    @property
    def open(self) -> int:
        """Number of leases that were not released."""
        return sum(not lease.released for lease in self.leases)
