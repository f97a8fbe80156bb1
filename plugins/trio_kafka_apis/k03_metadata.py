"""Metadata (key 3): describe the brokers, and topics with their leaders.

Never waits. Encoded responses are cached until the metadata change, by what was asked and what the
client may see. Others are made in steps, as a cluster may have 100,000 partitions. If client and
settings allow it, the controller is asked to create a topic that does not exist. The client gets
UNKNOWN_TOPIC_OR_PARTITION and retries until the topic is there. Brokers have their address on the
listener of the request; one without an address there is left out.

Any client may ask for the brokers. A topic needs DESCRIBE: without it a named topic gets
TOPIC_AUTHORIZATION_FAILED, whether it exists or not, and a list of all topics leaves it out.
Creation needs CREATE on the cluster or on the topic. Authorized operations of the cluster need
DESCRIBE on it; without it the set is empty.
"""

from collections.abc import Callable, Hashable, Set
from typing import Final

from attrs import frozen

from trio_kafka.plugin import (
    ALLOW_ALL,
    MANY_PARTITIONS,
    NO_NODE,
    ZERO_TOPIC_ID,
    Context,
    Encoded,
    ErrorCode,
    KafkaError,
    MetadataImage,
    NodeId,
    OnlineDirectories,
    Operation,
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

Name = str | TopicId
Names = tuple[Name, ...] | None  # None: all topics

STEP: Final = 50  # topics in one step
NOT_ASKED: Final = -(1 << 31)
DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_cache: Final = ResponseCache()


@frozen
class _Sight:
    """Topics that a client named or may see, and what it is denied of them.

    denied: those it may not describe. uncreatable: those that do not exist and that it may not
    create. cluster_operations: as the response has them.
    """

    names: tuple[Name, ...]
    denied: frozenset[Name]
    uncreatable: frozenset[str]
    cluster_operations: int


@frozen
class _View:
    """Brokers as one listener shows them: registered, with an address there, and in use."""

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
    wanted: dict[Name, None] = {}
    for some in in_slices(topics, STEP):
        wanted |= dict.fromkeys(_named(some, context))
        yield
    answer = _answer(tuple(wanted), request, context)
    return answer if isinstance(answer, Encoded) else (yield from answer)


def _answer(wanted: Names, request: MetadataRequest, context: Context) -> Encoded | Steps[Encoded]:
    """Return the cached response, or the steps that make it."""
    if context.parts.authorizer is not ALLOW_ALL:
        return _answer_seen(wanted, request, context)
    image = context.metadata.image
    asked = (
        context.version,
        context.listener,
        wanted,
        request.include_cluster_authorized_operations,
        request.include_topic_authorized_operations,
    )
    return _cache.get(context.apis, image, asked) or _make_all(asked, wanted, request, context)


def _make_all(
    asked: Hashable, wanted: Names, request: MetadataRequest, context: Context
) -> Steps[Encoded]:
    """Return the response for a client that may see everything."""
    image = context.metadata.image
    names = tuple((yield from sorted_in_steps(image.topics))) if wanted is None else wanted
    operations = _cluster_operations(request, context)
    sight = _Sight(names, frozenset(), frozenset(), operations)
    return (yield from _make(asked, sight, request, image, context))


def _answer_seen(wanted: Names, request: MetadataRequest, context: Context) -> Steps[Encoded]:
    """Return the response for what the client may see.

    It is cached by that, unless it tells the operations that this client may perform.
    """
    image = context.metadata.image
    sight = yield from _look(wanted, request, image, context)
    asked = None
    if not request.include_topic_authorized_operations:
        asked = (context.version, context.listener, sight)
        answer = _cache.get(context.apis, image, asked)
        if answer is not None:
            return answer
    return (yield from _make(asked, sight, request, image, context))


def _look(
    wanted: Names, request: MetadataRequest, image: MetadataImage, context: Context
) -> Steps[_Sight]:
    operations = _cluster_operations(request, context)
    if wanted is None:
        seen = context.authorized(Operation.DESCRIBE, topics=image.topics)
        names = yield from sorted_in_steps(seen)
        return _Sight(tuple(names), frozenset(), frozenset(), operations)
    creates = _creates(request, context) and not context.is_authorized(
        Operation.CREATE, cluster=True
    )
    denied: set[Name] = set()
    uncreatable: set[str] = set()
    for some in in_slices(wanted, STEP):
        for one in some:
            name = one if isinstance(one, str) else image.topic_names.get(one)
            if name is None:
                continue  # whether an id exists is no secret
            if not context.is_authorized(Operation.DESCRIBE, topic=name):
                denied.add(one)
            elif (
                creates
                and name not in image.topics
                and not context.is_authorized(Operation.CREATE, topic=name)
            ):
                uncreatable.add(name)
        yield
    return _Sight(wanted, frozenset(denied), frozenset(uncreatable), operations)


def _creates(request: MetadataRequest, context: Context) -> bool:
    return request.allow_auto_topic_creation and context.config.auto_create_topics_enable


def _cluster_operations(request: MetadataRequest, context: Context) -> int:
    if not request.include_cluster_authorized_operations:
        return NOT_ASKED
    if not context.is_authorized(Operation.DESCRIBE, cluster=True):
        return 0
    return context.authorized_operations(cluster=True)


def _make(
    asked: Hashable,
    sight: _Sight,
    request: MetadataRequest,
    image: MetadataImage,
    context: Context,
) -> Steps[Encoded]:
    """Return the response, and have missing topics created. asked: key in the cache, or None."""
    unknown = yield from _unknown(sight, image)
    if _creates(request, context):
        missing: list[str] = []
        for some in in_slices(unknown, STEP):
            named = (name for name in some if isinstance(name, str))
            missing += [name for name in named if _may_be_created(name)]
            yield
        if missing:
            context.topic_creation.want(missing)
    response = _describe(request, sight, image, context)
    answer = yield from encoded_in_steps(response, context.version)
    if not unknown and asked is not None:
        _cache.put(context.apis, image, asked, answer)
    return answer


def _named(topics: list[MetadataRequestTopic], context: Context) -> list[Name]:
    """Return the topics that a request names. Raises KafkaError(INVALID_REQUEST)."""
    version = context.version
    wanted: list[Name] = []
    for topic in topics:
        if topic.topic_id != ZERO_TOPIC_ID:
            if version < 12:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST,
                    f"topic ids in version {version}: expected version 12 or later",
                )
            wanted.append(TopicId(topic.topic_id))  # a name beside it is ignored, as in Kafka
        elif topic.name is None:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, "a topic without name and id: expected one of them"
            )
        else:
            wanted.append(topic.name)
    return wanted


