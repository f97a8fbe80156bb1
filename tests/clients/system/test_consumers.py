"""Kafka's system tests of consumers (kafkatest.tests.client.consumer_test), by verifiable clients.

The same assertions hold for our clients and for Java's, at the broker that `--against` names.
"""

import pytest

from tests.clients.system.conftest import Starts
from tests.clients.system.verifiable import JAVA, OURS, Group, Member, Program
from tests.e2e.clients import new_topic
from tests.installed import need_or_skip
from trio_kafka.model import TopicPartition
from trio_kafka.testing.processes import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PARTITIONS = 4
RANGE = "org.apache.kafka.clients.consumer.RangeAssignor"
ROUND_ROBIN = "org.apache.kafka.clients.consumer.RoundRobinAssignor"
PROTOCOLS = ["classic", "consumer"]
LONG = pytest.mark.long
KINDS = [OURS, pytest.param(JAVA, marks=LONG)]
ENDS = [pytest.param(True, id="clean"), pytest.param(False, id="hard")]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    if request.param == JAVA:
        need_or_skip("java")
    return request.param


def topic_of(broker: BrokerProcess) -> tuple[str, set[TopicPartition]]:
    topic = new_topic(broker, PARTITIONS)
    return topic, {TopicPartition(topic, number) for number in range(PARTITIONS)}


def wait_read(group: Group, count: int) -> None:
    """Wait until the members have read so many records together."""
    for member in group.members:
        if not member.now.has_ended:
            member.now.wait_until(lambda: group.total() >= count, f"want {count} records")
            return


def acknowledged(producer: Program, count: int) -> None:
    producer.wait_until(
        lambda: len(producer.all("producer_send_success")) >= count, f"want {count} acknowledged"
    )


def check_all_read(group: Group, producer: Program) -> None:
    """Check that every acknowledged record was read, and its commit is not beyond it."""
    ends: dict[TopicPartition, int] = {}
    for event in producer.all("producer_send_success"):
        at = TopicPartition(event["topic"], event["partition"])
        ends[at] = max(ends.get(at, 0), event["offset"] + 1)
    assert group.positions() == ends
    positions, commits = group.positions(), group.commits()
    assert all(commits[at] <= positions[at] for at in commits)


@pytest.mark.parametrize("is_clean", ENDS)
@pytest.mark.parametrize("protocol", ["consumer", pytest.param("classic", marks=LONG)])
def test_members_that_are_bounced_lose_nothing_and_read_twice_only_after_a_kill(
    quick_broker: BrokerProcess, starts: Starts, protocol: str, is_clean: bool
) -> None:
    topic, partitions = topic_of(quick_broker)
    group = Group([starts.member(quick_broker, topic, protocol) for _ in range(2)])
    group.wait_shared(partitions)
    producer = starts.producer(quick_broker, topic, "--throughput", "200")
    wait_read(group, 50)

    bounced = group.members[1]
    bounced.now.end(is_clean=is_clean)
    if is_clean:
        assert bounced.now.events[-1]["name"] == "shutdown_complete"
        assert places_given_up(bounced) == places_taken(bounced)
    bounced.begin()
    group.wait_shared(partitions)
    count = group.total()
    wait_read(group, count + 50)
    producer.end()
    sent = len(producer.all("producer_send_success"))
    group.members[0].now.wait_until(
        lambda: sum(group.positions().values()) >= sent, "the rest is not read"
    )
    for member in group.members:
        member.now.end()

    assert producer.all("producer_send_error") == []
    check_all_read(group, producer)
    if is_clean:
        assert group.total() == sent
        assert group.commits() == group.positions()
    else:
        assert group.total() >= sent


def places_taken(member: Member) -> list[object]:
    rows = (event["partitions"] for event in member.events("partitions_assigned"))
    return sorted(row["partition"] for part in rows for row in part)


def places_given_up(member: Member) -> list[object]:
    rows = (event["partitions"] for event in member.events("partitions_revoked"))
    return sorted(row["partition"] for part in rows for row in part)


