from collections.abc import Sequence

import trio

from tests.broker.kit import APIS, config_of
from trio_kafka.broker import Broker
from trio_kafka.broker.parts.topic_creation import (
    MOST,
    Requester,
    TopicCreation,
    creator,
    internal_topics,
)
from trio_kafka.controller.topics import free_of_charge
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.metadata.names import CONSUMER_OFFSETS
from trio_kafka.requests.parts import TopicRequester

TAKEN = KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS)


def client(client_id: str, principal: str = "User:ann") -> TopicRequester:
    return TopicRequester(principal=principal, client_id=client_id, charge=free_of_charge)


async def test_topic_is_auto_created_once_for_repeated_requests(autojump_clock) -> None:
    requests: list[list[str]] = []

    async def create(names: Sequence[str], _: Requester) -> dict[str, KafkaError | None]:
        requests.append(list(names))
        creation.want(names)
        await trio.sleep(1)
        return {name: TAKEN if name == "b" else None for name in names}

    root = Node("broker", "broker")
    creation = TopicCreation(create, root)
    async with trio.open_nursery() as nursery:
        await nursery.start(creation.run)
        creation.want(["a", "b", "a"])
        await trio.sleep(0.5)
        creation.want(["a", "c"])
        await trio.sleep(5)
        nursery.cancel_scope.cancel()

    assert requests == [["a", "b"], ["c"]]
    figures = root.children[0].figures()
    assert figures == {
        "wanted": 0,
        "bound": MOST,
        "high_water": 3,
        "created": 2,
        "refused": 1,
        "dropped": 0,
    }


async def test_topic_creation_is_retried_on_request_after_the_controller_refused(
    autojump_clock,
) -> None:
    requests: list[list[str]] = []

    async def create(names: Sequence[str], _: Requester) -> dict[str, KafkaError | None]:
        requests.append(list(names))
        await trio.sleep(1)
        raise KafkaError(ErrorCode.NOT_CONTROLLER)

    creation = TopicCreation(create, Node("broker", "broker"))
    async with trio.open_nursery() as nursery:
        await nursery.start(creation.run)
        for _ in range(2):
            creation.want(["a"])
            await trio.sleep(2)
        nursery.cancel_scope.cancel()

    assert requests == [["a"], ["a"]]


async def test_topics_are_created_once_for_each_client_that_asked_first(autojump_clock) -> None:
    requests: list[tuple[list[str], Requester]] = []

    async def create(names: Sequence[str], requester: Requester) -> dict[str, KafkaError | None]:
        await trio.lowlevel.checkpoint()
        requests.append((list(names), requester))
        if requester is not None and requester.client_id == "c":
            raise KafkaError(ErrorCode.NOT_CONTROLLER)
        return dict.fromkeys(names, None)

    root = Node("broker", "broker")
    creation = TopicCreation(create, root)
    creation.want(["a"], client("b"))
    creation.want(["a", "b"], client("c"))
    creation.want(["c", "d"], client("b"))
    creation.want(["e"], client("b", "User:bob"))
    creation.want(["f", CONSUMER_OFFSETS], client("c"))
    creation.want([CONSUMER_OFFSETS])
    async with trio.open_nursery() as nursery:
        await nursery.start(creation.run)
        await trio.sleep(1)
        nursery.cancel_scope.cancel()

    assert requests == [
        (["a", "c", "d"], client("b")),
        (["b", "f"], client("c")),
        (["e"], client("b", "User:bob")),
        ([CONSUMER_OFFSETS], None),
    ]
    figures = root.children[0].figures()
    assert (figures["created"], figures["refused"], figures["wanted"]) == (5, 2, 0)


async def test_topic_names_beyond_the_limit_of_pending_creations_are_dropped() -> None:
    async def create(names: Sequence[str], _: Requester) -> dict[str, KafkaError | None]:
        await trio.sleep_forever()
        raise AssertionError

    root = Node("broker", "broker")
    creation = TopicCreation(create, root)

    creation.want(map(str, range(MOST + 3)))
    creation.want(["0"])

    figures = root.children[0].figures()
    assert (figures["wanted"], figures["dropped"]) == (MOST, 3)


async def test_auto_created_topic_has_the_brokers_default_partition_count(
    world, autojump_clock
) -> None:
    config = config_of({"num.partitions": "3"})
    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        create = creator(broker.controller, {})

        assert await create(["t"], None) == {"t": None}
        assert len(broker.metadata.image.topics["t"].partitions) == 3
        assert (await create(["t"], None))["t"].code is ErrorCode.TOPIC_ALREADY_EXISTS


async def test_auto_creation_charges_the_client_and_the_broker_itself_pays_nothing(
    world, autojump_clock
) -> None:
    charged: list[int] = []
    policy_calls: list[tuple[str, str]] = []

    def charge(partitions: int) -> None:
        charged.append(partitions)
        if len(charged) > 1:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)

    ann = TopicRequester(principal="User:ann", client_id="c", charge=charge)
    config = config_of({"num.partitions": "3", "offsets.topic.num.partitions": "7"})
    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        broker.controller.policies.topics.append(
            lambda topic, principal: policy_calls.append((topic.name, principal))
        )
        create = creator(broker.controller, internal_topics(broker.config))
        results = await create(["t", "u"], ann)
        assert await create([CONSUMER_OFFSETS], None) == {CONSUMER_OFFSETS: None}

    assert results["t"] is None
    assert results["u"].code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert charged == [3, 3]
    assert policy_calls == [
        ("t", "User:ann"),
        ("u", "User:ann"),
        (CONSUMER_OFFSETS, "User:ANONYMOUS"),
    ]


async def test_offsets_topic_is_created_with_the_configs_of_kafka(world, autojump_clock) -> None:
    config = config_of(
        {"offsets.topic.num.partitions": "7", "offsets.topic.segment.bytes": "1048576"}
    )
    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        create = creator(broker.controller, internal_topics(broker.config))

        assert await create([CONSUMER_OFFSETS], None) == {CONSUMER_OFFSETS: None}
        image = broker.metadata.image
        assert len(image.topics[CONSUMER_OFFSETS].partitions) == 7
        assert image.config(ConfigResourceType.TOPIC, CONSUMER_OFFSETS) == {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": "1048576",
        }
