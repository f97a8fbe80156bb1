"""Metadata (key 3): describe the brokers, and topics with their leaders.

Never waits. Encoded responses are cached until the metadata change, by what was asked and what the
client may see. Others are made in steps, as a cluster may have 100,000 partitions. If client and
settings allow it, the controller is asked to create a topic that does not exist. The client gets
UNKNOWN_TOPIC_OR_PARTITION and retries until the topic is there. New topics are charged to the quota
of the client; while that is used up, none is created. Brokers have their address on the listener of
the request; one without an address there is left out.

Any client may ask for the brokers. A topic needs DESCRIBE: without it a named topic gets
TOPIC_AUTHORIZATION_FAILED, whether it exists or not, and a list of all topics leaves it out.
Creation needs CREATE on the cluster or on the topic. Authorized operations of the cluster need
DESCRIBE on it; without it the set is empty.
"""

from collections.abc import Callable, Hashable, Iterable, Set
from functools import partial
from typing import Final

from attrs import frozen

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.endpoints import (
    OnlineDirectories,
    endpoints_on,
    offline_replicas,
    online_directories,
)
from trio_kafka.metadata.image import MetadataImage, PartitionState, TopicImage
from trio_kafka.metadata.names import check_topic_name, is_internal
from trio_kafka.model import NO_NODE, ZERO_TOPIC_ID, NodeId, TopicId
from trio_kafka.pending import Eventual, Work, then
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from trio_kafka.requests.api import MANY_PARTITIONS, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import lazily
from trio_kafka.requests.parts import TopicCreation, TopicRequester
from trio_kafka.requests.registry import Registry
from trio_kafka.requests.replies import Encoded, encoded_in_steps
from trio_kafka.requests.response_cache import ResponseCache
from trio_kafka.requests.rows import for_each
from trio_kafka.requests.throttling.throttle import Throttle
from trio_kafka.scheduling.chunked_work import sorted_in_steps
from trio_kafka.security.operations import Operation

Name = str | TopicId
Names = tuple[Name, ...] | None  # None: all topics

STEP: Final = 50  # topics in one step
NOT_ASKED: Final = -(1 << 31)
DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_cache: Final = ResponseCache()


@frozen(kw_only=True)
class _Visible:
    """Topics of a response, and which of them the client may not describe or create.

    denied: topics not to be described. uncreatable: missing topics not to be created.
    cluster_operations: as the response has them.
    """

    names: tuple[Name, ...]
    denied: frozenset[Name]
    uncreatable: frozenset[str]
    cluster_operations: int

    def is_denied(self, name: Name) -> bool:
        """Return whether the client may neither know nor create a topic."""
        return name in self.denied or name in self.uncreatable


@frozen(kw_only=True)
class _View:
    """Brokers as one listener shows them: registered, with an address there, and in use."""

    version: int
    registered: Set[NodeId]
    placed: Set[NodeId]
    online: OnlineDirectories

    def alive(self, nodes: list[int]) -> list[int]:
        return [node for node in nodes if node in self.online]


@api(MetadataRequest, largest=MANY_PARTITIONS)
def metadata(request: MetadataRequest, context: Context) -> Eventual[Encoded]:
    if request.topics is None or (context.version == 0 and not request.topics):
        return _answer(None, request, context)
    names: dict[Name, None] = {}  # in their order, each once
    add = partial(_add_name, names, context.version)
    answer = partial(_answer, names, request, context)
    return for_each(request.topics, add, answer, at_once=STEP)


def _add_name(names: dict[Name, None], version: int, topic: MetadataRequestTopic) -> None:
    names[_name(topic, version)] = None


def _answer(
    requested: Iterable[Name] | None, request: MetadataRequest, context: Context
) -> Eventual[Encoded]:
    """Return the cached response, or make it. requested: None: all topics."""
    names = None if requested is None else tuple(requested)
    if not context.allows_all:
        look = _look(names, request, context)
        return then(look, partial(_answer_visible, request, context))
    cache_key = (
        context.version,
        context.listener,
        names,
        request.include_cluster_authorized_operations,
        request.include_topic_authorized_operations,
    )
    cached = _cache.get(context[Registry], context.image, cache_key)
    if cached is not None:
        return cached
    operations = _cluster_operations(request, context)

    def make(names: Iterable[Name]) -> Eventual[Encoded]:
        visible = _Visible(
            names=tuple(names),
            denied=frozenset(),
            uncreatable=frozenset(),
            cluster_operations=operations,
        )
        return _make(cache_key, visible, request=request, context=context)

    return Work(sorted_in_steps(context.image.topics)).then(make) if names is None else make(names)


def _answer_visible(
    request: MetadataRequest, context: Context, visible: "_Visible"
) -> Eventual[Encoded]:
    """Return the response with the topics that the client may describe.

    It is cached by that, unless it tells the operations that this client may perform.
    """
    cache_key = None
    if not request.include_topic_authorized_operations:
        cache_key = (context.version, context.listener, visible)
        cached = _cache.get(context[Registry], context.image, cache_key)
        if cached is not None:
            return cached
    return _make(cache_key, visible, request=request, context=context)


