"""The ASGI app to which children post the progress of their queries.

`POST <path>/<pipeline>/progress` with the token of that pipeline's child: each start of
a child creates one, valid nowhere else. An unknown pipeline and a wrong token get the same answer.
"""

from typing import Final

from trio_kafka.introspect.metrics import Counter
from trio_kafka.plugin_host.mounts import Receive, Scope, Send
from trio_kafka_builtin.pipelines.pipeline import Pipeline
from trio_kafka_builtin.pipelines.queries import ProgressError
from trio_kafka_builtin.pipelines.supervisor import Supervisor
from trio_kafka_http.asgi_json import HttpError, InFlight, read_json, send_json

MOST_AT_ONCE: Final = 32
_CHALLENGE: Final = ((b"www-authenticate", b'Bearer realm="pipelines"'),)


class ProgressApp:
    """ASGI app. wrong: counts requests without the right token."""

    def __init__(self, supervisor: Supervisor, wrong: Counter) -> None:
        self._supervisor = supervisor
        self._wrong = wrong
        self.in_flight = InFlight(MOST_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a progress post of a child, or send the reason for its refusal."""
        try:
            if self.in_flight.full:
                raise HttpError(503, "too many requests at once")
            with self.in_flight:
                await self._take(scope, receive)
        except HttpError as error:
            refusal = {"error_code": error.status, "message": str(error)}
            headers = _CHALLENGE if error.status == 401 else ()
            await send_json(send, error.status, refusal, headers=headers)
        else:
            await send_json(send, 204, None)

    async def _take(self, scope: Scope, receive: Receive) -> None:
        """Accept a post of progress. Raises HttpError."""
        settings = self._supervisor.settings
        root = scope.get("root_path", "") or settings.path
        names = scope["path"].removeprefix(root).strip("/").split("/")
        if len(names) != 2 or names[1] != "progress":
            raise HttpError(404, "nothing is here")
        pipeline = self._authorized(names[0], scope)
        if scope["method"] != "POST":
            raise HttpError(405, "want POST")
        posted = await read_json(receive, settings.max_body_bytes)
        try:
            rows = pipeline.queries.take(posted, pipeline.world.clock.wall())
        except ProgressError as error:
            raise HttpError(400, str(error)) from None
        pipeline.rows.value += rows

    def _authorized(self, name: str, scope: Scope) -> Pipeline:
        """Return the pipeline of a token. Raises HttpError."""
        authorization = dict(scope["headers"]).get(b"authorization", b"").decode("latin1")
        scheme, _, token = authorization.partition(" ")
        pipeline = self._supervisor.find(name)
        if scheme.lower() != "bearer" or pipeline is None or not pipeline.knows(token.strip()):
            self._wrong.value += 1
            raise HttpError(401, "want the token of this pipeline's child: Authorization: Bearer")
        return pipeline
