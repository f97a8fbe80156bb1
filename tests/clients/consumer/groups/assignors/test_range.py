"""Range assignor, without racks and with them."""

from random import Random

from trio_kafka.clients.consumer.groups.assignors.range import assign_range
from trio_kafka.clients.consumer.groups.assignors.values import MemberSubscription
from trio_kafka.model import TopicPartition
from trio_kafka.scheduling.chunked_work import whole


def members_of(topics, **racks):
    return [
        MemberSubscription(member_id=name, topics=frozenset(topics), rack=rack)
        for name, rack in racks.items()
    ]


def racks_of(**topics):
    """Racks of replicas: of each topic a text for each partition."""
    return {
        TopicPartition(topic, number): frozenset(racks)
        for topic, partitions in topics.items()
        for number, racks in enumerate(partitions)
    }


def numbers(assignments):
    return {
        member: " ".join(f"{at.topic}{at.partition}" for at in owned)
        for member, owned in assignments.items()
    }


def test_first_members_get_one_partition_more_of_each_topic_and_static_ones_come_first():
    members = [
        MemberSubscription(member_id="a", topics=frozenset("xy")),
        MemberSubscription(member_id="b", topics=frozenset("x"), instance_id="z"),
    ]

    assignments = whole(assign_range({"x": 3, "y": 1}, members))

    assert numbers(assignments) == {"b": "x0 x1", "a": "x2 y0"}


def test_member_gets_partitions_with_a_replica_in_its_rack_within_its_range():
    racks = racks_of(x=["c", "b", "a", "c", "b", "a"])

    assignments = whole(assign_range({"x": 6}, members_of("x", u="a", v="b", w="c"), racks))

    assert numbers(assignments) == {"u": "x2 x5", "v": "x1 x4", "w": "x0 x3"}


def test_balance_comes_before_racks():
    racks = racks_of(x=["a", "a", "a", "b"])

    assignments = whole(assign_range({"x": 4}, members_of("x", u="a", v="b"), racks))

    assert numbers(assignments) == {"u": "x0 x1", "v": "x2 x3"}


def test_topics_with_the_same_partitions_keep_the_same_numbers_together_if_racks_allow_it():
    racks = racks_of(x=["b", "a", "a", "b"], y=["b", "a", "ab", "b"])

    assignments = whole(assign_range({"x": 4, "y": 4}, members_of("xy", u="a", v="b"), racks))

    assert numbers(assignments) == {"u": "x1 x2 y1 y2", "v": "x0 x3 y0 y3"}


def test_topics_that_racks_would_part_are_assigned_by_ranges():
    racks = racks_of(x=["b", "a"], y=["a", "b"])

    assignments = whole(assign_range({"x": 2, "y": 2}, members_of("xy", u="a", v="b"), racks))

    assert numbers(assignments) == {"u": "x0 y0", "v": "x1 y1"}


def test_every_partition_has_one_member_and_its_range_has_the_usual_size(seeds):
    for seed in seeds(60, 1000):
        chance = Random(seed)
        counts = {topic: chance.randrange(1, 9) for topic in "xyz"}
        members = [
            MemberSubscription(
                member_id=name,
                topics=frozenset(chance.sample("xyz", chance.randint(1, 3))),
                rack=chance.choice([None, "a", "b", "c"]),
            )
            for name in "uvw"
        ]
        racks = racks_of(
            **{
                t: [chance.sample("abc", chance.randint(0, 3)) for _ in range(n)]
                for t, n in counts.items()
            }
        )

        plain = whole(assign_range(counts, members))
        matched = whole(assign_range(counts, members, racks))

        for topic in counts:
            sizes = [
                sorted(sum(at.topic == topic for at in owned) for owned in result.values())
                for result in (plain, matched)
            ]
            assert sizes[0] == sizes[1]
        owned = [at for result in matched.values() for at in result]
        assert len(owned) == len(set(owned))
        near = [
            sum(member.rack in racks[at] for member in members for at in result[member.member_id])
            for result in (plain, matched)
        ]
        if len(set(counts.values())) == 3:  # else the numbers of topics stay together
            assert near[0] <= near[1]
