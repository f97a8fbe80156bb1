"""Records of groups: what only stands in them."""

from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.stored.groups.consumer import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
)


def test_a_null_struct_in_a_tagged_field_is_written_as_a_zero_byte() -> None:
    none = ConsumerGroupMemberMetadataValue(None, None, "c", "h", [], None, 1, None, None)
    some = ConsumerGroupMemberMetadataValue(
        None, None, "c", "h", [], None, 1, None, ClassicMemberMetadata(5)
    )

    assert to_bytes(none, 0)[-4:] == b"\x01\x00\x01\x00"
    for value in (none, some):
        content = to_bytes(value, 0)
        result, end = decoder(ConsumerGroupMemberMetadataValue, 0)(content)
        assert (result, end) == (value, len(content))
