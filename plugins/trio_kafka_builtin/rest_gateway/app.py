"""The ASGI app: routes, limits, and HTTP statuses of Kafka errors."""

from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import parse_qsl, unquote

from attrs import frozen

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.limiter import open_limiter
from trio_kafka.plugin import PluginContext, RefusedError
from trio_kafka.plugin_host.mounts import Receive, Scope, Send
from trio_kafka_builtin.rest_gateway.answer_memory import AnswerMemory, AnswerShare
from trio_kafka_builtin.rest_gateway.client import client_of
from trio_kafka_builtin.rest_gateway.consume import ReadRequest, consume
from trio_kafka_builtin.rest_gateway.formats import check_format
from trio_kafka_builtin.rest_gateway.openapi import document
from trio_kafka_builtin.rest_gateway.produce import produce
from trio_kafka_builtin.rest_gateway.settings import GatewaySettings
from trio_kafka_builtin.rest_gateway.topics import (
    MOST_NAMES,
    create_topic,
    delete_topic,
    describe_topic,
    list_topics,
)
from trio_kafka_http.asgi_json import (
    HttpError,
    InFlight,
    read_json,
    read_number,
    send_json,
    unknown_name,
)

# Names in the query, by method and last word of the path.
_QUERIES: Final[Mapping[tuple[str, str], Collection[str]]] = {
    ("GET", "topics"): ("after", "limit"),
    ("GET", "records"): ("offset", "max_bytes", "wait_ms", "format"),
}
_RETRY: Final = ((b"retry-after", b"1"),)
_DECODING: Final = 4  # answers at a time: each may decompress 16 MiB
STATUS: Final[Mapping[ErrorCode, int]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: 404,
    ErrorCode.TOPIC_ALREADY_EXISTS: 409,
    ErrorCode.OFFSET_OUT_OF_RANGE: 416,
    ErrorCode.MESSAGE_TOO_LARGE: 413,
    ErrorCode.RECORD_LIST_TOO_LARGE: 413,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: 403,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: 403,
    ErrorCode.TOPIC_DELETION_DISABLED: 403,
    ErrorCode.POLICY_VIOLATION: 422,
    ErrorCode.INVALID_RECORD: 422,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED: 429,
    ErrorCode.REQUEST_TIMED_OUT: 504,
    ErrorCode.LEADER_NOT_AVAILABLE: 503,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: 503,
    ErrorCode.NOT_ENOUGH_REPLICAS: 503,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: 503,
    ErrorCode.NOT_CONTROLLER: 503,
    ErrorCode.KAFKA_STORAGE_ERROR: 503,
    ErrorCode.CORRUPT_MESSAGE: 500,
    ErrorCode.UNKNOWN_SERVER_ERROR: 500,
}


@frozen
class Answer:
    """Status and JSON body of a response."""

    status: int
    body: Mapping[str, object] | None = None


class Gateway:
    """ASGI app of the gateway. The HTTP plane checks host names, tokens and deadlines before it."""

    def __init__(self, context: PluginContext[GatewaySettings]) -> None:
        self._context = context
        self._settings = context.settings
        self._in_flight = InFlight(context.settings.max_requests)
        self._memory = AnswerMemory()
        self._decoding = open_limiter(_DECODING, context.node, "rest-decoding")
        context.node.add("rest-requests", "channel", self._in_flight.figures)
        context.node.add("rest-answers", "part", self._memory.figures)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or send the HTTP error of its Kafka error."""
        if self._in_flight.full:
            body = _error(503, "too many requests at once")
            await send_json(send, 503, body, headers=_RETRY)
            return
        # Until the answer is sent: a client that reads slowly keeps it.
        with self._in_flight, self._memory.share() as share:
            answer = await self._answer(scope, receive, share)
            await send_json(send, answer.status, answer.body)

    async def _answer(self, scope: Scope, receive: Receive, share: AnswerShare) -> Answer:
        try:
            return await self._route(scope, receive, share)
        except HttpError as error:
            return Answer(error.status, _error(error.status, str(error)))
        except KafkaError as error:
            status = STATUS.get(error.code, 400)
            return Answer(status, _error(status, error.message or "", error.code))
        except RefusedError as error:
            return Answer(500, _error(500, str(error)))

    async def _route(self, scope: Scope, receive: Receive, share: AnswerShare) -> Answer:
        root = scope.get("root_path", "") or self._settings.path
        raw = scope.get("raw_path", b"").decode("latin1") or scope["path"]
        names = [unquote(name) for name in raw.removeprefix(root).strip("/").split("/")]
        method, context = scope["method"], self._context
        query = _query_of(scope["query_string"], _QUERIES.get((method, names[-1]), ()))
        client = client_of(context, scope)
        match names, method:
            case ["openapi.json"], "GET":
                answer = Answer(200, document(root))
            case ["topics"], "GET":
                most = read_number(query, "limit", MOST_NAMES, low=1, high=MOST_NAMES)
                answer = Answer(200, await list_topics(client, query.get("after", ""), most))
            case ["topics"], "POST":
                answer = Answer(201, await create_topic(client, await self._body(receive)))
            case ["topics", name], "GET":
                answer = Answer(200, await describe_topic(client, name))
            case ["topics", name], "DELETE":
                await delete_topic(client, name)
                answer = Answer(204)
            case ["topics", name, "records"], "POST":
                records = await self._body(receive)
                answer = Answer(200, {"offsets": await produce(client, name, records)})
            case ["topics", name, "partitions", number, "records"], "GET":
                read = self._read_request(name, number, query)
                body = await consume(client, read, share=share, decoding=self._decoding)
                answer = Answer(200, body)
            case _ if _is_known(names):
                raise HttpError(405, f"{method} is not a path of this app")
            case _:
                raise HttpError(404, "nothing is here")
        return answer

    def _read_request(self, topic: str, number: str, query: Mapping[str, str]) -> ReadRequest:
        settings = self._settings
        most, wait = settings.max_fetch_bytes, settings.max_wait_ms
        return ReadRequest(
            topic=topic,
            partition=read_number({"partition": number}, "partition", 0),
            offset=read_number(query, "offset", 0),
            max_bytes=read_number(query, "max_bytes", min(65536, most), low=1, high=most),
            wait_s=read_number(query, "wait_ms", 0, high=wait) / 1000,
            format=check_format(query.get("format", "json")),
        )

    async def _body(self, receive: Receive) -> object:
        """Read a JSON object. Raises HttpError."""
        return await read_json(receive, self._settings.max_body_bytes)


def _query_of(text: bytes, allowed: Collection[str]) -> dict[str, str]:
    """Return the values of a query by name. Raises HttpError: unknown or repeated name."""
    query: dict[str, str] = {}
    for name, value in parse_qsl(text.decode("latin1"), keep_blank_values=True):
        if name in query:
            raise HttpError(400, f"query: the name {name[:40]!r} twice")
        query[name] = value
    if error := unknown_name(query, allowed):
        raise HttpError(400, f"query: {error}")
    return query


def _is_known(names: list[str]) -> bool:
    match names:
        case (
            ["openapi.json"]
            | ["topics"]
            | ["topics", _]
            | ["topics", _, "records"]
            | ["topics", _, "partitions", _, "records"]
        ):
            return True
    return False


def _error(status: int, message: str, code: ErrorCode | None = None) -> dict[str, object]:
    body = {"error_code": status, "message": message}
    return body if code is None else {**body, "kafka_error": code.name, "kafka_code": int(code)}
