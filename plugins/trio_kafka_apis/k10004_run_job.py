"""RunJob (key 10004, ours): run a periodic job of the broker now, such as the retention of logs.

Waits until the job has ended; jobs run one after the other. A client that disconnects meanwhile
does not stop it. A job that fails is no error of the request: the response says what it raised.

Needs ALTER on the cluster. While no authorizer decides, the client must be on this machine.
"""

from trio_kafka.plugin import Context, ErrorCode, KafkaError, Operation, api
from trio_kafka.protocol.messages.k10004_run_job import RunJobRequest, RunJobResponse


@api(RunJobRequest)
async def run_job(request: RunJobRequest, context: Context) -> RunJobResponse:
    context.authorize_local(Operation.ALTER)
    try:
        run = await context.parked(context.scheduler.run_now, request.name)
    except (ValueError, RuntimeError) as error:  # no such job, or it was removed meanwhile
        raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, str(error)[:1000]) from error
    return RunJobResponse(took_s=run.took_s, job_error=run.error)
