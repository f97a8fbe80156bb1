"""Automatic creation of topics that clients request (`auto.create.topics.enable`).

Requests do not wait: names are queued, and one task has the controller create them. A name is
queued once. Names beyond the bound are dropped; clients ask for them again.

Policies see the client that asked first, and its quota of changes is charged, strictly: while it is
used up, no topic is created. Internal topics that the broker needs itself are free of charge.
Source: AutoTopicCreationManager and ControllerApis of Apache Kafka 4.4.0.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, NoReturn

import trio

from trio_kafka.broker.node import Node, Part, Stage, tasks_end
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.controller.controller import Controller
from trio_kafka.controller.topics import NewTopic, free_of_charge
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures
from trio_kafka.introspect.tree import Node as TreeNode
from trio_kafka.metadata.names import CONSUMER_OFFSETS, TRANSACTION_STATE, is_internal
from trio_kafka.requests.parts import TopicCreation as TopicCreationFace
from trio_kafka.requests.parts import TopicRequester
from trio_kafka.security.principal import ANONYMOUS

MOST: Final = 1000
_TASK: Final = "auto-topic-creation"
_logger: Final = get_logger(__name__)
Requester = TopicRequester | None  # None: the broker itself
# Creates topics with the broker's defaults for a requester; returns an error or None by name.
Create = Callable[[Sequence[str], Requester], Awaitable[Mapping[str, KafkaError | None]]]


def internal_topics(config: BrokerConfig) -> Mapping[str, NewTopic]:
    """Return the internal topics, with Kafka's settings."""
    offsets = NewTopic(
        name=CONSUMER_OFFSETS,
        partitions=config.offsets_topic_num_partitions,
        replication_factor=config.offsets_topic_replication_factor,
        configs={
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
        },
    )
    transactions = NewTopic(
        name=TRANSACTION_STATE,
        partitions=config.transaction_state_log_num_partitions,
        replication_factor=config.transaction_state_log_replication_factor,
        configs={
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(config.transaction_state_log_min_isr),
            "segment.bytes": str(config.transaction_state_log_segment_bytes),
            "unclean.leader.election.enable": "false",
        },
    )
    return {offsets.name: offsets, transactions.name: transactions}


def creator(controller: Controller, special: Mapping[str, NewTopic]) -> Create:
    """Return a function that creates topics by the controller, with the broker's defaults.

    special: topics with their own settings, by name.
    """

    async def create(names: Sequence[str], requester: Requester) -> dict[str, KafkaError | None]:
        topics = [special.get(name) or NewTopic(name=name) for name in names]
        results = await controller.create_topics(
            topics,
            charge=free_of_charge if requester is None else requester.charge,
            principal=ANONYMOUS if requester is None else requester.principal,
        )
        return {
            name: result if isinstance(result, KafkaError) else None
            for name, result in results.items()
        }

    return create


class TopicCreation:
    """Implementation of `requests.parts.TopicCreation`."""

    def __init__(self, create: Create, node: TreeNode) -> None:
        self._create = create
        self._queue: dict[str, Requester] = {}
        self._queued = trio.Event()
        self._created = self._refused = self._dropped = self._high_water = 0
        node.add("auto-topic-creation", "part", self._figures)

    def want(self, names: Iterable[str], requester: Requester = None) -> None:
        """Queue names for creation. Never waits. requester: None: the broker itself."""
        for name in names:
            if name in self._queue:
                if requester is None:  # what the broker needs does not depend on a client's quota
                    self._queue[name] = None
            elif len(self._queue) < MOST:
                self._queue[name] = requester
                self._high_water = max(self._high_water, len(self._queue))
            else:
                self._dropped += 1
        self._queued.set()

    @waits_for_work("a topic to create")
    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Create queued topics until cancelled."""
        task_status.started()
        while True:
            await self._queued.wait()
            for requester, names in _by_requester(self._queue).items():
                await self._create_for(requester, names)
            if not self._queue:
                self._queued = trio.Event()

    async def _create_for(self, requester: Requester, names: Sequence[str]) -> None:
        results: Mapping[str, KafkaError | None]
        try:
            results = await self._create(names, requester)
        except KafkaError as error:
            results = dict.fromkeys(names, error)
        for name, refusal in results.items():
            if refusal is None:
                self._created += 1
            else:
                self._refused += 1
                log = _logger.warning if is_internal(name) else _logger.info
                log("topic creation rejected", topic=name, reason=str(refusal))
        for name in names:
            del self._queue[name]

    def _figures(self) -> Figures:
        return {
            "wanted": len(self._queue),
            "bound": MOST,
            "high_water": self._high_water,
            "created": self._created,
            "refused": self._refused,
            "dropped": self._dropped,
        }


def _by_requester(queue: Mapping[str, Requester]) -> Mapping[Requester, Sequence[str]]:
    names: dict[Requester, list[str]] = {}
    for name, requester in queue.items():
        names.setdefault(requester, []).append(name)
    return names


async def _open(node: Node) -> TopicCreation:
    create = creator(node[Controller], internal_topics(node.config))
    creation = TopicCreation(create, node.tree)
    await node.tasks.start(_TASK, creation.run)
    return creation


TOPIC_CREATION: Final = Part(
    kind=TopicCreation,
    open=_open,
    stops={Stage.HANDLERS: tasks_end(_TASK)},
    step="upkeep",
    face=TopicCreationFace,
)
