"""RunJob (key 10004, ours): run a periodic job of the broker now, such as the retention of logs.

Waits until the job has ended; jobs run one after the other. A client that disconnects meanwhile
does not stop it. A job that fails is no error of the request: the response says what it raised.

Needs ALTER on the cluster. While no authorizer decides, the client must be on this machine.
"""

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.periodic_jobs import Scheduler
from trio_kafka.protocol.messages.k10004_run_job import RunJobRequest, RunJobResponse
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.security.operations import Operation


@api(RunJobRequest)
async def run_job(request: RunJobRequest, context: Context) -> RunJobResponse:
    context.authorize_local(Operation.ALTER)
    try:
        run = await context.parked(context[Scheduler].run_now, request.name)
    except (ValueError, RuntimeError) as error:  # no such job, or it was removed meanwhile
        raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, str(error)[:1000]) from error
    return RunJobResponse(took_s=run.took_s, job_error=run.error)
