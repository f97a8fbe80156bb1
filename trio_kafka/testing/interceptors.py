"""Owner of interceptors, for tests."""

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.requests.interceptors.registry import InFlight


@define(eq=False)
class RecordingOwner:
    """Owner that records the failures that are reported to it, with their places."""

    name: str = "blamed"
    in_flight: InFlight | None = None
    failures: list[tuple[BaseException, str]] = field(factory=list)

    def failed(self, error: BaseException, where: str) -> None:
        self.failures.append((error, where))
