"""Produce (key 0): append a batch to each partition.

With acks=all it waits for the in-sync replicas, up to the timeout of the request. It also waits for
the disk if the directory is slow or `flush.messages` requires durable records. Appended records
stay in the log, whatever happens to the response. With acks=0 there is no response, so an error
closes the connection; nothing else would make the client look for a new leader. Such a request
waits for a slow directory too, which bounds what one connection can send.

Needs WRITE on each topic. A transactional batch needs WRITE on the transactional id; without it the
whole request fails. A partition led by another broker is answered with its leader (KIP-951).
Records that break a rule of the topic are listed (KIP-467).
"""

from collections.abc import Callable, Sequence
from functools import partial
from types import GeneratorType
from typing import Any, Final

from trio_kafka.plugin import (
    ALLOW_ALL,
    ANY_SIZE,
    LED_ELSEWHERE,
    NO_ANSWER,
    Appended,
    BadRecordsError,
    Context,
    Delayed,
    ErrorCode,
    KafkaError,
    Operation,
    Produced,
    ProtocolError,
    Queued,
    Steps,
    TopicId,
    api,
    append,
    check_acks,
    endpoint_on,
    in_slices,
    is_settled,
    rows_of,
    whole,
)
from trio_kafka.protocol.messages.k00_produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

ACKS_ALL: Final = -1
NO_ACKS: Final = 0
ONE_ACK: Final = 1
NO_OFFSET: Final = -1
ZSTD_SINCE: Final = 7  # KIP-110
LEADERS_SINCE: Final = 10  # KIP-951
IDS_SINCE: Final = 13  # KIP-516
# Offsets in a batch of its magic and of the low byte of its attributes; the transactional bit.
MAGIC_AT: Final = 16
ATTRIBUTES_AT: Final = 22
TRANSACTIONAL: Final = 0x10
MANY: Final = 100  # partitions that are appended at once: about 1 ms
STEP: Final = 10

Answer = ProduceResponse | Delayed | None
# Rows of the response that are not complete yet, or have an error.
OpenRows = list[tuple[PartitionProduceResponse, Produced]]


def say_error(
    request: ProduceRequest, code: ErrorCode, message: str | None
) -> ProduceResponse | None:
    """Return the error for each partition; None with acks=0, which has no response."""
    if request.acks == NO_ACKS:
        return None
    return ProduceResponse(
        responses=rows_of(
            request.topic_data,
            lambda topic: TopicProduceResponse(
                topic.name,
                topic.topic_id,
                rows_of(topic.partition_data, lambda data: _refused(data.index, code, message)),
            ),
        )
    )


@api(ProduceRequest, largest=ANY_SIZE, error=say_error)
def produce(request: ProduceRequest, context: Context) -> Answer | Steps[Answer]:
    acks = request.acks
    if not ACKS_ALL <= acks <= ONE_ACK:
        check_acks(acks)
    count = len(request.topic_data)
    for topic in request.topic_data:
        count += len(topic.partition_data)
    all_allowed = context.parts.authorizer is ALLOW_ALL
    steps = _producing(request, context, all_allowed=all_allowed)
    return whole(steps) if count <= MANY and all_allowed else steps


def _producing(request: ProduceRequest, context: Context, *, all_allowed: bool) -> Steps[Answer]:
    """Append in steps the batches that the client may write."""
    if not all_allowed:
        yield from _authorize_transaction(request, context)
    response = ProduceResponse()
    parts: OpenRows = []
    for topic in request.topic_data:
        rows: list[PartitionProduceResponse] = []
        response.responses.append(TopicProduceResponse(topic.name, topic.topic_id, rows))
        denial = None if all_allowed else _denial(topic, context)
        for some in in_slices(topic.partition_data, STEP):
            if denial is None:
                rows += _append(request.acks, context, topic, some, parts)
            else:
                denied = [PartitionProduceResponse(data.index) for data in some]
                rows += denied
                parts += [(row, Produced(None, denial)) for row in denied]
            yield
        yield
    if not parts and request.acks != NO_ACKS:
        return response
    answer: Any = _acknowledge(request, context, response, parts)
    made: Answer = (yield from answer) if isinstance(answer, GeneratorType) else answer
    return made


def _authorize_transaction(request: ProduceRequest, context: Context) -> Steps[None]:
    """Raise KafkaError(TRANSACTIONAL_ID_AUTHORIZATION_FAILED) for what may not be written."""
    for topic in request.topic_data:
        yield
        if any(_is_transactional(data.records) for data in topic.partition_data):
            if request.transactional_id is None:
                raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            context.authorize(Operation.WRITE, transactional_id=request.transactional_id)
            return


def _is_transactional(records: memoryview | None) -> bool:
    """Return whether records begin with a transactional batch."""
    return (
        records is not None
        and len(records) > ATTRIBUTES_AT
        and records[MAGIC_AT] == 2
        and bool(records[ATTRIBUTES_AT] & TRANSACTIONAL)
    )


