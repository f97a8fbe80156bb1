"""RunJob (key 10004): run a periodic job of the broker now. Ours, not Kafka's."""

from typing import ClassVar

from trio_kafka.protocol.schema import float64, int16, request, response, string


@request(key=10004, versions="0", flexible="0+")
class RunJobRequest:
    """Name of the job, as the tree shows it."""

    response: ClassVar[type["RunJobResponse"]]

    name: str = string()


@response(RunJobRequest)
class RunJobResponse:
    """How the run went. job_error: what the job raised, null if nothing."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    took_s: float = float64()
    job_error: str | None = string(nullable="0+", default=None)
