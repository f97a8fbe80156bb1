"""Metrics of the metadata: cluster, controller, metadata log and this broker."""

from typing import Final

from attrs import define

from trio_kafka.metadata.features import METADATA_VERSION
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.model import NO_NODE
from trio_kafka.requests.parts import Parts
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka_metrics.metric_values import MetricValues, of_bean

_A_STEP: Final = 256  # partitions: about 0.2 ms
_CONTROLLER: Final = "kafka.controller:type=KafkaController,name="
_RAFT: Final = "kafka.server:type=raft-metrics"
_LOADER: Final = "kafka.server:type=MetadataLoader,name="

STATE = of_bean(
    "kafka.server:type=KafkaServer,name=BrokerState",
    "1 starting, 2 catching up, 3 running, 6 pending controlled shutdown, 7 shutting down.",
)
_STATES: Final = {
    "starting": 1,
    "registered": 2,
    "unfenced": 2,
    "running": 3,
    "shutting down": 6,
    "fenced": 7,
}

ACTIVE = of_bean(f"{_CONTROLLER}ActiveControllerCount", "1: this node is the active controller.")
TOPICS = of_bean(f"{_CONTROLLER}GlobalTopicCount", "Topics in the cluster.")
PARTITIONS = of_bean(f"{_CONTROLLER}GlobalPartitionCount", "Partitions in the cluster.")
OFFLINE = of_bean(f"{_CONTROLLER}OfflinePartitionsCount", "Partitions without a leader.")
IMBALANCE = of_bean(
    f"{_CONTROLLER}PreferredReplicaImbalanceCount",
    "Partitions whose leader is not their first replica.",
)
BROKERS = of_bean(f"{_CONTROLLER}ActiveBrokerCount", "Brokers that serve.")
FENCED = of_bean(f"{_CONTROLLER}FencedBrokerCount", "Fenced brokers.")
LEAVING = of_bean(f"{_CONTROLLER}ControlledShutdownBrokerCount", "Brokers in controlled shutdown.")
REGISTRATION = of_bean(
    f"{_CONTROLLER}BrokerRegistrationState,broker={{broker}}",
    "10 fenced, 20 controlled shutdown, 30 active.",
)
APPLIED = of_bean(f"{_CONTROLLER}LastAppliedRecordOffset", "Offset of the last record applied.")
APPLIED_AT = of_bean(
    f"{_CONTROLLER}LastAppliedRecordTimestamp", "Its timestamp, ms since 1970; -1: none."
)
COMMITTED = of_bean(f"{_CONTROLLER}LastCommittedRecordOffset", "Offset of the last durable record.")

LEADER = of_bean(_RAFT, "Id of the leader of the metadata log; -1: none.", "current-leader")
EPOCH = of_bean(_RAFT, "Current epoch of the metadata log.", "current-epoch")
ROLE = of_bean(_RAFT, "Role of this node in the quorum.", "current-state")
HIGH_WATERMARK = of_bean(_RAFT, "Committed below.", "high-watermark")
END = of_bean(_RAFT, "Offset of the next record.", "log-end-offset")
END_EPOCH = of_bean(_RAFT, "Epoch of the last record.", "log-end-epoch")
VOTERS = of_bean(_RAFT, "Voters of the metadata log.", "number-of-voters")

VERSION = of_bean(f"{_LOADER}CurrentMetadataVersion", "Level of metadata.version.")
CONTROLLER_ID = of_bean(
    f"{_LOADER}CurrentControllerId", "Id of the active controller; -1: unknown."
)
LEVELS = of_bean(
    f"{_LOADER}FinalizedLevel,featureName={{featureName}}", "Finalized level of a feature."
)
_BROKER: Final = "kafka.server:type=broker-metadata-metrics"
SEEN = of_bean(
    _BROKER, "Offset of the last record that this broker has applied.", "last-applied-record-offset"
)
SEEN_AT = of_bean(
    _BROKER, "Its timestamp, ms since 1970; -1: none.", "last-applied-record-timestamp"
)


@define
class _Sums:
    partitions: int = 0
    offline: int = 0
    imbalanced: int = 0


def read_cluster(parts: Parts, collected: MetricValues) -> Steps[None]:
    """Read the metrics, in steps of some partitions."""
    image = parts.metadata.image
    collected.set(STATE, _STATES.get(parts.lifecycle.state, 0))
    active = parts.controller.epoch >= 0
    collected.set(ACTIVE, active)
    if active:  # as in Kafka: the others are on standby
        yield from _read_partitions(image, collected)
        _read_brokers(image, collected)
        collected.set(APPLIED, image.offset - 1)
        collected.set(APPLIED_AT, image.timestamp_ms)
        collected.set(COMMITTED, parts.raft.committed_offset - 1)
    _read_raft(parts, collected)
    collected.set(CONTROLLER_ID, image.leader_id)
    collected.set(VERSION, image.features.get(METADATA_VERSION, 0))
    for feature, level in parts.features.finalized.items():
        collected.set(LEVELS, level, feature)
    collected.set(SEEN, image.offset - 1)
    collected.set(SEEN_AT, image.timestamp_ms)
    yield


def _read_partitions(image: MetadataImage, collected: MetricValues) -> Steps[None]:
    sums = _Sums()
    for topic in image.topics.values():
        for state in topic.partitions.values():
            sums.partitions += 1
            sums.offline += state.leader == NO_NODE
            sums.imbalanced += state.leader != state.replicas[0]
            if not sums.partitions % _A_STEP:
                yield
    collected.set(TOPICS, len(image.topics))
    collected.set(PARTITIONS, sums.partitions)
    collected.set(OFFLINE, sums.offline)
    collected.set(IMBALANCE, sums.imbalanced)


def _read_brokers(image: MetadataImage, collected: MetricValues) -> None:
    states = {
        broker.id: 10 if broker.fenced else 20 if broker.in_controlled_shutdown else 30
        for broker in image.brokers.values()
    }
    counted = list(states.values())
    collected.set(BROKERS, counted.count(30))
    collected.set(FENCED, counted.count(10))
    collected.set(LEAVING, counted.count(20))
    for broker, state in states.items():
        collected.set(REGISTRATION, state, str(broker))


def _read_raft(parts: Parts, collected: MetricValues) -> None:
    raft = parts.raft
    log = raft.store.log
    leads = raft.epoch >= 0
    collected.set(LEADER, parts.node_id if leads else NO_NODE)
    collected.set(EPOCH, raft.epoch)
    if leads:  # a quorum of one has no other roles
        collected.set(ROLE, 1, "leader")
    collected.set(HIGH_WATERMARK, raft.committed_offset)
    collected.set(END, log.end_offset)
    collected.set(END_EPOCH, log.leader_epoch)
    collected.set(VOTERS, len(raft.voters.ids))
