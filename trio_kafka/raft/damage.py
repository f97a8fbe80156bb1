"""Damage check of the metadata log: recovery by truncation must not remove committed metadata.

A tail torn by a power loss was never committed and may be removed. Any other damage stops the
start; the error names the place and the remedies.
"""

from trio_kafka.attributes import frozen
from trio_kafka.errors import LogDirError
from trio_kafka.log.files.checkpoints import RECOVERY_POINTS
from trio_kafka.log.recovery.damage import Damage
from trio_kafka.raft.format import METADATA_PARTITION


@frozen
class MetadataJudge:
    """Judge of damage in the metadata log.

    durable: all records below this offset were synced, according to the recovery point.
    """

    root: str
    durable: int

    def judge(self, damage: Damage) -> None:
        """Raise LogDirError if truncation would remove more than a torn tail."""
        torn = damage.lost or (damage.whole_at is None and not damage.later)
        if torn and damage.offset >= self.durable:
            return
        if damage.whole_at is not None:
            behind = f"whole batches follow at position {damage.whole_at}"
        elif damage.later:
            behind = "later segments follow"
        else:
            behind = f"offsets up to {self.durable - 1} were durable"
        raise LogDirError(
            self.root,
            f"{damage.path} is damaged: found no batch at position {damage.position}, want the one"
            f" with offset {damage.offset}, because {behind}. Restore {METADATA_PARTITION} from a"
            " backup. Or give up all metadata from there on:"
            f" truncate -s {damage.position} {damage.path}, and remove all later .log files there"
            f" and {self.root}/{RECOVERY_POINTS}",
        )

    def check_end(self, end: int) -> None:
        """Raise LogDirError if log and newest snapshot end below the durable offset."""
        if end < self.durable:
            raise LogDirError(
                self.root,
                f"{METADATA_PARTITION} ends at offset {end}, want {self.durable} or more: records"
                f" that were durable are missing. Restore {METADATA_PARTITION} from a backup. Or"
                f" give up the missing metadata: remove {self.root}/{RECOVERY_POINTS}",
            )
