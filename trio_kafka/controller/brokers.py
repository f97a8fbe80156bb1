"""Brokers: registration with an epoch, fencing until they have caught up, shutdown.

The epoch of a broker is the offset of its registration. A request with an older epoch comes from an
incarnation that has ended. Source: KIP-500, KIP-631, KIP-841, KIP-858.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final

from attrs import Factory

from trio_kafka.attributes import frozen
from trio_kafka.controller.decision import ControllerSettings, Decision
from trio_kafka.controller.leaders import arrive, leave
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.dump import broker_record
from trio_kafka.metadata.features import METADATA_VERSION, has_cordoned, has_directories
from trio_kafka.metadata.image import (
    BrokerRegistration,
    ListenerEndpoint,
    MetadataImage,
    VersionRange,
)
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.model import NO_NODE, NodeId
from trio_kafka.protocol.stored.metadata.brokers import (
    BrokerRegistrationChangeRecord,
    UnregisterBrokerRecord,
)

Records = Iterable[MetadataRecord | None]
_YES: Final = 1
_NO: Final = -1


@frozen(kw_only=True)
class NewBroker:
    """Registration request of a broker. incarnation_id: new at each start."""

    id: NodeId
    incarnation_id: bytes
    cluster_id: str
    endpoints: tuple[ListenerEndpoint, ...] = ()
    features: Mapping[str, VersionRange] = Factory(dict)
    rack: str | None = None
    log_dirs: tuple[bytes, ...] = ()
    cordoned_log_dirs: tuple[bytes, ...] = ()


@frozen(kw_only=True)
class Heartbeat:
    """Heartbeat of a broker: what it wants, and how far it has read the metadata.

    cordoned_log_dirs: those that are given no new replicas; None: as before.
    """

    broker_id: NodeId
    epoch: int
    metadata_offset: int
    want_fence: bool = False
    want_shutdown: bool = False
    cordoned_log_dirs: tuple[bytes, ...] | None = None


@frozen(kw_only=True)
class HeartbeatAnswer:
    """Answer to a heartbeat.

    caught_up: the broker has read its own registration. should_shut_down: it leads nothing any
    more.
    """

    caught_up: bool
    fenced: bool
    should_shut_down: bool


def register(
    image: MetadataImage,
    broker: NewBroker,
    *,
    offset: int,
    alive: bool,
    settings: ControllerSettings,
) -> Decision[int]:
    """Register a broker; the result is its epoch, which is the `offset` of its record.

    alive: a broker of this id has sent a heartbeat lately, perhaps an earlier incarnation.
    Raises KafkaError: INCONSISTENT_CLUSTER_ID, DUPLICATE_BROKER_REGISTRATION, UNSUPPORTED_VERSION,
    INVALID_REGISTRATION.
    """
    if broker.cluster_id != image.cluster_id:
        reason = f"cluster id {broker.cluster_id}: expected {image.cluster_id}"
        raise KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID, reason)
    old = image.brokers.get(broker.id)
    if old is not None and old.incarnation_id == broker.incarnation_id:
        # The response to the first attempt was lost.
        return Decision(old.epoch)
    if old is not None and alive:
        reason = f"broker {broker.id} is registered and alive"
        raise KafkaError(ErrorCode.DUPLICATE_BROKER_REGISTRATION, reason)
    _check_features(image, broker)
    level = image.features.get(METADATA_VERSION, 0)
    directories = has_directories(level)
    if directories and (not broker.log_dirs or len(set(broker.log_dirs)) < len(broker.log_dirs)):
        reason = f"log directories of broker {broker.id}: expected at least one, each once"
        raise KafkaError(ErrorCode.INVALID_REGISTRATION, reason)
    registration = BrokerRegistration(
        id=broker.id,
        epoch=offset,
        incarnation_id=broker.incarnation_id,
        endpoints=broker.endpoints,
        features=broker.features,
        rack=broker.rack,
        log_dirs=broker.log_dirs if directories else (),
        cordoned_log_dirs=broker.cordoned_log_dirs if has_cordoned(level) else None,
    )
    record = broker_record(registration)
    if old is None or not old.active:
        return Decision(offset, [record])
    # The last incarnation was not fenced: its partitions have no leader until this one is.
    return Decision(offset, chain([record], leave(image, broker.id, settings)))


def heartbeat(
    image: MetadataImage, beat: Heartbeat, settings: ControllerSettings
) -> Decision[HeartbeatAnswer]:
    """Fence, unfence or shut down a broker. Raises KafkaError as `check_epoch`."""
    broker = check_epoch(image, beat.broker_id, beat.epoch)
    caught_up = beat.metadata_offset >= broker.epoch
    fenced = broker.fenced
    records: Records = ()
    may_stop = False
    if beat.want_shutdown:
        records, may_stop = _shut_down(image, broker, settings)
        fenced = fenced or may_stop
    elif not broker.fenced and beat.want_fence:
        records, fenced = fence(image, broker, settings), True
    elif broker.fenced and not beat.want_fence and caught_up:
        records, fenced = chain([_changed(broker, fenced=_NO)], arrive(image, broker.id)), False
    records = chain(records, _cordon(image, broker, beat.cordoned_log_dirs))
    answer = HeartbeatAnswer(caught_up=caught_up, fenced=fenced, should_shut_down=may_stop)
    return Decision(answer, records)


def _cordon(
    image: MetadataImage, broker: BrokerRegistration, directories: tuple[bytes, ...] | None
) -> Iterable[MetadataRecord]:
    """Return the record of changed cordoned directories."""
    if directories is None or not has_cordoned(image.features.get(METADATA_VERSION, 0)):
        return
    if set(directories) != set(broker.cordoned_log_dirs or ()):
        yield BrokerRegistrationChangeRecord(
            broker_id=broker.id, broker_epoch=broker.epoch, cordoned_log_dirs=list(directories)
        )


def fence(
    image: MetadataImage, broker: BrokerRegistration, settings: ControllerSettings
) -> Records:
    """Return the records that fence a broker."""
    return chain([_changed(broker, fenced=_YES)], leave(image, broker.id, settings))


def unregister(
    image: MetadataImage, broker_id: NodeId, *, alive: bool, settings: ControllerSettings
) -> Decision[None]:
    """Remove a broker, and it from every ISR. alive: it has sent a heartbeat lately.

    Raises KafkaError: BROKER_ID_NOT_REGISTERED, INVALID_REQUEST for one that is alive.
    """
    broker = image.brokers.get(broker_id)
    if broker is None:
        reason = f"broker {broker_id} is not registered"
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, reason)
    if alive:
        reason = f"broker {broker_id} is alive: expected one that was stopped"
        raise KafkaError(ErrorCode.INVALID_REQUEST, reason)
    record = UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch)
    return Decision(None, chain(leave(image, broker_id, settings), [record]))


def check_epoch(image: MetadataImage, broker_id: NodeId, epoch: int) -> BrokerRegistration:
    """Return a broker. Raises KafkaError: BROKER_ID_NOT_REGISTERED, STALE_BROKER_EPOCH."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        reason = f"broker {broker_id} is not registered" if broker_id != NO_NODE else "no broker id"
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, reason)
    if broker.epoch != epoch:
        reason = f"epoch {epoch} of broker {broker_id}: expected {broker.epoch}"
        raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, reason)
    return broker


def _shut_down(
    image: MetadataImage, broker: BrokerRegistration, settings: ControllerSettings
) -> tuple[Records, bool]:
    """Move the leaderships of a broker; once it has none, fence it and let it stop."""
    if broker.fenced:
        return (), True
    if not broker.in_controlled_shutdown:
        moved = leave(image, broker.id, settings)
        return chain([_changed(broker, shutting_down=_YES)], moved), False
    leads = any(
        state.leader == broker.id
        for topic in image.topics.values()
        for state in topic.partitions.values()
    )
    return ((), False) if leads else ([_changed(broker, fenced=_YES)], True)


def _changed(
    broker: BrokerRegistration, *, fenced: int = 0, shutting_down: int = 0
) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(
        broker_id=broker.id,
        broker_epoch=broker.epoch,
        fenced=fenced,
        in_controlled_shutdown=shutting_down,
    )


def _check_features(image: MetadataImage, broker: NewBroker) -> None:
    for name, level in image.features.items():
        supported = broker.features.get(name)
        if supported is None or level not in supported:
            has = "nothing" if supported is None else f"{supported.low} to {supported.high}"
            reason = f"{name} is {level}, broker {broker.id} supports {has}"
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, reason)
