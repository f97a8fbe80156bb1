"""History of a group: rebalances and changes of members, bounded."""

from trio_kafka.coordinators.groups.history import CHANGES, REBALANCES, GroupHistory


def test_history_keeps_the_newest_rebalances() -> None:
    history = GroupHistory()

    for number in range(3 * REBALANCES):
        history.add_rebalance(1000 + number, number, f"cause {number}", client_id="shop")

    kept = range(2 * REBALANCES, 3 * REBALANCES)
    assert [rebalance.generation for rebalance in history.rebalances] == list(kept)
    assert history.rebalances[-1].cause == f"cause {kept[-1]}"
    assert history.rebalances[-1].at_ms == 1000 + kept[-1]
    assert history.rebalances[-1].client_id == "shop"


def test_history_keeps_the_newest_changes_of_members() -> None:
    history = GroupHistory()

    for number in range(CHANGES + 3):
        history.add_change(number, "shop", "joined" if number % 2 else "left")

    assert [change.at_ms for change in history.changes] == list(range(3, CHANGES + 3))
    assert {change.kind for change in history.changes if change.at_ms % 2} == {"joined"}


def test_history_bounds_the_texts_that_clients_choose() -> None:
    history = GroupHistory()

    history.add_change(1, "x" * 30_000, "joined")
    history.add_rebalance(1, 1, "y" * 30_000, client_id="x" * 30_000)

    (change,), (rebalance,) = history.changes, history.rebalances
    assert len(change.client_id) == len(rebalance.client_id) == 255
    assert change.client_id.endswith("x…")
    assert len(rebalance.cause) == 1000


def test_histories_of_two_groups_are_apart() -> None:
    first, second = GroupHistory(), GroupHistory()

    first.add_change(1, "shop", "joined")

    assert second.changes == ()
