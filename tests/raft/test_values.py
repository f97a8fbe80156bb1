"""Values of the Raft machine."""

from trio_kafka.raft.values import Election, FetchResponse, Role, Timeouts


def test_new_election_has_epoch_0_and_no_leader_and_no_vote() -> None:
    assert Election() == Election(0, -1, -1)  # type: ignore[arg-type]


def test_fetch_response_is_not_refused_by_default() -> None:
    assert not FetchResponse(1, 1, 1).refused  # type: ignore[arg-type]
    assert Timeouts().fetch_s > Timeouts().election_s
    assert {role.value for role in Role} >= {"prospective", "resigned"}
