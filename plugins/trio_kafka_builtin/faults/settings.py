"""Settings of the plugin `faults`."""

from attrs import frozen

from trio_kafka.plugin import boolean, integer, string


@frozen(kw_only=True)
class FaultSettings:
    """Settings `plugin.faults.<name>`. `trio-kafka start --testing` gives them."""

    path: str = string("/testing/v1", "Path at which it is mounted on the HTTP plane.")
    token_required: bool = boolean(
        True, "Reject requests without the HTTP plane's token, also on loopback."
    )
    seed: str = string("0", "Seed of rules without their own: equal requests get equal faults.")
    most: int = integer(100, "Most rules.", low=1, high=1000)
    most_requests: int = integer(10_000, "Most recorded requests; the oldest go.", low=1)
    max_body_bytes: int = integer(1 << 20, "Largest body of a request.", low=1)
