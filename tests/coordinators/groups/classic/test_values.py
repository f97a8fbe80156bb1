"""What clients ask, as values."""

from trio_kafka.coordinators.groups.classic.values import GroupProtocol, Joined, Joining
from trio_kafka.errors import ErrorCode


def joining(instance_id: str | None) -> Joining:
    return Joining(
        member_id="",
        instance_id=instance_id,
        client_id="app",
        client_host="/10.0.0.1",
        session_timeout_ms=1,
        rebalance_timeout_ms=1,
        protocol_type="consumer",
        protocols=(GroupProtocol("range", b""),),
        fresh="0123",
    )


def test_a_new_member_is_named_after_its_client_or_its_instance() -> None:
    assert joining(None).new_member_id == "app-0123"
    assert joining("i").new_member_id == "i-0123"


def test_a_refused_join_is_of_no_generation() -> None:
    refused = Joined(member_id="m", error=ErrorCode.UNKNOWN_MEMBER_ID)

    assert (refused.generation, refused.leader, refused.members) == (-1, "", ())
