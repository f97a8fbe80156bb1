"""Values of the Raft machine."""

from trio_kafka.raft.values import Election, FetchResponse, Role, Timeouts


def test_elections_are_compared_by_value_and_begin_with_nobody() -> None:
    assert Election() == Election(0, -1, -1)  # type: ignore[arg-type]


def test_an_answer_to_a_fetch_is_a_sign_of_life_unless_it_refuses() -> None:
    assert not FetchResponse(1, 1, 1).refused  # type: ignore[arg-type]
    assert Timeouts().fetch_s > Timeouts().election_s
    assert {role.value for role in Role} >= {"prospective", "resigned"}
