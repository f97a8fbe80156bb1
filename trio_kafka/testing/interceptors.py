"""Owners of interceptors, for tests of those who have interceptors."""

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.requests.interceptors.registry import InFlight


@define(eq=False)
class RecordingOwner:
    """An owner that only keeps what it is told: the failures and where they were."""

    name: str = "blamed"
    in_flight: InFlight | None = None
    failures: list[tuple[BaseException, str]] = field(factory=list)

    def failed(self, error: BaseException, where: str) -> None:
        self.failures.append((error, where))
