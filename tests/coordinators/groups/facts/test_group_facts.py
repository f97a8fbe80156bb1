"""Facts of a group: state, lag by member, rebalances with their cause, joins and leaves."""

from tests.coordinators.groups.classic.kit import DELAY_MS, ClassicKit
from tests.coordinators.groups.consumer.classic import Member
from tests.coordinators.groups.consumer.kit import SESSION_MS, Scene
from tests.coordinators.groups.facts.kit import facts_of, view_of
from tests.coordinators.groups.facts.test_classic_members import ASSIGNMENT
from tests.coordinators.groups.test_commits import driver, store, topic_offsets
from trio_kafka.coordinators.groups.facts.group_facts import WINDOW_S, group_facts
from trio_kafka.introspect.facts.groups import PartitionLag
from trio_kafka.scheduling.chunked_work import step, whole

MINUTE_MS = 60_000


def test_classic_group_says_for_how_long_it_has_been_in_its_state() -> None:
    kit = ClassicKit()
    kit.stable(session_ms=300_000)
    kit.wait(7000)

    facts = facts_of(kit.driver)

    assert (facts.group_id, facts.type, facts.state, facts.state_s) == ("g", "classic", "Stable", 7)
    assert (facts.epoch, facts.protocol) == (1, "range")
    assert len(facts.members) == 2


def test_consumer_group_says_for_how_long_it_has_been_reconciling() -> None:
    scene = Scene({"a": 4})
    scene.join("m1", "a")
    stable = facts_of(scene.driver)
    scene.join("m2", "a")
    scene.wait(3000)
    moving = facts_of(scene.driver)

    assert (stable.type, stable.state, stable.state_s) == ("consumer", "Stable", None)
    assert (moving.state, moving.state_s) == ("Reconciling", 3)
    assert moving.epoch == scene.group.epoch
    assert moving.protocol == "uniform"


def test_consumer_group_says_for_how_long_it_has_been_assigning() -> None:
    scene = Scene({"a": 4}, at_once=False, consumer_assignment_interval_ms=10_000)
    scene.join("m1", "a")
    scene.wait(1000)
    scene.join("m2", "a")
    scene.wait(2000)

    facts = facts_of(scene.driver)

    assert (facts.state, facts.state_s) == ("Assigning", 2)


def test_group_that_only_has_offsets_has_lag_and_no_members() -> None:
    groups = driver()
    store(groups, topic_offsets(3, 0))
    store(groups, topic_offsets(9, 1))
    ends = {0: 10, 1: None}

    facts = facts_of(groups, lambda topic, partition: ends[partition])

    assert (facts.state, facts.state_s, facts.members, facts.lag) == ("Empty", None, (), 7)
    assert facts.partitions == (
        PartitionLag(topic="t", partition=0, offset=3, end=10, lag=7, member_id=None),
        PartitionLag(topic="t", partition=1, offset=9, end=None, lag=None, member_id=None),
    )


def test_lag_names_the_member_that_the_partition_is_assigned_to() -> None:
    kit = ClassicKit()
    member = kit.stable_static("i")
    kit.group.membership[member].assignment = ASSIGNMENT
    for partition in (0, 2):
        kit.driver.machine.offsets.put(*_offset(partition))

    facts = facts_of(kit.driver)

    assert {lag.partition: lag.member_id for lag in facts.partitions} == {0: member, 2: None}


def test_topic_that_the_reader_may_not_see_adds_no_lag() -> None:
    groups = driver()
    store(groups, topic_offsets(3, topic="t"))
    store(groups, topic_offsets(4, topic="secret"))

    facts = facts_of(groups, may_describe=lambda topic: topic == "t")

    assert [lag.topic for lag in facts.partitions] == ["t"]
    assert facts.lag == 7


def test_rebalances_of_a_classic_group_name_cause_and_client_the_newest_first() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable(client="shop")
    kit.wait(1000)
    kit.leave(follower)
    kit.join(leader)
    kit.settle([leader])
    kit.wait(2000)

    rebalances = facts_of(kit.driver).rebalances

    assert [rebalance.cause for rebalance in rebalances] == [
        f"members have left: {follower}",
        f"new member {leader} (not provided)",
    ]
    assert [rebalance.client_id for rebalance in rebalances] == ["shop", "shop"]
    assert [rebalance.epoch for rebalance in rebalances] == [2, 1]
    assert rebalances[0].ago_s == 2.0
    assert rebalances[0].at_ms == kit.driver.now_ms - 2000


def test_rebalance_after_a_session_ended_names_the_client_of_the_member() -> None:
    kit = ClassicKit()
    leader, follower = kit.completing(client="shop")
    kit.settle([leader, follower])
    kit.wait(6000)
    kit.beat(leader)
    kit.wait(5000)

    facts = facts_of(kit.driver)

    assert facts.rebalances[0].cause == f"session of member {follower} expired"
    assert facts.rebalances[0].client_id == "shop"
    assert facts.membership[0].recent[0] == (1.0, "timed out")


def test_rebalances_of_a_consumer_group_name_cause_and_client() -> None:
    scene = Scene({"a": 2, "b": 1})
    scene.join("m1", "a", client_id="shop")
    scene.join("m2", "a", client_id="mail")
    scene.beat("m1", client_id="shop")
    scene.beat("m1", topics=["a", "b"], client_id="shop")
    scene.create(a=3)
    scene.beat("m1", client_id="shop")
    scene.leave("m2", client_id="mail")
    scene.wait(SESSION_MS)

    rebalances = facts_of(scene.driver).rebalances

    assert [(rebalance.cause, rebalance.client_id) for rebalance in rebalances] == [
        ("member m1 was removed: it did not revoke its partitions in time", "shop"),
        ("members have left: m2", "mail"),
        ("topics that the group reads have changed", ""),
        ("member m1 has changed its subscription", "shop"),
        ("new member m2", "mail"),
        ("new member m1", "shop"),
    ]
    assert rebalances[0].epoch == scene.group.epoch


