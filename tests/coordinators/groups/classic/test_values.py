"""Requests of clients, as values."""

from trio_kafka.coordinators.groups.classic.values import GroupProtocol, Join, JoinAnswer
from trio_kafka.errors import ErrorCode


def joining(instance_id: str | None) -> Join:
    return Join(
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


def test_new_member_id_begins_with_the_client_id_or_instance_id() -> None:
    assert joining(None).new_member_id == "app-0123"
    assert joining("i").new_member_id == "i-0123"


def test_refused_join_has_no_generation_leader_or_members() -> None:
    refused = JoinAnswer(member_id="m", error=ErrorCode.UNKNOWN_MEMBER_ID)

    assert (refused.generation, refused.leader, refused.members) == (-1, "", ())