def _unknown(sight: _Sight, image: MetadataImage) -> Steps[list[Name]]:
    """Return the topics that the client may know or create, and that do not exist (yet)."""
    unknown: list[Name] = []
    for some in in_slices(sight.names, STEP):
        unknown += [
            one
            for one in some
            if image.topic(one) is None and one not in sight.denied and one not in sight.uncreatable
        ]
        yield
    return unknown


def _describe(
    request: MetadataRequest, sight: _Sight, image: MetadataImage, context: Context
) -> MetadataResponse:
    """Return the response; its topics are made when they are written."""
    brokers = endpoints_on(image, context.listener)
    view = _View(
        context.version,
        image.brokers.keys(),
        frozenset(one.node for one in brokers),
        online_directories(image, context.listener),
    )

    def operations(name: str) -> int:
        if not request.include_topic_authorized_operations:
            return NOT_ASKED
        return context.authorized_operations(topic=name)

    def describe(name: Name) -> MetadataResponseTopic:
        if name in sight.denied:
            return _denied(name)
        topic = image.topic(name)
        if topic is not None:
            return _topic(topic, view, operations)
        if not isinstance(name, str):
            code = ErrorCode.UNKNOWN_TOPIC_ID
            return MetadataResponseTopic(error_code=code, name=None, topic_id=name)
        if name in sight.uncreatable:
            return MetadataResponseTopic(
                error_code=DENIED, name=name, is_internal=is_internal(name)
            )
        return _no_topic(name, operations)

    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=one.node, host=one.host, port=one.port, rack=one.rack)
            for one in brokers
            if not one.fenced
        ],
        cluster_id=image.cluster_id,
        # Clients send controller requests to any broker, which forwards them.
        controller_id=context.node_id if context.node_id in view.online else NO_NODE,
        topics=lazily(sight.names, describe),
        cluster_authorized_operations=sight.cluster_operations,
    )


def _denied(name: Name) -> MetadataResponseTopic:
    """Return the row of a topic that may not be described: what the client named, no more."""
    if isinstance(name, str):
        return MetadataResponseTopic(error_code=DENIED, name=name)
    return MetadataResponseTopic(error_code=DENIED, name=None, topic_id=name)


def _no_topic(name: str, operations: Callable[[str], int]) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=_why_missing(name),
        name=name,
        is_internal=is_internal(name),
        topic_authorized_operations=operations(name),
    )


def _why_missing(name: str) -> ErrorCode:
    """Return the error of a topic that does not exist."""
    try:
        check_topic_name(name)
    except KafkaError as error:
        return error.code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _may_be_created(name: str) -> bool:
    return _why_missing(name) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _topic(
    topic: TopicImage, view: _View, operations: Callable[[str], int]
) -> MetadataResponseTopic:
    def describe(number: int) -> MetadataResponsePartition:
        return _partition(number, topic.partitions[number], view)

    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=is_internal(topic.name),
        partitions=lazily(range(len(topic.partitions)), describe),
        topic_authorized_operations=operations(topic.name),
    )


def _partition(number: int, state: PartitionState, view: _View) -> MetadataResponsePartition:
    error = ErrorCode.NONE
    leader: NodeId = state.leader
    if leader not in view.placed:
        # Since version 6 a leader without an address on this listener has an error of its own.
        elsewhere = leader in view.registered and view.version >= 6
        error = ErrorCode.LISTENER_NOT_FOUND if elsewhere else ErrorCode.LEADER_NOT_AVAILABLE
        leader = NO_NODE
    replicas: list[int] = list(state.replicas)
    isr: list[int] = list(state.isr)
    if view.version == 0:
        # Clients of that version know only the brokers of the response.
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
