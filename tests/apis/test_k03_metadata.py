"""Metadata: what is there, where, and what a client may ask to be created."""

from collections.abc import Sequence

import attrs
import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import TWO_LISTENERS, broker, codes, delete_topic, lead_elsewhere, stable
from tests.apis.test_k49_alter_client_quotas import alter, entry
from tests.broker.sasl import sasl_broker
from tests.broker.tokens import ask_as
from trio_kafka.controller.configs import ConfigChange, Operation
from trio_kafka.controller.topics import NewPartitions
from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.model import NO_NODE, ZERO_TOPIC_ID, NodeId
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from trio_kafka.security.operations import NOT_ASKED, OF_CLUSTER, OF_TOPIC
from trio_kafka.testing.broker import ServedBroker

IDS_ARE_TOLD = 10
IDS_MAY_BE_ASKED = 12
UNKNOWN_ID = b"?" * 16


def named(*names: str | None, create: bool = False, **others: bool) -> MetadataRequest:
    return MetadataRequest(
        [MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=create,
        **others,
    )


def of_ids(*ids: bytes, name: str | None = None) -> MetadataRequest:
    topics = [MetadataRequestTopic(topic_id=id_, name=name) for id_ in ids]
    return MetadataRequest(topics, allow_auto_topic_creation=False)


def everything(version: int) -> MetadataRequest:
    """The request for all topics: an empty list in version 0, null in the others."""
    return MetadataRequest([] if version == 0 else None)


def names_of(answer: MetadataResponse) -> list[str | None]:
    return [topic.name for topic in answer.topics]


async def find(served: ServedBroker, version: int, *names: str) -> MetadataResponse:
    """Without creating anything: versions below 4 cannot say that."""
    answer: MetadataResponse = await served.ask(named(*names, create=version < 4), version)
    return answer


@pytest.mark.parametrize("version", stable(MetadataRequest))
async def test_brokers_and_partitions_are_described_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker({"broker.rack": "r1"}) as served:
        topic_id = await served.create_topic("t", 2)
        await served.create_topic("__consumer_offsets")
        answer = await find(served, version, "t", "__consumer_offsets")
        port, cluster = served.broker.endpoint.port, served.broker.metadata.image.cluster_id

    (node,) = answer.brokers
    assert (node.node_id, node.host, node.port) == (1, "127.0.0.1", port)
    assert node.rack == ("r1" if version >= 1 else None)
    assert answer.cluster_id == (cluster if version >= 2 else None)
    assert answer.controller_id == (1 if version >= 1 else -1)
    assert answer.error_code == 0
    topic, internal = answer.topics
    assert (topic.error_code, topic.name) == (0, "t")
    assert topic.topic_id == (topic_id if version >= IDS_ARE_TOLD else ZERO_TOPIC_ID)
    assert (topic.is_internal, internal.is_internal) == (False, version >= 1)
    assert [part.partition_index for part in topic.partitions] == [0, 1]
    for part in topic.partitions:
        assert (part.error_code, part.leader_id) == (0, 1)
        assert part.leader_epoch == (0 if version >= 7 else -1)
        assert (part.replica_nodes, part.isr_nodes, part.offline_replicas) == ([1], [1], [])


@pytest.mark.parametrize("version", stable(MetadataRequest))
async def test_all_topics_are_listed_in_order_of_their_names(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        for name in ("b", "c", "a"):
            await served.create_topic(name)

        assert names_of(await served.ask(everything(version), version)) == ["a", "b", "c"]


@pytest.mark.parametrize("version", stable(MetadataRequest)[1:])
async def test_an_empty_list_of_topics_returns_only_brokers(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        answer = await served.ask(MetadataRequest([]), version)

    assert answer.topics == []
    assert len(answer.brokers) == 1


@pytest.mark.parametrize("version", stable(MetadataRequest)[IDS_MAY_BE_ASKED:])
async def test_topics_are_found_by_their_ids(autojump_clock: MockClock, version: int) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        answer = await served.ask(of_ids(UNKNOWN_ID, topic_id), version)

    assert [(topic.error_code, topic.name, topic.topic_id) for topic in answer.topics] == [
        (ErrorCode.UNKNOWN_TOPIC_ID, None, UNKNOWN_ID),
        (0, "t", topic_id),
    ]


async def test_many_topics_are_answered_once_each_in_the_order_of_the_request(
    autojump_clock: MockClock,
) -> None:
    async with broker({"auto.create.topics.enable": "false"}) as served:
        await served.create_topic("there-60")
        names = [f"there-{number}" for number in range(130)]
        answer = await served.ask(named(*names, *names[:70]), 12)

    assert names_of(answer) == names
    codes = {topic.name: topic.error_code for topic in answer.topics}
    assert codes.pop("there-60") == 0
    assert set(codes.values()) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


async def test_a_topic_id_takes_precedence_over_a_name_in_the_same_entry(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        await served.create_topic("other")

        assert names_of(await served.ask(of_ids(topic_id, name="other"), 12)) == ["t"]


async def test_ids_and_names_in_one_request_are_all_answered(autojump_clock: MockClock) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        await served.create_topic("other")
        request = named("other")
        request.topics = [*(request.topics or []), *(of_ids(topic_id).topics or [])]

        assert names_of(await served.ask(request, 13)) == ["other", "t"]


@pytest.mark.parametrize(
    ("version", "topic"),
    [
        (10, MetadataRequestTopic(topic_id=UNKNOWN_ID, name="t")),
        (11, MetadataRequestTopic(topic_id=UNKNOWN_ID, name="t")),
        (10, MetadataRequestTopic(name=None)),
        (11, MetadataRequestTopic(name=None)),
        (12, MetadataRequestTopic(name=None)),
        (13, MetadataRequestTopic(name=None)),
    ],
)
async def test_an_entry_that_its_version_does_not_support_is_an_invalid_request(
    autojump_clock: MockClock, version: int, topic: MetadataRequestTopic
) -> None:
    if version < 12 and topic.name is None:
        topic = MetadataRequestTopic(topic_id=UNKNOWN_ID, name=None)
    async with broker() as served:
        answer = await served.ask(MetadataRequest([topic]), version)

    invalid = ErrorCode.INVALID_REQUEST
    assert answer.error_code == invalid if version >= 13 else codes(answer.topics) == [invalid]


async def test_a_topic_named_twice_is_described_once(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")

        assert names_of(await served.ask(named("t", "t"), 13)) == ["t"]


INVALID = ["", ".", "..", "a b", "a/b", "ä", "x" * 250]


@pytest.mark.parametrize("version", stable(MetadataRequest))
async def test_an_invalid_topic_name_is_refused_and_creates_no_topic(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        answer = await served.ask(named(*INVALID, create=True), version)
        await trio.sleep(1)

        assert codes(answer.topics) == [ErrorCode.INVALID_TOPIC_EXCEPTION] * len(INVALID)
        assert names_of(answer) == INVALID
        assert served.broker.metadata.image.topics == {}


class TestCreation:
    """A topic that is asked for is made, where client and settings let it."""

    @pytest.mark.parametrize("version", stable(MetadataRequest))
    async def test_an_auto_created_topic_is_unknown_at_first_and_described_later(
        self, autojump_clock: MockClock, version: int
    ) -> None:
        async with broker({"num.partitions": "3"}) as served:
            request = named("new", create=True)
            (first,) = (await served.ask(request, version)).topics
            assert first.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert (first.name, first.partitions) == ("new", [])

            await trio.sleep(0.5)
            (second,) = (await served.ask(request, version)).topics
            assert (second.error_code, len(second.partitions)) == (0, 3)

    async def test_concurrent_requests_for_a_new_topic_create_one_topic(
        self, autojump_clock: MockClock
    ) -> None:
        result: list[bytes] = []
        async with broker() as served:

            async def ask() -> None:
                async with served.connect() as client:
                    while True:
                        (topic,) = (await client.ask(named("new", create=True), 13)).topics
                        if not topic.error_code:
                            result.append(topic.topic_id)
                            return
                        assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

            async with trio.open_nursery() as nursery:
                for _ in range(20):
                    nursery.start_soon(ask)
            assert list(served.broker.metadata.image.topics) == ["new"]

        assert len(result) == 20
        assert len(set(result)) == 1

    @pytest.mark.parametrize(
        ("settings", "create"), [({}, False), ({"auto.create.topics.enable": "false"}, True)]
    )
    async def test_an_unknown_topic_is_not_created_where_client_or_broker_disallow_auto_creation(
        self, autojump_clock: MockClock, settings: dict[str, str], create: bool
    ) -> None:
        async with broker(settings) as served:
            answer = await served.ask(named("new", create=create), 13)
            await trio.sleep(1)

            assert codes(answer.topics) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
            assert served.broker.metadata.image.topics == {}

    @pytest.mark.parametrize("name", ["a.b", "__cluster_metadata"])
    async def test_a_topic_whose_creation_the_controller_refuses_stays_unknown(
        self, autojump_clock: MockClock, name: str
    ) -> None:
        async with broker() as served:
            await served.create_topic("a_b")
            for _ in range(2):
                answer = await served.ask(named(name, create=True), 13)
                await trio.sleep(1)
                assert codes(answer.topics) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]

            assert list(served.broker.metadata.image.topics) == ["a_b"]
            (creation,) = [
                node for _, node in served.broker.node.walk() if node.name == "auto-topic-creation"
            ]
            assert creation.figures()["refused"] == 2  # asked for again: the answer was not kept

    @pytest.mark.parametrize("version", [4, 13])
    async def test_no_topic_is_auto_created_while_the_quota_of_the_client_is_used_up(
        self, autojump_clock: MockClock, version: int
    ) -> None:
        async with sasl_broker({"num.partitions": "5"}) as served:
            await alter(served, entry({"user": "ann"}, controller_mutation_rate=0.001))

            async def ask(user: str, name: str) -> set[str]:
                """Return the topics that exist after the request."""
                answer = await ask_as(served, user, named(name, create=True), version)
                assert codes(answer.topics) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
                await trio.sleep(1)
                return set(served.broker.metadata.image.topics)

            assert await ask("ann", "first") == {"first"}  # its 5 partitions overdraw the quota
            assert await ask("ann", "second") == {"first"}
            assert await ask("bob", "third") == {"first", "third"}
            await trio.sleep(5 / 0.001)
            assert await ask("ann", "second") == {"first", "second", "third"}

    async def test_a_policy_sees_the_principal_for_which_a_topic_is_auto_created(
        self, autojump_clock: MockClock
    ) -> None:
        calls: list[tuple[str, str]] = []
        async with sasl_broker() as served:
            served.broker.controller.policies.topics.append(
                lambda topic, principal: calls.append((topic.name, principal))
            )
            await ask_as(served, "ann", named("of-ann", create=True))
            await ask_as(served, "bob", named("of-bob", create=True))
            await trio.sleep(1)

        assert calls == [("of-ann", "User:ann"), ("of-bob", "User:bob")]


class TestOperations:
    """KIP-430: the operations that the client may perform; without an authorizer, all of them."""

    @pytest.mark.parametrize("version", stable(MetadataRequest)[8:])
    async def test_authorized_operations_are_returned_only_on_request(
        self, autojump_clock: MockClock, version: int
    ) -> None:
        cluster = {"include_cluster_authorized_operations": True} if version <= 10 else {}
        async with broker() as served:
            await served.create_topic("t")
            request = named("t", "none", include_topic_authorized_operations=True, **cluster)
            answer = await served.ask(request, version)
            silent = await served.ask(named("t"), version)

        there, gone = answer.topics
        assert (there.topic_authorized_operations, gone.topic_authorized_operations) == (
            OF_TOPIC,
            OF_TOPIC,  # of a topic that could be created, as in Kafka
        )
        operations = OF_CLUSTER if version <= 10 else NOT_ASKED
        assert answer.cluster_authorized_operations == operations
        assert silent.topics[0].topic_authorized_operations == NOT_ASKED
        assert silent.cluster_authorized_operations == NOT_ASKED


async def test_brokers_have_the_endpoints_of_the_listener_that_received_the_request(
    autojump_clock: MockClock,
) -> None:
    async with broker(TWO_LISTENERS) as served:
        await served.create_topic("t")
        for name in ("ONE", "TWO", "ONE"):
            async with served.connect(name) as client:
                answer = await client.ask(named("t"), 13)
                ports = [node.port for node in answer.brokers]
                assert ports == [served.broker.endpoints[name].port]


async def hide(served: ServedBroker, **changes: object) -> None:
    """Change the registration of broker 1, behind the controller's back."""
    cache = served.broker.metadata
    me = attrs.evolve(cache.image.brokers[served.broker.parts.node_id], **changes)  # type: ignore[arg-type]
    cache.image = attrs.evolve(cache.image, brokers={me.id: me})
    await trio.lowlevel.checkpoint()


@pytest.mark.parametrize("version", stable(MetadataRequest))
async def test_a_leader_without_an_endpoint_on_the_listener_is_not_named(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await hide(served, endpoints=())
        answer = await find(served, version, "t")

    assert answer.brokers == []
    assert answer.controller_id == NO_NODE
    ((part,),) = [topic.partitions for topic in answer.topics]
    not_found = ErrorCode.LISTENER_NOT_FOUND
    assert part.error_code == (not_found if version >= 6 else ErrorCode.LEADER_NOT_AVAILABLE)
    assert part.leader_id == NO_NODE
    assert part.offline_replicas == ([1] if version >= 5 else [])


async def test_a_fenced_broker_is_not_listed(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await hide(served, fenced=True)

        assert (await served.ask(MetadataRequest(None), 13)).brokers == []


async def test_the_leader_on_another_broker_is_described_with_its_address(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await lead_elsewhere(served)
        answer = await served.ask(named("t"), 13)

    assert [(node.node_id, node.host, node.rack) for node in answer.brokers] == [
        (1, "127.0.0.1", None),
        (7, "there", "r"),
    ]
    (part,) = answer.topics[0].partitions
    assert (part.error_code, part.leader_id, part.leader_epoch) == (0, 7, 5)
    assert (part.replica_nodes, part.isr_nodes, part.offline_replicas) == ([1, 7], [7], [])


async def test_a_fenced_leader_is_named_and_its_replica_is_offline(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await hide(served, fenced=True)
        (part,) = (await served.ask(named("t"), 13)).topics[0].partitions

    assert (part.error_code, part.leader_id, part.offline_replicas) == (0, 1, [1])


@pytest.mark.parametrize("version", [5, 6, 13])
async def test_an_unregistered_leader_is_answered_leader_not_available(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        cache = served.broker.metadata
        cache.image = attrs.evolve(cache.image, brokers={})
        (part,) = (await served.ask(named("t"), version)).topics[0].partitions

    assert (part.error_code, part.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, NO_NODE)


@pytest.mark.parametrize("version", [5, 13])
async def test_a_replica_in_an_offline_directory_is_listed_as_offline(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await hide(served, log_dirs=(b"another directory"[:16],))
        (part,) = (await served.ask(named("t"), version)).topics[0].partitions

    assert (part.error_code, part.leader_id, part.replica_nodes) == (0, 1, [1])
    assert part.offline_replicas == [1]


@pytest.mark.parametrize(
    ("changes", "replicas", "isr", "error"),
    [
        ({}, [1], [1], 0),
        ({"replicas": (NodeId(1), NodeId(9))}, [1], [1], ErrorCode.REPLICA_NOT_AVAILABLE),
        ({"isr": (NodeId(9), NodeId(1))}, [1], [1], ErrorCode.REPLICA_NOT_AVAILABLE),
        ({"leader": NodeId(9)}, [1], [1], ErrorCode.LEADER_NOT_AVAILABLE),
    ],
)
async def test_version_0_lists_only_live_replicas_with_an_error_when_others_are_missing(
    autojump_clock: MockClock,
    changes: dict[str, object],
    replicas: list[int],
    isr: list[int],
    error: int,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        cache = served.broker.metadata
        topic = cache.image.topics["t"]
        state = attrs.evolve(topic.partitions[0], directories=(), **changes)
        topics = {"t": attrs.evolve(topic, partitions={0: state})}
        cache.image = attrs.evolve(cache.image, topics=topics)
        (old,) = (await find(served, 0, "t")).topics[0].partitions
        (new,) = (await find(served, 5, "t")).topics[0].partitions

    assert (old.replica_nodes, old.isr_nodes, old.error_code) == (replicas, isr, error)
    assert (new.replica_nodes, new.isr_nodes) == (list(state.replicas), list(state.isr))


class TestKept:
    """Answers are kept as bytes, and never longer than they are true."""

    @staticmethod
    async def ids(served: ServedBroker, names: Sequence[str] | None = None) -> dict[str, bytes]:
        request = MetadataRequest(None) if names is None else named(*names)
        topics = (await served.ask(request, 13)).topics
        return {topic.name: topic.topic_id for topic in topics if not topic.error_code}

    @pytest.mark.parametrize("names", [None, ["a", "b"]])
    async def test_created_and_deleted_topics_are_visible_at_once_in_cached_answers(
        self, autojump_clock: MockClock, names: Sequence[str] | None
    ) -> None:
        async with broker() as served:
            assert await self.ids(served, names) == {}
            first = await served.create_topic("a")
            assert await self.ids(served, names) == {"a": first}
            other = await served.create_topic("b")
            assert await self.ids(served, names) == {"a": first, "b": other}
            await delete_topic(served, "a")
            assert await self.ids(served, names) == {"b": other}
            second = await served.create_topic("a")
            assert second != first
            assert await self.ids(served, names) == {"a": second, "b": other}

    async def test_every_metadata_change_invalidates_cached_answers(
        self, autojump_clock: MockClock
    ) -> None:
        async with broker() as served:
            await served.create_topic("t")
            controller, changed = served.broker.controller, (ConfigResourceType.TOPIC, "t")
            await served.ask(named("t"), 13)
            before = served.broker.metadata.image
            change = ConfigChange("retention.ms", Operation.SET, "1000")
            assert await controller.alter_configs({changed: [change]}) == {changed: None}
            assert served.broker.metadata.image is not before

            grown = await controller.create_partitions({"t": NewPartitions(4)})
            assert grown == {"t": None}
            (topic,) = (await served.ask(named("t"), 13)).topics
            assert len(topic.partitions) == 4

    async def test_a_cached_answer_equals_the_first_answer_for_each_version_and_listener(
        self, autojump_clock: MockClock
    ) -> None:
        async with broker(TWO_LISTENERS) as served:
            await served.create_topic("t")
            for version in (1, 12, 13, 1, 12, 13):
                answer = await served.ask(named("t", create=version < 4), version)
                assert names_of(answer) == ["t"]
                with_all = await served.ask(MetadataRequest(None), version)
                assert names_of(with_all) == ["t"]
                if version >= 8:
                    request = named("t", include_topic_authorized_operations=True)
                    (topic,) = (await served.ask(request, version)).topics
                    assert topic.topic_authorized_operations == OF_TOPIC
