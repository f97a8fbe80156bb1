"""Metadata (key 3): the brokers, and who leads which partition.

Never waits. Anybody may ask. Answers are kept as bytes, by what was asked, until the metadata
change; what is not there yet is made in steps, as a cluster may have 100,000 partitions. A topic
that does not exist is asked for from the controller, where client and settings let it, and answered
with UNKNOWN_TOPIC_OR_PARTITION until it is there: clients ask again. Brokers are named by their
address on the listener that the request came through; one that has none there is left out.
"""

from collections.abc import Hashable, Sequence, Set
from typing import Final

from attrs import frozen

from trio_kafka.plugin import (
    MANY_PARTITIONS,
    NO_NODE,
    OF_CLUSTER,
    OF_TOPIC,
    ZERO_TOPIC_ID,
    Context,
    Encoded,
    ErrorCode,
    KafkaError,
    MetadataImage,
    NodeId,
    OnlineDirectories,
    PartitionState,
    ResponseCache,
    Steps,
    TopicId,
    TopicImage,
    api,
    check_topic_name,
    encoded_in_steps,
    endpoints_on,
    in_slices,
    is_internal,
    lazily,
    offline_replicas,
    online_directories,
    sorted_in_steps,
)
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

Names = tuple[str | TopicId, ...] | None  # None: all topics

STEP: Final = 50  # topics that are looked at in one go
NOT_ASKED: Final = -(1 << 31)
_kept: Final = ResponseCache()


@frozen
class _View:
    """What a client sees of the brokers: those that there are, those with an address on its
    listener, and those it may use.
    """

    version: int
    registered: Set[NodeId]
    placed: Set[NodeId]
    online: OnlineDirectories

    def alive(self, nodes: list[int]) -> list[int]:
        return [node for node in nodes if node in self.online]


@api(MetadataRequest, largest=MANY_PARTITIONS)
def metadata(request: MetadataRequest, context: Context) -> Encoded | Steps[Encoded]:
    if request.topics is None or (context.version == 0 and not request.topics):
        return _answer(None, request, context)
    if len(request.topics) > STEP:
        return _answer_many(request.topics, request, context)
    return _answer(tuple(dict.fromkeys(_named(request.topics, context))), request, context)


def _answer_many(
    topics: list[MetadataRequestTopic], request: MetadataRequest, context: Context
) -> Steps[Encoded]:
    wanted: dict[str | TopicId, None] = {}
    for some in in_slices(topics, STEP):
        wanted |= dict.fromkeys(_named(some, context))
        yield
    answer = _answer(tuple(wanted), request, context)
    return answer if isinstance(answer, Encoded) else (yield from answer)


def _answer(wanted: Names, request: MetadataRequest, context: Context) -> Encoded | Steps[Encoded]:
    """The answer that is kept, or the steps that make it."""
    image = context.metadata.image
    asked = (
        context.version,
        context.listener,
        wanted,
        request.include_cluster_authorized_operations,
        request.include_topic_authorized_operations,
    )
    answer = _kept.get(context.apis, image, asked)
    return answer or _make(asked, wanted, request, image, context)


def _make(
    asked: Hashable,
    wanted: Names,
    request: MetadataRequest,
    image: MetadataImage,
    context: Context,
) -> Steps[Encoded]:
    unknown = yield from _unknown(wanted or (), image)
    if request.allow_auto_topic_creation and context.config.auto_create_topics_enable:
        missing: list[str] = []
        for some in in_slices(unknown, STEP):
            named = (name for name in some if isinstance(name, str))
            missing += [name for name in named if _may_be_created(name)]
            yield
        if missing:
            context.topic_creation.want(missing)
    names = (yield from sorted_in_steps(image.topics)) if wanted is None else wanted
    response = _describe(request, names, image, context)
    answer = yield from encoded_in_steps(response, context.version)
    if not unknown:
        _kept.put(context.apis, image, asked, answer)
    return answer


def _named(topics: list[MetadataRequestTopic], context: Context) -> list[str | TopicId]:
    """What the request names. Raises KafkaError(INVALID_REQUEST)."""
    version = context.version
    wanted: list[str | TopicId] = []
    for topic in topics:
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
    return wanted


def _unknown(wanted: Sequence[str | TopicId], image: MetadataImage) -> Steps[list[str | TopicId]]:
    """Those of the topics that do not exist (yet)."""
    unknown: list[str | TopicId] = []
    for some in in_slices(wanted, STEP):
        unknown += [one for one in some if image.topic(one) is None]
        yield
    return unknown


def _describe(
    request: MetadataRequest,
    wanted: Sequence[str | TopicId],
    image: MetadataImage,
    context: Context,
) -> MetadataResponse:
    """The answer; its topics are made when they are written."""
    brokers = endpoints_on(image, context.listener)
    view = _View(
        context.version,
        image.brokers.keys(),
        frozenset(one.node for one in brokers),
        online_directories(image, context.listener),
    )
    allowed = OF_TOPIC if request.include_topic_authorized_operations else NOT_ASKED

    def describe(name: str | TopicId) -> MetadataResponseTopic:
        topic = image.topic(name)
        if topic is not None:
            return _topic(topic, view, allowed)
        if isinstance(name, str):
            return _no_topic(name)
        code = ErrorCode.UNKNOWN_TOPIC_ID
        return MetadataResponseTopic(error_code=code, name=None, topic_id=name)

    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=one.node, host=one.host, port=one.port, rack=one.rack)
            for one in brokers
            if not one.fenced
        ],
        cluster_id=image.cluster_id,
        # Clients send to any broker what is for the controller: it is passed on.
        controller_id=context.node_id if context.node_id in view.online else NO_NODE,
        topics=lazily(wanted, describe),
        cluster_authorized_operations=(
            OF_CLUSTER if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def _no_topic(name: str) -> MetadataResponseTopic:
    try:
        check_topic_name(name)
    except KafkaError as error:
        return MetadataResponseTopic(error_code=error.code, name=name)
    return MetadataResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        name=name,
        is_internal=is_internal(name),
    )


def _may_be_created(name: str) -> bool:
    return _no_topic(name).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _topic(topic: TopicImage, view: _View, allowed: int) -> MetadataResponseTopic:
    def describe(number: int) -> MetadataResponsePartition:
        return _partition(number, topic.partitions[number], view)

    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=is_internal(topic.name),
        partitions=lazily(range(len(topic.partitions)), describe),
        topic_authorized_operations=allowed,
    )


def _partition(number: int, state: PartitionState, view: _View) -> MetadataResponsePartition:
    error = ErrorCode.NONE
    leader: NodeId = state.leader
    if leader not in view.placed:
        # A leader that is there, but not on this listener, has its own error since version 6.
        elsewhere = leader in view.registered and view.version >= 6
        error = ErrorCode.LISTENER_NOT_FOUND if elsewhere else ErrorCode.LEADER_NOT_AVAILABLE
        leader = NO_NODE
    replicas: list[int] = list(state.replicas)
    isr: list[int] = list(state.isr)
    if view.version == 0:
        # Clients of that version know no broker but those of the answer.
        replicas, isr = view.alive(replicas), view.alive(isr)
        if not error and (len(replicas) < len(state.replicas) or len(isr) < len(state.isr)):
            error = ErrorCode.REPLICA_NOT_AVAILABLE
    return MetadataResponsePartition(
        error_code=error,
        partition_index=number,
        leader_id=leader,
        leader_epoch=state.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=list(offline_replicas(state, view.online)),
    )