@LONG
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_static_member_that_is_bounced_gets_its_partitions_again(
    quick_broker: BrokerProcess, starts: Starts, protocol: str
) -> None:
    topic, partitions = topic_of(quick_broker)
    names = ["static-0", "static-1"]
    group = Group(
        [
            starts.member(quick_broker, topic, protocol, "--group-instance-id", name)
            for name in names
        ]
    )
    group.wait_shared(partitions)
    steady, bounced = group.members
    before = bounced.assignment
    rebalances = steady.rebalances

    bounced.now.end()
    bounced.begin()
    group.wait_shared(partitions)

    assert bounced.assignment == before
    assert steady.rebalances == rebalances


@LONG
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_second_member_with_an_instance_id_in_use_fences_or_is_rejected(
    quick_broker: BrokerProcess, starts: Starts, protocol: str
) -> None:
    """By the classic protocol the newer member takes over; by KIP-848 it is rejected."""
    topic, partitions = topic_of(quick_broker)
    static = ["--group-instance-id", "static"]
    group = Group([starts.member(quick_broker, topic, protocol, *static)])
    group.wait_shared(partitions)
    first = group.members[0]

    second = starts.member(quick_broker, topic, protocol, *static)
    loser, winner = (first, second) if protocol == "classic" else (second, first)
    loser.now.join()

    winner.now.wait_until(lambda: winner.assignment == partitions, "the winner has no partitions")
    assert loser.now.has_ended
    assert not winner.now.has_ended


@LONG
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_members_that_come_and_go_share_all_partitions_each_time(
    quick_broker: BrokerProcess, starts: Starts, protocol: str
) -> None:
    topic, partitions = topic_of(quick_broker)
    group = Group([starts.member(quick_broker, topic, protocol)])
    group.wait_shared(partitions)
    for _ in range(2):
        group.members = [*group.members, starts.member(quick_broker, topic, protocol)]
        group.wait_shared(partitions)
    for member in group.members[:2]:
        member.now.end()
        group.wait_shared(partitions)


@LONG
def test_group_changes_its_assignor_when_its_last_member_has_restarted(
    quick_broker: BrokerProcess, starts: Starts
) -> None:
    """Source: kafkatest.tests.client.consumer_rolling_upgrade_test."""
    topic, partitions = topic_of(quick_broker)
    strategy = "--assignment-strategy"
    group = Group(
        [starts.member(quick_broker, topic, "classic", strategy, RANGE) for _ in range(2)]
    )
    group.wait_shared(partitions)
    shares = [shares_of(group)]
    for member in group.members:
        member.options = [strategy, f"{ROUND_ROBIN},{RANGE}"]
        member.now.end()
        member.begin()
        group.wait_shared(partitions)
        shares.append(shares_of(group))

    by_range = [[0, 1], [2, 3]]
    assert shares == [by_range, by_range, [[0, 2], [1, 3]]]


def shares_of(group: Group) -> list[list[int]]:
    """Return the partitions of each member, in order."""
    return sorted(sorted(at.partition for at in member.assignment) for member in group.members)


@LONG
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_compressed_records_are_read(
    quick_broker: BrokerProcess, starts: Starts, codec: str
) -> None:
    topic, partitions = topic_of(quick_broker)
    file = starts.log.with_name("producer.properties")
    file.write_text(f"compression.type={codec}\nlinger.ms=20\n")
    group = Group([starts.member(quick_broker, topic, "consumer", "--verbose")])
    group.wait_shared(partitions)
    options = ["--max-messages", "500", "--repeating-keys", "7", "--producer.config", str(file)]

    producer = starts.producer(quick_broker, topic, *options)
    acknowledged(producer, 500)
    wait_read(group, 500)
    group.members[0].now.end()
    if not producer.has_ended:
        producer.end()

    values = [int(event["value"]) for event in group.members[0].events("record_data")]
    assert sorted(values) == list(range(500))
    check_all_read(group, producer)