def _look(names: Names, request: MetadataRequest, context: Context) -> Eventual[_Visible]:
    """Return the topics to describe: those that were named, or all that the client may see."""
    image = context.image
    operations = _cluster_operations(request, context)
    if names is None:
        visible = context.authorized(Operation.DESCRIBE, topics=image.topics)
        return Work(sorted_in_steps(visible)).then(
            lambda names: _Visible(
                names=tuple(names),
                denied=frozenset(),
                uncreatable=frozenset(),
                cluster_operations=operations,
            )
        )
    creates = _creates(request, context) and not context.is_authorized(
        Operation.CREATE, cluster=True
    )
    denied: set[Name] = set()
    uncreatable: set[str] = set()

    def look_at(named: Name) -> None:
        name = named if isinstance(named, str) else image.topic_names.get(named)
        if name is None:
            return  # whether an id exists is no secret
        if not context.is_authorized(Operation.DESCRIBE, topic=name):
            denied.add(named)
        elif (
            creates
            and name not in image.topics
            and not context.is_authorized(Operation.CREATE, topic=name)
        ):
            uncreatable.add(name)

    def finished() -> _Visible:
        return _Visible(
            names=names,
            denied=frozenset(denied),
            uncreatable=frozenset(uncreatable),
            cluster_operations=operations,
        )

    return for_each(names, look_at, finished, at_once=STEP)


def _creates(request: MetadataRequest, context: Context) -> bool:
    return request.allow_auto_topic_creation and context.config.auto_create_topics_enable


def _cluster_operations(request: MetadataRequest, context: Context) -> int:
    if not request.include_cluster_authorized_operations:
        return NOT_ASKED
    if not context.is_authorized(Operation.DESCRIBE, cluster=True):
        return 0
    return context.authorized_operations(cluster=True)


def _make(
    cache_key: Hashable, visible: _Visible, *, request: MetadataRequest, context: Context
) -> Eventual[Encoded]:
    """Make the response, and have missing topics created. cache_key: None: do not cache."""
    image = context.image
    unknown: list[Name] = []
    missing: list[str] = []
    creates = _creates(request, context)

    def look_up(name: Name) -> None:
        # The topics that the client may know or create, and that do not exist (yet).
        if image.topic(name) is None and not visible.is_denied(name):
            unknown.append(name)
            if creates and isinstance(name, str) and _may_be_created(name):
                missing.append(name)

    def encode() -> Eventual[Encoded]:
        if missing:
            context[TopicCreation].want(missing, _requester(context))
        response = _describe(request, visible, image=image, context=context)
        return Work(encoded_in_steps(response, context.version)).then(keep)

    def keep(answer: Encoded) -> Encoded:
        if not unknown and cache_key is not None:
            _cache.put(context[Registry], image, cache_key, answer)
        return answer

    return for_each(visible.names, look_up, encode)


def _requester(context: Context) -> TopicRequester:
    # The broker creates the topics by a new CreateTopics, so they are charged strictly, whatever
    # the version of this request.
    charge = context[Throttle].mutations(context.request, strict=True)
    return TopicRequester(principal=context.principal, client_id=context.client_id, charge=charge)


def _name(topic: MetadataRequestTopic, version: int) -> Name:
    """Return the topic that a request names. Raises KafkaError(INVALID_REQUEST)."""
    if topic.topic_id != ZERO_TOPIC_ID:
        if version < 12:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"topic ids in version {version}: expected version 12 or later",
            )
        return TopicId(topic.topic_id)  # a name beside it is ignored, as in Kafka
    if topic.name is None:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, "a topic without name and id: expected one of them"
        )
    return topic.name


def _describe(
    request: MetadataRequest, visible: _Visible, *, image: MetadataImage, context: Context
) -> MetadataResponse:
    """Return the response; its topics are made when they are written."""
    brokers = endpoints_on(image, context.listener)
    view = _View(
        version=context.version,
        registered=image.brokers.keys(),
        placed=frozenset(broker.node for broker in brokers),
        online=online_directories(image, context.listener),
    )

    def operations(name: str) -> int:
        if not request.include_topic_authorized_operations:
            return NOT_ASKED
        return context.authorized_operations(topic=name)

    def describe(name: Name) -> MetadataResponseTopic:
        if name in visible.denied:
            return _denied(name)
        topic = image.topic(name)
        if topic is not None:
            return _topic(topic, view, operations)
        if not isinstance(name, str):
            code = ErrorCode.UNKNOWN_TOPIC_ID
            return MetadataResponseTopic(error_code=code, name=None, topic_id=name)
        if name in visible.uncreatable:
            return MetadataResponseTopic(
                error_code=DENIED, name=name, is_internal=is_internal(name)
            )
        return _no_topic(name, operations)

    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=broker.node, host=broker.host, port=broker.port, rack=broker.rack
            )
            for broker in brokers
            if not broker.fenced
        ],
        cluster_id=image.cluster_id,
        # Clients send controller requests to any broker, which forwards them.
        controller_id=context.node_id if context.node_id in view.online else NO_NODE,
        topics=lazily(visible.names, describe),
        cluster_authorized_operations=visible.cluster_operations,
    )


def _denied(name: Name) -> MetadataResponseTopic:
    """Return the row of a topic that may not be described: the name or id of the request only."""
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
