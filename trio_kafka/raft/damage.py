"""When a metadata log must not be recovered by cutting it: the cluster's topics would be gone.

A tail that a power loss has torn was never committed, and goes. Anything else is damage to what was
committed: the broker does not start, and says where the damage is and what to do.
"""

from trio_kafka.attributes import frozen
from trio_kafka.errors import LogDirError
from trio_kafka.log.files.checkpoints import RECOVERY_POINTS
from trio_kafka.log.recovery.damage import Damage
from trio_kafka.raft.format import METADATA_PARTITION


@frozen
class MetadataJudge:
    """durable: all records below this offset were synced, as the recovery point says."""

    root: str
    durable: int

    def judge(self, damage: Damage) -> None:
        """Raises LogDirError where more than a torn tail would be cut."""
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
            f" with offset {damage.offset}, as {behind}. Restore {METADATA_PARTITION} from a"
            " backup. Or give up all metadata from there on:"
            f" truncate -s {damage.position} {damage.path}, and remove all later .log files there"
            f" and {self.root}/{RECOVERY_POINTS}",
        )

    def check_end(self, end: int) -> None:
        """Raises LogDirError if the log, or its newest snapshot, ends below what was durable."""
        if end < self.durable:
            raise LogDirError(
                self.root,
                f"{METADATA_PARTITION} ends at offset {end}, want {self.durable} or more: records"
                f" that were durable are missing. Restore {METADATA_PARTITION} from a backup. Or"
                f" give up the missing metadata: remove {self.root}/{RECOVERY_POINTS}",
            )
