"""Kafka's names."""

from trio_kafka.config.unsupported import tables
from trio_kafka.quotas import keys


def test_the_keys_are_kafkas() -> None:
    known = {name for one in tables() if one.title.startswith("Quotas") for name in one.names}
    ours = {value for name, value in vars(keys).items() if name.endswith(("_RATE", "_PERCENTAGE"))}
    assert ours == known
