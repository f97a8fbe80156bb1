"""Control of a broker's periodic jobs, for suites in other languages."""

import attrs
import trio

from trio_kafka.attributes import frozen
from trio_kafka.periodic_jobs import JobNotRunError, UnknownJobError
from trio_kafka.plugin import PluginContext
from trio_kafka_builtin.faults.app import Answer, ControlRequest
from trio_kafka_builtin.faults.settings import FaultSettings
from trio_kafka_http.asgi_json import HttpError


@frozen
class JobControl:
    """`/jobs`: jobs are listed; `POST /jobs/NAME/run` runs one now and waits for its end."""

    _context: PluginContext[FaultSettings]

    async def answer(self, request: ControlRequest) -> Answer:
        """Answer a request. Raises HttpError."""
        scheduler = self._context.parts.scheduler
        match request.method, *request.names:
            case ["GET"]:
                await trio.lowlevel.checkpoint()
                return 200, {"jobs": [attrs.asdict(status) for status in scheduler.statuses]}
            case ["POST", name, "run"]:
                request.unlimited()
                try:
                    return 200, attrs.asdict(await scheduler.run_now(name))
                except UnknownJobError as error:
                    raise HttpError(404, str(error)[:1000]) from None
                except JobNotRunError as error:
                    raise HttpError(409, str(error)[:1000]) from None
        raise request.no_such()
