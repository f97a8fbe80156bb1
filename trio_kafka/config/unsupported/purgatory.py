"""Settings of purged purgatories; here a completed request leaves its purgatory at once."""

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import int32


@frozen(kw_only=True)
class PurgatorySettings:
    """Settings of purged purgatories; here a completed request leaves at once."""

    delete_records_purgatory_purge_interval_requests: int = int32(
        1, "After how many requests the purgatory of DeleteRecords is swept."
    )
    fetch_purgatory_purge_interval_requests: int = int32(
        1000, "After how many requests the purgatory of Fetch is swept."
    )
    producer_purgatory_purge_interval_requests: int = int32(
        1000, "After how many requests the purgatory of Produce is swept."
    )
    share_fetch_purgatory_purge_interval_requests: int = int32(
        1000, "After how many requests the purgatory of ShareFetch is swept."
    )
