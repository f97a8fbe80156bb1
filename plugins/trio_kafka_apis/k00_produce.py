"""Produce (key 0): append the batch of each partition.

Waits with acks=all for followers in sync, up to the request's timeout. Waits for the disk if
`flush.messages` wants the records durable, or if its directory is slow. Appended records stay,
whatever happens to the answer. With acks=0 there is no answer, so an error closes the connection:
nothing else makes the client look for a new leader. Such a request waits for a slow directory as
well, which bounds what one connection sends. A partition that is led elsewhere is answered with its
leader (version 10 on, KIP-951).
"""

from collections.abc import Callable, Sequence
from functools import partial
from types import GeneratorType
from typing import Any, Final

from trio_kafka.plugin import (
    ANY_SIZE,
    LED_ELSEWHERE,
    NO_ANSWER,
    Appended,
    Context,
    Delayed,
    ErrorCode,
    KafkaError,
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
MANY: Final = 100  # partitions: about 1 ms; more are appended in steps
STEP: Final = 10

Answer = ProduceResponse | Delayed | None
# Rows of the answer that are incomplete or have an error.
OpenRows = list[tuple[PartitionProduceResponse, Produced]]


def say_error(
    request: ProduceRequest, code: ErrorCode, message: str | None
) -> ProduceResponse | None:
    """Return the error for each partition, without an offset; with acks=0 no answer."""
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
    steps = _producing(request, context)
    return steps if count > MANY else whole(steps)


def _producing(request: ProduceRequest, context: Context) -> Steps[Answer]:
    response = ProduceResponse()
    parts: OpenRows = []
    for topic in request.topic_data:
        rows: list[PartitionProduceResponse] = []
        response.responses.append(TopicProduceResponse(topic.name, topic.topic_id, rows))
        for some in in_slices(topic.partition_data, STEP):
            rows += _append(request.acks, context, topic, some, parts)
            yield
        yield
    if not parts and request.acks != NO_ACKS:
        return response
    answer: Any = _acknowledge(request, context, response, parts)
    made: Answer = (yield from answer) if isinstance(answer, GeneratorType) else answer
    return made


def _append(
    acks: int,
    context: Context,
    topic: TopicProduceData,
    partitions: Sequence[PartitionProduceData],
    parts: OpenRows,
) -> list[PartitionProduceResponse]:
    """Append the batches of these partitions of a topic. Return their rows of the answer.

    Rows of failed and pending appends are added to `parts`, too.
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
    """Return the answer, or a Delayed that completes the rows of `parts`."""
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
    """Return the answer when all parts are done."""
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
    """Complete these rows."""
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
