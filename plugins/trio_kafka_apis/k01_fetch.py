"""Fetch (key 1): return stored batches of each partition, from an offset on.

Waits in the purgatory for `min_bytes`, an error or a diverging epoch, at most `max_wait_ms`, and
holds nothing meanwhile. The response carries file ranges; records are never read here. A consumer
sees committed records only, and with read_committed nothing of an open transaction. A session
(KIP-227) names only the partitions that changed: see `replication.sessions`.

A consumer needs READ on each topic. A follower needs CLUSTER_ACTION on the cluster. Both are
denied by TOPIC_AUTHORIZATION_FAILED for each partition, which a session repeats until it is gone.
"""

from collections.abc import Callable, Sequence
from functools import partial
from types import GeneratorType
from typing import Any, Final

from trio_kafka.plugin import (
    ALLOW_ALL,
    LED_ELSEWHERE,
    MANY_PARTITIONS,
    Context,
    Delayed,
    ErrorCode,
    FetchAnswer,
    FetchKey,
    FetchLimits,
    Isolation,
    KafkaError,
    NodeId,
    Operation,
    Partition,
    PartitionRead,
    Reads,
    Steps,
    TopicId,
    Wanted,
    api,
    endpoint_on,
    in_slices,
    isolation_of,
    whole,
)
from trio_kafka.protocol.messages.k01_fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

IDS_SINCE: Final = 13  # KIP-516
LEADERS_SINCE: Final = 12
ENDPOINTS_SINCE: Final = 16  # KIP-951
REPLICA_STATE_SINCE: Final = 15  # KIP-903
NOTHING: Final = b""
# Errors with an empty list of aborted transactions; with other errors it is null.
NOT_READ: Final = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)
# Approximate bytes of a response besides the records, which quotas count too.
HEAD_SIZE: Final = 20
TOPIC_SIZE: Final = 18
PARTITION_SIZE: Final = 40

MANY: Final = 500  # partitions of a response that is made at once
LARGE: Final = 64 << 10  # bytes of a request that is read at once: about 2000 partitions
STEP: Final = 50

Answer = FetchResponse | Delayed
Make = Callable[[FetchAnswer], Any]


@api(FetchRequest, largest=MANY_PARTITIONS)
def fetch(request: FetchRequest, context: Context) -> Answer | Steps[Answer]:
    version = context.version
    uses_ids = version >= IDS_SINCE
    isolation = isolation_of(request.isolation_level)
    replica = (
        request.replica_state.replica_id if version >= REPLICA_STATE_SINCE else request.replica_id
    )
    most = min(request.max_bytes, context.config.fetch_max_bytes)
    admit: Callable[[Reads], int] | None = None
    quotas = context.parts.quotas  # `context.quotas` takes twice as long
    if quotas.active:
        if replica < 0:
            most = min(most, quotas.fetch_limit(context.request))
            admit = partial(_admit, context)
        else:
            quotas.exempt(context.request)
    limits = FetchLimits(
        min(request.min_bytes, most),
        most,
        isolation if replica < 0 else Isolation.LOG_END,
        request.max_wait_ms / 1000,
        NodeId(replica) if replica >= 0 else None,
        admit,
    )

    def make(answer: FetchAnswer) -> FetchResponse | Steps[FetchResponse]:
        if len(answer.parts) > MANY:
            return _respond_in_steps(answer, isolation, context)
        return _respond(answer, isolation, context)

    if context.request.stamps.request_bytes > LARGE:
        return _in_steps(request, limits, make, context)
    return _begin(request, _wanted(request.topics, uses_ids=uses_ids), limits, make, context)


def _in_steps(
    request: FetchRequest, limits: FetchLimits, make: Make, context: Context
) -> Steps[Answer]:
    """Read a request for many partitions, and begin the fetch."""
    uses_ids = context.version >= IDS_SINCE
    wanted: dict[FetchKey, Wanted] = {}
    for number, topic in enumerate(request.topics):
        if not number % STEP:
            yield
        for some in in_slices(topic.partitions, STEP):
            part = FetchTopic(topic.topic, topic.topic_id, some)
            wanted.update(_wanted([part], uses_ids=uses_ids))
            yield
    answer: Any = _begin(request, wanted, limits, make, context)
    made: Answer = (yield from answer) if isinstance(answer, GeneratorType) else answer
    return made


def _begin(
    request: FetchRequest,
    wanted: dict[FetchKey, Wanted],
    limits: FetchLimits,
    make: Make,
    context: Context,
) -> Answer | Steps[Answer]:
    forgotten, uses_ids = request.forgotten_topics_data, context.version >= IDS_SINCE
    is_open = context.parts.authorizer is ALLOW_ALL
    return context.replicas.begin_fetch(
        wanted,
        limits,
        make,
        session_id=request.session_id,
        session_epoch=request.session_epoch,  # before version 7: FINAL_EPOCH
        forget=_forgotten(forgotten, uses_ids=uses_ids) if forgotten else (),
        uses_ids=uses_ids,
        resolve=None if is_open else _resolver(context, limits),
    )


