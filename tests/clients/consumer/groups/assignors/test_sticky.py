"""Sticky assignors: complete, balanced, and moving no more than balance needs."""

from random import Random

from attrs import evolve

from trio_kafka.clients.consumer.groups.assignors.sticky import assign_cooperative, assign_sticky
from trio_kafka.clients.consumer.groups.assignors.values import MemberSubscription
from trio_kafka.model import TopicPartition
from trio_kafka.scheduling.chunked_work import step, whole


def group_of(names, assignments, generation, topics=("a", "b"), racks=None):
    return [
        MemberSubscription(
            member_id=name,
            topics=frozenset(topics),
            owned=tuple(assignments.get(name, ())),
            generation=generation,
            rack=rack,
        )
        for name, rack in zip(names, racks or [None] * len(names), strict=True)
    ]


def racks_of(topic, racks):
    return {TopicPartition(topic, number): frozenset(rack) for number, rack in enumerate(racks)}


def members_with(members, assignments):
    return [
        evolve(member, owned=tuple(assignments[member.member_id]), generation=1)
        for member in members
    ]


def test_each_partition_has_one_member_and_loads_differ_by_one_at_most(seeds):
    for seed in seeds(100, 2000):
        chance = Random(seed)
        assignments = {}
        for generation in range(6):
            counts = {"a": chance.randrange(9), "b": chance.randrange(1, 9)}
            names = chance.sample("uvwxyz", chance.randrange(1, 6))
            members = group_of(names, assignments, generation)
            before, assignments = assignments, whole(assign_sticky(counts, members))
            partitions = [at for owned in assignments.values() for at in owned]
            assert len(partitions) == len(set(partitions)) == sum(counts.values())
            sizes = [len(owned) for owned in assignments.values()]
            assert max(sizes) - min(sizes) <= 1
            for name in names:
                kept = {at for at in before.get(name, ()) if at.partition < counts[at.topic]}
                stays = len(kept & set(assignments[name]))
                assert stays >= min(len(kept), sum(counts.values()) // len(names))


def test_cooperative_assignor_moves_a_partition_only_after_its_owner_has_given_it_away():
    first = whole(assign_cooperative({"a": 4}, group_of("u", {}, 1, "a")))
    second = whole(assign_cooperative({"a": 4}, group_of("uv", first, 1, "a")))
    third = whole(assign_cooperative({"a": 4}, group_of("uv", second, 2, "a")))

    assert [len(second[name]) for name in "uv"] == [2, 0]
    assert [len(third[name]) for name in "uv"] == [2, 2]


def test_members_with_different_topics_get_what_they_subscribed_to():
    members = [
        MemberSubscription(member_id="u", topics=frozenset("a")),
        MemberSubscription(member_id="v", topics=frozenset("ab")),
    ]

    assignments = whole(assign_sticky({"a": 4, "b": 2}, members))

    assert {at.topic for at in assignments["u"]} == {"a"}
    assert [len(assignments[name]) for name in "uv"] == [3, 3]


def test_different_subscriptions_of_many_partitions_are_balanced_in_short_steps():
    """A step looks at the loads of some thousand members; there are no turns of many ms."""
    topics = [f"t{number}" for number in range(50)]
    members = [
        MemberSubscription(member_id=f"m{number:03}", topics=frozenset(topics[number % 7 :]))
        for number in range(100)
    ]
    steps, count = assign_sticky(dict.fromkeys(topics, 40), members), 0

    while (result := step(steps)) is None:
        count += 1

    sizes = sorted(len(owned) for owned in result.value.values())
    assert sum(sizes) == 2000
    assert sizes[-1] - sizes[0] <= 1
    assert count >= 2000 * len(members) // 5000


def test_member_gets_and_keeps_what_is_near_as_far_as_balance_allows():
    members = group_of("uvw", {}, 1, "a", racks="xyz")
    racks = racks_of("a", "zyxzyx")

    first = whole(assign_sticky({"a": 6}, members, racks))
    again = whole(assign_sticky({"a": 6}, group_of("uvw", first, 2, "a", racks="xyz"), racks))

    assert {name: [at.partition for at in owned] for name, owned in first.items()} == {
        "u": [2, 5],
        "v": [1, 4],
        "w": [0, 3],
    }
    assert again == first


def test_partition_that_has_moved_to_another_rack_goes_to_a_member_there():
    first = whole(assign_sticky({"a": 2}, group_of("uv", {}, 1, "a", "xy"), racks_of("a", "xy")))
    again = whole(assign_sticky({"a": 2}, group_of("uv", first, 2, "a", "xy"), racks_of("a", "yx")))

    assert [at.partition for at in first["u"]] == [0]
    assert [at.partition for at in again["u"]] == [1]


def test_racks_that_would_leave_a_member_without_partitions_are_left_out():
    members = [
        MemberSubscription(member_id=name, topics=frozenset(topics), rack=rack)
        for name, topics, rack in [("u", "ab", "y"), ("v", "b", "y"), ("w", "a", "x")]
    ]

    assignments = whole(assign_sticky({"a": 2, "b": 1}, members, racks_of("a", "xx")))

    assert {name: len(owned) for name, owned in assignments.items()} == {"u": 1, "v": 1, "w": 1}


def test_racks_change_neither_completeness_nor_balance(seeds):
    for seed in seeds(100, 2000):
        chance = Random(seed)
        counts = {"a": chance.randrange(1, 9), "b": chance.randrange(1, 9)}
        names = chance.sample("uvwxyz", chance.randrange(1, 6))
        members = [
            MemberSubscription(
                member_id=name,
                topics=frozenset(chance.choice(["ab", "ab", "a"])) | {"a"},
                rack=chance.choice([None, "x", "y", "z"]),
            )
            for name in names
        ]
        racks = {
            TopicPartition(topic, number): frozenset(chance.sample("xyz", chance.randint(0, 3)))
            for topic, count in counts.items()
            for number in range(count)
        }

        plain = whole(assign_sticky(counts, members))
        matched = whole(assign_sticky(counts, members, racks))

        assert sorted(map(len, matched.values())) == sorted(map(len, plain.values()))
        assert sorted(at for owned in matched.values() for at in owned) == sorted(
            at for owned in plain.values() for at in owned
        )
        for member in members:
            assert {at.topic for at in matched[member.member_id]} <= member.topics
        settled = members_with(members, matched)
        assert {n: set(o) for n, o in whole(assign_sticky(counts, settled)).items()} == {
            n: set(o) for n, o in matched.items()
        }
