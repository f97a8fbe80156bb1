"""Words for the hops of a request."""

from trio_kafka.introspect.snapshots import HOPS
from trio_kafka_admin.hop_words import HOP_WORDS


def test_every_hop_has_its_words() -> None:
    assert tuple(HOP_WORDS) == HOPS