def _resolver(context: Context, limits: FetchLimits) -> Callable[[FetchKey], Partition]:
    """Return a function that finds a partition which the client may read.

    The authorizer is asked once for each topic and request. The function raises KafkaError.
    """
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    allowed: dict[str, bool] = {}
    is_follower = limits.follower is not None
    serves_all = is_follower and context.is_authorized(Operation.CLUSTER_ACTION, cluster=True)

    def resolve(key: FetchKey) -> Partition:
        topic, number = key
        if is_follower and not serves_all:
            raise KafkaError(denied)
        name = topic if isinstance(topic, str) else context.metadata.image.topic_names.get(topic)
        if name is not None and not serves_all:
            if name not in allowed:
                allowed[name] = context.is_authorized(Operation.READ, topic=name)
            if not allowed[name]:
                raise KafkaError(denied)
        return context.replicas.partition(topic, number)

    return resolve


def _admit(context: Context, reads: Reads) -> int:
    """Return the ms that the client must wait before it may get these records."""
    topics = len({key[0] for key, _ in reads})
    size = sum(read.size for _, read in reads) + HEAD_SIZE
    size += topics * TOPIC_SIZE + len(reads) * PARTITION_SIZE
    waits_ms: int = context.quotas.admit_fetch(context.request, size)
    return waits_ms


def _wanted(topics: Sequence[FetchTopic], *, uses_ids: bool) -> dict[FetchKey, Wanted]:
    wanted: dict[FetchKey, Wanted] = {}
    for topic in topics:
        name = TopicId(topic.topic_id) if uses_ids else topic.topic
        for one in topic.partitions:
            wanted[name, one.partition] = Wanted(
                one.fetch_offset,
                one.partition_max_bytes,
                one.current_leader_epoch,
                one.last_fetched_epoch,
                one.log_start_offset,
            )
    return wanted


def _forgotten(forgotten: list[ForgottenTopic], *, uses_ids: bool) -> list[FetchKey]:
    return [
        (TopicId(topic.topic_id) if uses_ids else topic.topic, number)
        for topic in forgotten
        for number in topic.partitions
    ]


def _respond(answer: FetchAnswer, isolation: Isolation, context: Context) -> FetchResponse:
    return whole(_respond_in_steps(answer, isolation, context))


def _respond_in_steps(
    answer: FetchAnswer, isolation: Isolation, context: Context
) -> Steps[FetchResponse]:
    """Make the response in steps. Release its file ranges if the steps fail or are closed."""
    try:
        return (yield from _responding(answer, isolation, context))
    except BaseException:  # GeneratorExit too: the client may disconnect between two steps
        answer.release()
        raise


def _responding(
    answer: FetchAnswer, isolation: Isolation, context: Context
) -> Steps[FetchResponse]:
    """Make the response. Adjacent partitions of one topic share a row; their order is kept."""
    response = FetchResponse(answer.throttled_ms, 0, answer.session_id)
    if answer.error is not None:
        response.error_code = answer.error.code
        return response
    row: FetchableTopicResponse | None = None
    last: TopicId | str | None = None
    for number, (key, read) in enumerate(answer.parts, 1):
        if not number % STEP:
            yield
        topic = key[0]
        if row is None or topic != last:
            row = (
                FetchableTopicResponse(topic)
                if isinstance(topic, str)
                else FetchableTopicResponse("", topic)
            )
            response.responses.append(row)
            last = topic
        data = _partition(key[1], read, isolation)
        led_elsewhere = read.error is not None and read.error.code in LED_ELSEWHERE
        if led_elsewhere and context.version >= LEADERS_SINCE:
            _name_leader(key, data, response, context)
        row.partitions.append(data)
    return response


def _partition(number: int, read: PartitionRead, isolation: Isolation) -> PartitionData:
    committed = isolation is Isolation.READ_COMMITTED
    error = read.error
    listed = committed if error is None else error.code in NOT_READ
    # By position, then one by one: with names it takes three times as long.
    data = PartitionData(
        number,
        0 if error is None else error.code,
        read.high_watermark,
        read.last_stable_offset,
        read.start_offset,
    )
    data.records = NOTHING if read.range is None else read.range
    if not listed:
        data.aborted_transactions = None
    if read.aborted and committed:
        data.aborted_transactions = [
            AbortedTransaction(one.producer_id, one.first_offset) for one in read.aborted
        ]
    if read.diverging is not None:
        data.diverging_epoch = EpochEndOffset(read.diverging.epoch, read.diverging.end_offset)
    return data


def _name_leader(
    key: FetchKey, data: PartitionData, response: FetchResponse, context: Context
) -> None:
    topic = context.metadata.image.topic(key[0])
    state = None if topic is None else topic.partitions.get(key[1])
    if state is None:
        return
    data.current_leader = LeaderIdAndEpoch(state.leader, state.leader_epoch)
    if context.version < ENDPOINTS_SINCE:
        return
    found = endpoint_on(context.metadata.image, state.leader, context.listener)
    if found is not None and all(one.node_id != found.node for one in response.node_endpoints):
        response.node_endpoints.append(NodeEndpoint(found.node, found.host, found.port, found.rack))
