"""Records of groups: what only stands in them."""

from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.stored.groups.consumer import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
)


def test_no_struct_in_a_tag_is_an_unsigned_nought_as_kafka_writes_it() -> None:
    none = ConsumerGroupMemberMetadataValue(None, None, "c", "h", [], None, 1, None, None)
    some = ConsumerGroupMemberMetadataValue(
        None, None, "c", "h", [], None, 1, None, ClassicMemberMetadata(5)
    )

    assert to_bytes(none, 0)[-4:] == b"\x01\x00\x01\x00"
    for value in (none, some):
        content = to_bytes(value, 0)
        found, end = decoder(ConsumerGroupMemberMetadataValue, 0)(content)
        assert (found, end) == (value, len(content))
