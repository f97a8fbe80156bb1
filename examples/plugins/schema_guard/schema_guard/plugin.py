"""The plugin: find the schema of each topic, and reject Produce batches that do not fit."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from typing import Final, Protocol

import httpx
import trio
from attrs import define, frozen

from schema_guard.batches import Check, Refusal, look_at
from schema_guard.registry import Registry, RegistryDownError
from schema_guard.schemas import Judge, SchemaError, judge_of
from trio_kafka.plugin import (
    Context,
    ErrorCode,
    KafkaError,
    Outside,
    Plugin,
    PluginContext,
    ProtocolError,
    TopicId,
    integer,
    password,
    plugin,
    string,
    texts,
)
from trio_kafka.protocol.messages.k00_produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from trio_kafka.world.protocols import Directory
from trio_kafka.world.world import World

Forward = Callable[[ProduceRequest], Awaitable[ProduceResponse]]
MAGIC: Final = 0
PREFIX: Final = 5  # bytes: the magic, and the schema's id, big-endian
KINDS: Final[Mapping[str, str]] = {".json": "JSON", ".avsc": "AVRO"}
MOST_QUESTIONS: Final = 16  # of one batch to the registry: ids are the client's to choose
NO_PREFIX: Final = f"no schema id: want {MAGIC} and four bytes before the value"


@frozen(kw_only=True)
class GuardSettings:
    """`plugin.schema_guard.<name>`; a `_` of a field is a `.` of its setting."""

    directory: str | None = string(
        None, "Directory of schemas: TOPIC.json, TOPIC.avsc.", names=Outside.DIRECTORY
    )
    topics: tuple[str, ...] = texts((), "Patterns of topics whose values carry a schema id.")
    registry: str | None = string(None, "Address of the registry.", names=Outside.ADDRESS)
    registry_user: str | None = string(None, "User of the registry.")
    registry_password: str | None = password(None, "Password of the registry.")
    registry_down: str = string(
        "refuse", "Treatment of records while the registry is down.", choices=("allow", "refuse")
    )
    registry_deadline_ms: int = integer(2000, "Longest wait for an answer.", low=1)
    registry_retry_ms: int = integer(5000, "Time until a failure is tried again.", low=1)
    registry_schemas: int = integer(1000, "Number of cached schemas.", low=1)
    largest_value: int = integer(65_536, "Largest value in bytes.", low=1)
    largest_repeated: int = integer(
        8192, "The same for Avro values whose schema has arrays or maps.", low=1
    )
    largest_batch: int = integer(33_554_432, "Largest batch in bytes, after decompression.", low=1)


class Count(Protocol):
    """Counter of the broker."""

    value: int


@define(eq=False, kw_only=True)
class Guard:
    """The interceptor. schemas: by topic. registry: for topics that fit a pattern, or None."""

    settings: GuardSettings
    schemas: Mapping[str, Judge]
    registry: Registry | None
    world: World
    checked: Count
    refused: Count
    unchecked: Count

    async def around(
        self, request: ProduceRequest, context: Context, forward: Forward
    ) -> ProduceResponse:
        """Forward the batches that fit, and answer for the others."""
        refusals: dict[tuple[int, int], Refusal] = {}
        for number, topic in enumerate(request.topic_data):
            check = self._check_of(_name_of(topic, context))
            if check is None:
                continue
            for at, data in enumerate(topic.partition_data):
                if data.records is None:  # the broker says what is wrong with it
                    continue
                self.checked.value += 1
                refusal = await look_at(
                    data.records, check, world=self.world, most_bytes=self.settings.largest_batch
                )
                if refusal is not None:
                    self.refused.value += 1
                    refusals[number, at] = refusal
        if not refusals:
            return await forward(request)
        answer = await forward(_without(request, refusals))
        if request.acks == 0:
            first = next(iter(refusals.values()))
            raise ProtocolError(f"acks=0, and a batch is refused: {first.message}")
        return _merged(request, answer, refusals)

    def _check_of(self, topic: str | None) -> Check | None:
        if topic is None:
            return None
        framed = any(fnmatchcase(topic, pattern) for pattern in self.settings.topics)
        judge = self.schemas.get(topic)
        if judge is not None:
            return self._by_directory(judge, framed=framed)
        return self._by_registry() if framed else None

    def _by_directory(self, judge: Judge, *, framed: bool) -> Check:
        async def check(value: bytes) -> str | None:
            too_large = self._too_large(value)
            if too_large is not None:
                return too_large
            if framed:
                if len(value) < PREFIX or value[0] != MAGIC:
                    return NO_PREFIX
                value = value[PREFIX:]
            return judge(value)

        return check

    def _by_registry(self) -> Check:
        registry, questions = self.registry, 0

        async def check(value: bytes) -> str | None:
            nonlocal questions
            too_large = self._too_large(value)
            if too_large is not None:
                return too_large
            if len(value) < PREFIX or value[0] != MAGIC:
                return NO_PREFIX
            if registry is None:
                return "there is no registry to ask"
            number = int.from_bytes(value[1:PREFIX], "big")
            judge = registry.cached(number)
            if judge is None:
                questions += 1
                if questions > MOST_QUESTIONS:
                    return f"more than {MOST_QUESTIONS} schemas in a batch that nobody has used yet"
                try:
                    judge = await registry.find(number)
                except RegistryDownError as error:
                    return self._without_registry(error)
            return judge(value[PREFIX:])

        return check

    def _without_registry(self, error: RegistryDownError) -> str | None:
        if self.settings.registry_down == "allow":
            self.unchecked.value += 1
            return None
        # One that clients retry: it says nothing of the record.
        message = f"the schema registry is down: {error}"
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, message) from error

    def _too_large(self, value: bytes) -> str | None:
        most = self.settings.largest_value
        return f"{len(value)} bytes, want at most {most}" if len(value) > most else None


def _name_of(topic: TopicProduceData, context: Context) -> str | None:
    """Return the name of a topic, or None if the broker does not know it."""
    if topic.name:
        return topic.name
    topic_image = context.image.topic(TopicId(topic.topic_id))
    return None if topic_image is None else topic_image.name


def _without(
    request: ProduceRequest, refusals: Mapping[tuple[int, int], Refusal]
) -> ProduceRequest:
    """Return the request without rejected batches; all topics stay, so answers keep their order."""
    return ProduceRequest(
        request.transactional_id,
        request.acks,
        request.timeout_ms,
        [
            TopicProduceData(
                topic.name,
                topic.topic_id,
                [
                    data
                    for at, data in enumerate(topic.partition_data)
                    if (number, at) not in refusals
                ],
            )
            for number, topic in enumerate(request.topic_data)
        ],
    )


def _merged(
    request: ProduceRequest,
    answer: ProduceResponse,
    refusals: Mapping[tuple[int, int], Refusal],
) -> ProduceResponse:
    """Return the answer to the forwarded part, with the rejections in their places."""
    for number, topic in enumerate(request.topic_data):
        forwarded: TopicProduceResponse = answer.responses[number]
        rows = iter(forwarded.partition_responses)
        forwarded.partition_responses = [
            _row(data.index, refusals[number, at]) if (number, at) in refusals else next(rows)
            for at, data in enumerate(topic.partition_data)
        ]
    return answer


def _row(index: int, refusal: Refusal) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index,
        refusal.code,
        -1,
        error_message=refusal.message,
        record_errors=[BatchIndexAndErrorMessage(*record) for record in refusal.records],
    )


async def read_schemas(directory: Directory, most_repeated: int) -> dict[str, Judge]:
    """Return the schemas of a directory by topic. Raises SchemaError, OSError."""
    judges: dict[str, Judge] = {}
    for name in sorted(await directory.names_slow()):
        topic, dot, suffix = name.rpartition(".")
        kind = KINDS.get(dot + suffix)
        if kind is None:
            continue
        if topic in judges:
            raise SchemaError(f"{topic} has two schemas: {name} is one of them")
        file = directory.open(name)
        try:
            text = bytearray(file.size)
            await file.read(0, text)
        finally:
            file.close()
        try:
            judges[topic] = judge_of(kind, text.decode(), most_repeated)
        except (SchemaError, UnicodeDecodeError) as error:
            raise SchemaError(f"{name}: {error}") from error
    return judges


def guarding(transport: httpx.AsyncBaseTransport | None = None) -> Plugin:
    """Return the plugin. transport: replaces sockets in tests."""

    @plugin(
        "schema_guard",
        settings=GuardSettings,
        closed=True,  # records that it has not checked must not be appended
        limit=8,  # batches unpacked at once
        apis={ProduceRequest: (3, 13)},
    )
    @asynccontextmanager
    async def schema_guard(context: PluginContext[GuardSettings]) -> AsyncIterator[None]:
        """Reject records whose values do not fit the schema of their topic."""
        settings = context.settings
        if settings.topics and not (settings.registry or settings.directory):
            raise ValueError("plugin.schema_guard.topics wants a registry or a directory")
        schemas: dict[str, Judge] = {}
        if settings.directory is not None:
            schemas = await read_schemas(
                context.world.directory(settings.directory), settings.largest_repeated
            )
        async with httpx.AsyncClient(
            base_url=settings.registry or "",
            auth=_auth(settings),
            transport=transport,
            timeout=settings.registry_deadline_ms / 1000,
            trust_env=False,
        ) as client:
            registry = None
            if settings.registry:
                registry = Registry(
                    client=client,
                    deadline_s=settings.registry_deadline_ms / 1000,
                    retry_s=settings.registry_retry_ms / 1000,
                    most=settings.registry_schemas,
                    most_repeated=settings.largest_repeated,
                )
                context.node.add("registry", "part", registry.figures)
            guard = Guard(
                settings=settings,
                schemas=schemas,
                registry=registry,
                world=context.world,
                checked=context.counter("guarded_batches"),
                refused=context.counter("refused_batches"),
                unchecked=context.counter("unchecked_records"),
            )
            context.around(ProduceRequest, guard.around)
            context.logger.info("schemas", topics=json.dumps(sorted(schemas)))
            await trio.lowlevel.checkpoint()
            yield

    return schema_guard


def _auth(settings: GuardSettings) -> tuple[str, str] | None:
    if settings.registry_user is None:
        return None
    return settings.registry_user, settings.registry_password or ""


guard = guarding()
