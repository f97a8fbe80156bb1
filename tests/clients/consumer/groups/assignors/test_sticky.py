"""Sticky assignors: complete, balanced, and moving no more than balance needs."""

from random import Random

from trio_kafka.clients.consumer.groups.assignors.sticky import assign_cooperative, assign_sticky
from trio_kafka.clients.consumer.groups.assignors.values import MemberSubscription
from trio_kafka.scheduling.chunked_work import step, whole


def group_of(names, assignments, generation, topics=("a", "b")):
    return [
        MemberSubscription(
            member_id=name,
            topics=frozenset(topics),
            owned=tuple(assignments.get(name, ())),
            generation=generation,
        )
        for name in names
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
