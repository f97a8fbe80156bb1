"""Requests of clients, as values."""

import pytest

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


@pytest.mark.parametrize("letter", ["c", "\U0001f600"])
def test_new_member_id_of_a_long_name_is_cut_so_that_it_fits_into_records(letter: str) -> None:
    member_id = joining(letter * 32_767).new_member_id

    assert member_id.endswith(f"{letter}-0123")
    assert len(member_id.encode()) <= 32_767


def test_refused_join_has_no_generation_leader_or_members() -> None:
    refused = JoinAnswer(member_id="m", error=ErrorCode.UNKNOWN_MEMBER_ID)

    assert (refused.generation, refused.leader, refused.members) == (-1, "", ())
