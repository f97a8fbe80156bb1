"""Batches of the metadata log and its snapshots: metadata records and KRaft control records.

A batch holds one of the two kinds. Each control value states its version, in which it is decoded.
Source: KIP-595, KIP-630, KIP-631, KIP-853.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from attrs import Factory

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.features import record_version
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.model import NodeId
from trio_kafka.protocol.compiler import decoder, encoder
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.stored.control import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    Voter,
    VotersRecord,
)
from trio_kafka.protocol.stored.metadata.frame import decode_record, encode_record
from trio_kafka.raft.voters import VoterSet
from trio_kafka.records.batch import BatchBody, BatchHeader, Record, encode_batch, read_records
from trio_kafka.records.control import (
    ControlType,
    control_record,
    control_type,
    encode_control_batch,
    value_version,
)
from trio_kafka.world.protocols import Buffer

Control = (
    LeaderChangeMessage
    | SnapshotHeaderRecord
    | SnapshotFooterRecord
    | KRaftVersionRecord
    | VotersRecord
)
_CONTROLS: Final[dict[ControlType, type[Control]]] = {
    ControlType.LEADER_CHANGE: LeaderChangeMessage,
    ControlType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    ControlType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    ControlType.KRAFT_VERSION: KRaftVersionRecord,
    ControlType.KRAFT_VOTERS: VotersRecord,
}
_TYPES: Final = {cls: kind for kind, cls in _CONTROLS.items()}


@define
class MetadataBatch:
    """Atomic batch under construction; records get the versions of metadata.version `level`."""

    level: int
    timestamp_ms: int
    records: list[MetadataRecord] = Factory(list)
    _body: BatchBody = Factory(BatchBody)

    def add(self, record: MetadataRecord) -> None:
        """Append a record. Raises EncodeError for a record that the level does not have."""
        value = encode_record(record, record_version(record, self.level))
        self._body.add(Record(value=value, timestamp=self.timestamp_ms))
        self.records.append(record)

    def seal(self, base_offset: int, epoch: int) -> bytes:
        """Return the encoded batch, which must hold at least one record."""
        return encode_batch(self._body, base_offset, epoch)


def encode_controls(
    controls: Iterable[Control], *, base_offset: int, epoch: int, timestamp_ms: int
) -> bytes:
    """Encode control records as one batch."""
    records = []
    for control in controls:
        pieces: list[bytes] = []
        encoder(type(control), control.version)(control, pieces.append)
        records.append(control_record(_TYPES[type(control)], b"".join(pieces), timestamp_ms))
    return encode_control_batch(records, base_offset, epoch)


def leader_change(leader: NodeId, voters: VoterSet) -> LeaderChangeMessage:
    """Return the record with which a leader begins its epoch; in a quorum of one it votes for
    itself.

    Always version 0, without directory ids: Kafka reads it so, whatever version it states.
    """
    all_voters = [Voter(voter_id=voter) for voter in voters.ids]
    return LeaderChangeMessage(
        version=0,
        leader_id=leader,
        voters=all_voters,
        granting_voters=[voter for voter in all_voters if voter.voter_id == leader],
    )


def read_metadata(buffer: Buffer, position: int, header: BatchHeader) -> Iterator[MetadataRecord]:
    """Return the records of a metadata batch. Raises KafkaError(CORRUPT_MESSAGE)."""
    for record in read_records(buffer, position, header):
        try:
            yield decode_record(record.value or b"")
        except DecodeError as error:
            raise _corrupt(record, error) from error


def read_controls(buffer: Buffer, position: int, header: BatchHeader) -> Iterator[Control]:
    """Return the records of a control batch, except unknown ones. KafkaError(CORRUPT_MESSAGE)."""
    for record in read_records(buffer, position, header):
        kind = control_type(record)
        cls = None if kind is None else _CONTROLS.get(kind)
        if cls is None:
            continue
        try:
            value, _ = decoder(cls, value_version(record))(record.value or b"", 0)
        except (DecodeError, LookupError, ValueError) as error:
            raise _corrupt(record, error) from error
        yield value


def _corrupt(record: Record, error: Exception) -> KafkaError:
    reason = f"metadata record at offset {record.offset}: {error}"
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, reason)