def _denial(topic: TopicProduceData, context: Context) -> KafkaError | None:
    """Return the error of a topic that the client may not write; a topic's id is no secret."""
    if context.version >= IDS_SINCE:
        name = context.metadata.image.topic_names.get(TopicId(topic.topic_id))
    else:
        name = topic.name
    if name is None or context.is_authorized(Operation.WRITE, topic=name):
        return None
    return KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def _append(
    acks: int,
    context: Context,
    topic: TopicProduceData,
    partitions: Sequence[PartitionProduceData],
    parts: OpenRows,
) -> list[PartitionProduceResponse]:
    """Append to partitions of a topic; return their rows of the response.

    Rows that are not complete yet, or have an error, are added to `parts` too.
    """
    version, replicas = context.version, context.replicas
    zstd = version >= ZSTD_SINCE
    name = TopicId(topic.topic_id) if version >= IDS_SINCE else topic.name
    rows: list[PartitionProduceResponse] = []
    for data in partitions:
        partition = None
        result: Appended | Queued | KafkaError
        try:
            partition = replicas.partition(name, data.index)
            result = append(partition, data.records, acks=acks, zstd=zstd)
        except KafkaError as error:
            result = error.as_value()
            if partition is not None:
                partition.topic_metrics.count_failed_produce(error.code)
        else:
            if type(result) is Appended and is_settled(partition, result, acks):  # nearly always
                first_offset, _, append_time_ms, start_offset, _ = result
                rows.append(
                    PartitionProduceResponse(
                        data.index, 0, first_offset, append_time_ms, start_offset
                    )
                )
                continue
        row = PartitionProduceResponse(data.index)
        rows.append(row)
        parts.append((row, Produced(partition, result)))
    return rows


def _acknowledge(
    request: ProduceRequest, context: Context, response: ProduceResponse, parts: OpenRows
) -> Answer:
    """Return the response, or a Delayed that completes the rows of `parts` first."""
    acks, produced = request.acks, [part for _, part in parts]
    tell: Callable[[Sequence[Produced]], Any] = _say_nothing
    if acks != NO_ACKS:
        tell = partial(_tell, context, response, parts)
    elif not any(isinstance(part.result, Queued) for part in produced):
        _end_on_error(produced)
        return None
    return context.replicas.acknowledge(produced, tell, request.timeout_ms / 1000, acks=acks)


def _tell(
    context: Context, response: ProduceResponse, parts: OpenRows, _done: Sequence[Produced]
) -> ProduceResponse | Steps[ProduceResponse]:
    """Return the response when all parts are done."""
    steps = _telling(context, response, parts)
    return steps if len(parts) > MANY else whole(steps)


def _telling(
    context: Context, response: ProduceResponse, parts: OpenRows
) -> Steps[ProduceResponse]:
    for some in in_slices(parts, MANY):
        _fill(context, response, some)
        yield
    return response


def _fill(context: Context, response: ProduceResponse, parts: OpenRows) -> None:
    """Complete rows of the response."""
    for row, part in parts:
        result = part.result
        if isinstance(result, Appended):
            row.base_offset = result.first_offset
            row.log_append_time_ms = result.append_time_ms
            row.log_start_offset = result.start_offset
        elif isinstance(result, KafkaError):
            _say_error(row, part, result, response, context)


def _refused(index: int, code: ErrorCode, message: str | None) -> PartitionProduceResponse:
    return PartitionProduceResponse(index, code, NO_OFFSET, error_message=message)


def _say_error(
    made: PartitionProduceResponse,
    part: Produced,
    error: KafkaError,
    response: ProduceResponse,
    context: Context,
) -> None:
    made.error_code = error.code
    made.error_message = error.message
    made.base_offset = NO_OFFSET
    made.log_start_offset = part.start_offset()
    if isinstance(error, BadRecordsError):
        made.record_errors = [BatchIndexAndErrorMessage(*bad) for bad in error.records]
    if context.version < LEADERS_SINCE or error.code not in LED_ELSEWHERE:
        return
    if part.partition is not None:
        made.current_leader = LeaderIdAndEpoch(part.partition.leader, part.partition.leader_epoch)
        found = endpoint_on(context.metadata.image, part.partition.leader, context.listener)
        if found is not None and all(one.node_id != found.node for one in response.node_endpoints):
            response.node_endpoints.append(
                NodeEndpoint(found.node, found.host, found.port, found.rack)
            )


def _end_on_error(parts: Sequence[Produced]) -> None:
    for part in parts:
        if isinstance(part.result, KafkaError):
            code: ErrorCode = part.result.code
            raise ProtocolError(f"acks=0, and a partition has {code.name}: {part.result.message}")


def _say_nothing(parts: Sequence[Produced]) -> Any:
    _end_on_error(parts)
    return NO_ANSWER
