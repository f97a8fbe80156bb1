"""Facts of log directories and of syncs under way."""

from trio_kafka.attributes import frozen


@frozen(kw_only=True)
class SyncFacts:
    """One sync under way. files: names of partitions, or what it syncs; at most 8. age_s: since it
    began.
    """

    directory: str
    files: tuple[str, ...]
    age_s: float


@frozen(kw_only=True)
class DirectoryFacts:
    """One log directory.

    error: why it is offline; empty: it serves. free_bytes, total_bytes: of its file system; None:
    the world has no disk. used_share: 0 to 1; None: unknown. log_bytes: of its replicas; None: not
    computed. waiting: syncs that wait for a thread.
    """

    path: str
    error: str
    free_bytes: int | None
    total_bytes: int | None
    used_share: float | None
    logs: int
    log_bytes: int | None
    syncs: tuple[SyncFacts, ...]
    waiting: int
