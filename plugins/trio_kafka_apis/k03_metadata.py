"""Metadata (key 3): the brokers, and who leads which partition.

Never waits. Anybody may ask. Answers are kept as bytes, by what was asked, until the metadata
change. A topic that does not exist is asked for from the controller, where client and settings let
it, and answered with UNKNOWN_TOPIC_OR_PARTITION until it is there: clients ask again. Brokers are
named by their address on the listener that the request came through; one that has none there is
left out.
"""

from typing import Final

from trio_kafka.plugin import (
    NO_NODE,
    OF_CLUSTER,
    OF_TOPIC,
    ZERO_TOPIC_ID,
    Context,
    Encoded,
    ErrorCode,
    KafkaError,
    Kept,
    MetadataImage,
    NodeId,
    PartitionState,
    TopicId,
    TopicImage,
    api,
    check_topic_name,
    endpoints_on,
    is_internal,
    to_bytes,
)
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

Names = tuple[str | TopicId, ...] | None  # None: all topics

_kept: Final = Kept()


@api(MetadataRequest)
def metadata(request: MetadataRequest, context: Context) -> Encoded:
    wanted = _wanted(request, context.version)
    image = context.metadata.image
    asked = (
        context.version,
        context.listener,
        wanted,
        request.include_cluster_authorized_operations,
        request.include_topic_authorized_operations,
    )
    answer = _kept.get(context.apis, image, asked)
    if answer is None:
        response, missing = _describe(request, wanted, image, context)
        answer = Encoded(to_bytes(response, context.version))
        if not missing:
            _kept.put(context.apis, image, asked, answer)
    return answer


def _wanted(request: MetadataRequest, version: int) -> Names:
    """What the request names. Raises KafkaError(INVALID_REQUEST)."""
    if request.topics is None or (version == 0 and not request.topics):
        return None
    wanted: list[str | TopicId] = []
    for topic in request.topics:
        if topic.topic_id != ZERO_TOPIC_ID:
            if version < 12:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST, f"topic ids are not understood in version {version}"
                )
            wanted.append(TopicId(topic.topic_id))  # whatever name stands beside it, as in Kafka
        elif topic.name is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "a topic has neither name nor id")
        else:
            wanted.append(topic.name)
    return tuple(dict.fromkeys(wanted))


def _describe(
    request: MetadataRequest, wanted: Names, image: MetadataImage, context: Context
) -> tuple[MetadataResponse, bool]:
    """The answer, and whether a topic in it does not exist (yet)."""
    listener, version = context.listener, context.version
    brokers = _brokers(image, listener)
    alive = {broker.node_id for broker in brokers}
    topics: list[MetadataResponseTopic] = []
    missing: list[str] = []
    unknown = False
    for name in sorted(image.topics) if wanted is None else wanted:
        topic = image.topic(name)
        if topic is not None:
            topics.append(_topic(topic, alive, version))
            continue
        unknown = True
        if isinstance(name, str):
            topics.append(_unknown(name))
            if topics[-1].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                missing.append(name)
        else:
            code = ErrorCode.UNKNOWN_TOPIC_ID
            topics.append(MetadataResponseTopic(error_code=code, name=None, topic_id=name))
    if missing and request.allow_auto_topic_creation and context.config.auto_create_topics_enable:
        context.topic_creation.want(missing)
    response = MetadataResponse(
        brokers=brokers,
        cluster_id=image.cluster_id,
        # Clients send to any broker what is for the controller: it is passed on.
        controller_id=context.node_id if context.node_id in alive else NO_NODE,
        topics=topics,
    )
    if request.include_topic_authorized_operations:
        for one in topics:
            if not one.error_code:
                one.topic_authorized_operations = OF_TOPIC
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = OF_CLUSTER
    return response, unknown


def _brokers(image: MetadataImage, listener: str) -> list[MetadataResponseBroker]:
    return [
        MetadataResponseBroker(node_id=one.node, host=one.host, port=one.port, rack=one.rack)
        for one in endpoints_on(image, listener)
        if not one.fenced
    ]


def _unknown(name: str) -> MetadataResponseTopic:
    try:
        check_topic_name(name)
    except KafkaError as error:
        return MetadataResponseTopic(error_code=error.code, name=name)
    return MetadataResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        name=name,
        is_internal=is_internal(name),
    )


def _topic(topic: TopicImage, alive: set[int], version: int) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=is_internal(topic.name),
        partitions=[
            _partition(number, state, alive, version)
            for number, state in sorted(topic.partitions.items())
        ],
    )


def _partition(
    number: int, state: PartitionState, alive: set[int], version: int
) -> MetadataResponsePartition:
    error = ErrorCode.NONE
    leader: NodeId = state.leader
    if leader not in alive:
        # A leader that is there, but not on this listener, has its own error since version 6.
        known = leader != NO_NODE and version >= 6
        error = ErrorCode.LISTENER_NOT_FOUND if known else ErrorCode.LEADER_NOT_AVAILABLE
        leader = NO_NODE
    return MetadataResponsePartition(
        error_code=error,
        partition_index=number,
        leader_id=leader,
        leader_epoch=state.leader_epoch,
        replica_nodes=list(state.replicas),
        isr_nodes=list(state.isr),
        offline_replicas=[node for node in state.replicas if node not in alive],
    )