def test_client_in_a_crash_loop_is_seen_by_its_joins_and_leaves() -> None:
    kit = ClassicKit()
    kit.stable_static("i", client="steady", session_ms=300_000)
    steady = next(iter(kit.group.membership.by_id))
    for _ in range(3):
        join_of_member = kit.join(kit.new_id(client="crashing"), client="crashing")
        kit.leave(next(reversed(kit.group.membership.by_id)))
        kit.join(steady, instance="i", client="steady", session_ms=300_000)
        kit.settle([steady])
        kit.wait(1000)

    crashing, calm = facts_of(kit.driver).membership

    assert not join_of_member.waits
    assert (crashing.client_id, crashing.joins, crashing.leaves) == ("crashing", 3, 3)
    assert crashing.recent[:3] == ((1.0, "left"), (1.0, "joined"), (2.0, "left"))
    assert (calm.client_id, calm.joins, calm.leaves) == ("steady", 1, 0)


def test_joins_and_leaves_of_a_consumer_group_are_counted_once_for_each_member() -> None:
    scene = Scene({"a": 2})
    scene.join("m0", "a", client_id="steady")
    for number in range(2):
        scene.join(f"m{number + 1}", "a", client_id="crashing")
        scene.join(f"m{number + 1}", "a", client_id="crashing")  # its answer was lost
        scene.leave(f"m{number + 1}", client_id="crashing")

    crashing, steady = facts_of(scene.driver).membership

    assert (crashing.client_id, crashing.joins, crashing.leaves) == ("crashing", 2, 2)
    assert (steady.client_id, steady.joins, steady.leaves) == ("steady", 1, 0)


def test_member_that_is_fenced_is_counted_as_timed_out() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    scene.wait(SESSION_MS + 1000)

    (client,) = facts_of(scene.driver).membership

    assert client.recent == ((1.0, "timed out"), (46.0, "joined"))
    assert client.leaves == 1


def test_static_member_that_leaves_for_a_while_and_comes_back_is_counted() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a", instance_id="i")
    scene.leave("m1", epoch=-2, instance_id="i")
    scene.join("m2", "a", instance_id="i")

    (client,) = facts_of(scene.driver).membership

    assert [kind for _, kind in client.recent] == ["joined", "left", "joined"]


def test_classic_member_of_a_consumer_group_is_counted_and_owes_to_rejoin() -> None:
    scene = Scene({"a": 4})
    scene.join("m1", "a")
    classic = Member(scene, ["a"])
    classic.join(client_id="old", asks_for_id=False)
    scene.wait(2000)

    facts = facts_of(scene.driver)

    assert facts.membership[0].client_id == "old"
    assert facts.membership[0].joins == 1
    assert facts.members[1].owes == "has not asked for its assignment for 2 s"


def test_changes_are_forgotten_after_fifteen_minutes() -> None:
    kit = ClassicKit()
    kit.stable(session_ms=3_600_000)
    kit.wait(round(WINDOW_S * 1000) - 2 * DELAY_MS)
    recent = facts_of(kit.driver).membership
    kit.wait(2 * DELAY_MS + 1)
    later = facts_of(kit.driver).membership

    assert [client.joins for client in recent] == [2]
    assert later == ()


def test_history_goes_with_the_group_into_the_other_protocol_and_back() -> None:
    scene = Scene({"a": 2})
    classic = Member(scene, ["a"], instance="i")
    ticket = classic.ask_join(client_id="old")
    scene.wait(DELAY_MS)
    classic.member_id = classic.answer(ticket).member_id
    before = facts_of(scene.driver).membership[0].joins
    scene.join("m1", "a", client_id="new")
    upgraded = facts_of(scene.driver)
    scene.leave("m1", client_id="new")
    downgraded = facts_of(scene.driver)

    assert [facts.type for facts in (upgraded, downgraded)] == ["consumer", "classic"]
    assert before == 1
    assert {client.client_id for client in upgraded.membership} == {"old", "new"}
    assert {client.client_id: client.leaves for client in downgraded.membership} == {
        "old": 0,
        "new": 1,
    }


def test_group_that_is_gone_has_no_facts() -> None:
    groups = driver()

    assert whole(group_facts(groups.machine, "g", view_of(groups), lambda *_: 0)) is None


def test_group_that_is_deleted_while_it_is_read_has_no_facts() -> None:
    kit = ClassicKit()
    kit.stable(100)
    steps = group_facts(kit.driver.machine, "g", view_of(kit.driver), lambda *_: 0)
    assert step(steps) is None
    del kit.driver.machine.by_id["g"]

    assert whole(steps) is None


def test_histories_of_consumer_groups_that_are_gone_are_dropped() -> None:
    scene = Scene({"a": 2})
    state = scene.state

    for number in range(1000):
        state.history_of(f"gone {number}").add_change(1, "shop", "joined")

    assert len(state.histories) < 100


def _offset(partition: int) -> tuple[object, object]:
    groups = driver()
    store(groups, topic_offsets(3, partition))
    record = groups.records[-1]
    return record.key, record.value
