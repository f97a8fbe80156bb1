"""Groups of our members beside those of Java, librdkafka and aiokafka, through rolling restarts.

Every record is processed, no committed offset goes back, and no partition has two members at once.
The long form has Apache Kafka as broker, too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from time import monotonic

import pytest
from attrs import define, field
from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.benchmarks.brokers import apache_kafka_command
from tests.clients.catalogue import CLIENTS, REFERENCE, Client
from tests.clients.churn import PARTITIONS, Producing
from tests.clients.cluster import Cluster
from tests.clients.conftest import QUICK_MEMBERS
from tests.clients.driver import Driver
from tests.clients.members import Group, Member, check_owners, check_processed
from tests.installed import skipped_if_missing
from tests.lanes import sampled
from trio_kafka.testing.processes import BrokerProcess, Command, broker_process, trio_kafka_command

# Programs are built at their first use; a member that dies is missed after three seconds.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

Size = Callable[[int, int], int]
SHARED_S = 120.0
BROKERS = {"trio-kafka": trio_kafka_command, "apache-kafka": apache_kafka_command}
COMPANIES = {  # protocol, assignor and the clients beside ours
    "range": ("classic", "range", ["java", "confluent", "aiokafka"]),
    "sticky": ("classic", "sticky", ["java", "aiokafka"]),
    "cooperative-sticky": ("classic", "cooperative-sticky", ["java", "confluent"]),
    "consumer": ("consumer", "range", ["java", "confluent"]),
}
LONG = {"range", "sticky"}  # `test_groups.py` has all clients with the range assignor


@pytest.fixture(scope="module", params=sampled(BROKERS, lambda name: name == "trio-kafka"))
def mixed_broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerProcess]:
    """A broker that soon misses members of both protocols."""
    command: Command = BROKERS[request.param]
    with broker_process(
        tmp_path_factory.mktemp("mixed"), *QUICK_MEMBERS, command=command
    ) as broker:
        yield broker


@define
class Commits:
    """Committed offsets of a group, as an observer sees them again and again.

    looks: how often. backwards: each time that an offset was below the one before.
    """

    bootstrap: str
    group: str
    topic: str
    looks: int = 0
    backwards: list[str] = field(factory=list)
    _ends: Event = field(factory=Event)

    def watch(self) -> None:
        """Look until `stop`."""
        observer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": self.group})
        partitions = [TopicPartition(self.topic, number) for number in range(PARTITIONS)]
        last = dict.fromkeys(range(PARTITIONS), -1)
        try:
            while not self._ends.wait(0.05):
                try:
                    rows = observer.committed(partitions, timeout=10)
                except KafkaException:
                    continue
                self.looks += 1
                for row in rows:
                    offset = max(row.offset, -1)
                    if offset < last[row.partition]:
                        self.backwards.append(f"{row.partition}: {last[row.partition]}, {offset}")
                    last[row.partition] = offset
        finally:
            observer.close()

    def stop(self) -> None:
        self._ends.set()


@contextmanager
def watched(bootstrap: str, group: str, topic: str) -> Iterator[None]:
    """Watch the commits of a group. AssertionError at the end if one went back."""
    commits = Commits(bootstrap, group, topic)
    thread = Thread(target=commits.watch)
    thread.start()
    try:
        yield
    finally:
        commits.stop()
        thread.join()
    assert commits.looks > 0
    assert commits.backwards == []


@pytest.mark.parametrize("company", sampled(COMPANIES, lambda name: name not in LONG))
def test_every_record_is_processed_while_members_of_several_clients_are_restarted_in_turn(
    mixed_broker: BrokerProcess,
    company: str,
    drivers: Callable[[Client], Driver],
    tmp_path: Path,
    size: Size,
) -> None:
    protocol, assignor, others = COMPANIES[company]
    cluster = Cluster(
        bootstrap=mixed_broker.bootstrap,
        client=REFERENCE,
        driver=lambda _: drivers(REFERENCE),
        reference=lambda: drivers(REFERENCE),
        directory=tmp_path,
    )
    topic = cluster.new_topic(PARTITIONS)
    producing = Producing(cluster, topic, size(10, 100))
    clients = [CLIENTS["trio_kafka"], *(CLIENTS[name] for name in others)]
    with (
        skipped_if_missing(),
        Group(mixed_broker.bootstrap, topic, tmp_path, protocol, assignor=assignor) as group,
        watched(mixed_broker.bootstrap, group.name, topic),
    ):
        members = [group.add(client) for client in clients]
        wait_shared(group, members, producing)
        for turn in range(size(1, 3)):
            for number, client in enumerate(clients):
                if turn == number % 3:
                    members[number].kill()
                else:
                    members[number].leave()
                producing.some_more()
                members[number] = group.add(client)
                wait_shared(group, members, producing)
        for member in members:
            member.leave()
        assert check_owners(group) >= PARTITIONS * 2
        check_processed(group, producing.file)


def wait_shared(group: Group, members: list[Member], producing: Producing) -> None:
    """Write until each member reads something."""
    before = {member.file: member.file.stat().st_size for member in members}
    deadline = monotonic() + SHARED_S
    while any(file.stat().st_size == size for file, size in before.items()):
        assert monotonic() < deadline, f"not all members of {group.name} read"
        producing.some_more()
        group.wait_processed(producing.count)
