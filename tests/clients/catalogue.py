"""The clients of the matrix: how each is started, and what it has no means for."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from attrs import field, frozen

from tests.clients.build import APACHE_KAFKA, built, class_path, need, run

Command = list[str | Path]

STEPS: Final = frozenset(
    {
        "create_topic",
        "create_partitions",
        "delete_topic",
        "list_topics",
        "describe_topic",
        "describe_cluster",
        "describe_configs",
        "alter_configs",
        "produce",
        "read",
        "offsets",
        "subscribe",
    }
)


@frozen(kw_only=True)
class Client:
    """A client; another one takes the steps that it lacks, with the reason as value.

    title: for people; its version stands in the lock of that name.
    """

    name: str
    title: str
    command: Callable[[], Command]
    lacks: Mapping[str, str] = field(factory=dict)
    # Its records are text, every header has a value, and it has no timestamps of its own.
    text: bool = False
    null_headers: bool = True
    nothing: bool = True  # a record with neither key nor value
    partitions: bool = True  # chooses the partition of a record
    quick: bool = True  # not a JVM for each partition, question and offset
    # What it calls the way to assign that a member is to use, the same for those who may share.
    assignor: str = "range"
    consumer_protocol: bool = False  # it can be a member of a group of KIP-848
    new_topics: bool = True  # a member that reads by an expression sees topics that come later
    # The offsets that it can ask for, beside those of a time.
    named_offsets: tuple[str, ...] = ("earliest", "latest", "max_timestamp")

    def can(self, step: str) -> bool:
        return step not in self.lacks


def python(name: str) -> Command:
    return [sys.executable, "-m", f"tests.clients.{name}.program"]


def kcat() -> Command:
    need("kcat")
    return python("kcat")


def console() -> Command:
    class_path("tools")
    return python("console")


def java(*older: str) -> Command:
    """Return the command. older: sets of jars whose classes come before those of Kafka 4.4."""
    need("javac")
    jars = class_path("broker")
    used = os.pathsep.join([*map(class_path, older), jars])

    def build(home: Path) -> None:
        run(["javac", "-cp", jars, "-d", "classes", *sorted(home.glob("*.java"))], home)

    home = built("java", build, APACHE_KAFKA / "pom.xml")
    quiet = [  # and beside the results
        f"-Dlog4j2.configurationFile={APACHE_KAFKA / 'log4j2.yaml'}",
        "-Dlog.level=ERROR",
        "-Dlog.target=SYSTEM_ERR",
    ]
    heap = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return ["java", *heap, *quiet, "-cp", f"{home / 'classes'}{os.pathsep}{used}", "Program"]


def franz_go() -> Command:
    need("go")

    def build(home: Path) -> None:
        run(["go", "build", "-buildvcs=false", "-o", "program", "."], home)

    return [built("franz_go", build) / "program"]


def kafkajs() -> Command:
    need("node", "npm")

    def build(home: Path) -> None:
        run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], home)

    return ["node", built("kafkajs", build) / "program.js"]


NO_ADMIN: Final = "no administration"
CHANGES: Final = (
    "create_topic",
    "create_partitions",
    "delete_topic",
    "describe_cluster",
    "describe_configs",
    "alter_configs",
)
ADMINISTRATION: Final = (*CHANGES, "list_topics", "describe_topic")
BY_THE_CLOCK: Final = "commits are periodic, not after processing"
CLIENTS: Final = {
    client.name: client
    for client in (
        Client(
            name="confluent",
            title="confluent-kafka",
            command=lambda: python("confluent"),
            consumer_protocol=True,
        ),
        Client(
            name="trio_kafka",
            title="trio-kafka's clients",
            command=lambda: python("trio_kafka"),
            lacks=dict.fromkeys(ADMINISTRATION, NO_ADMIN),
            consumer_protocol=True,
            named_offsets=("earliest", "latest"),
        ),
        Client(
            name="aiokafka",
            title="aiokafka",
            command=lambda: python("aiokafka"),
            nothing=False,
            named_offsets=("earliest", "latest"),
        ),
        Client(
            name="kafka_python",
            title="kafka-python",
            command=lambda: python("kafka_python"),
            null_headers=False,
            nothing=False,
        ),
        Client(
            name="kcat",
            title="kcat",
            command=kcat,
            lacks=dict.fromkeys(CHANGES, NO_ADMIN) | {"subscribe": BY_THE_CLOCK},
            text=True,
            named_offsets=("earliest", "latest"),
        ),
        Client(
            name="console",
            title="Kafka's command-line tools",
            command=console,
            lacks={"subscribe": BY_THE_CLOCK},
            text=True,
            partitions=False,
            quick=False,
        ),
        Client(name="java", title="Kafka's Java clients", command=java, consumer_protocol=True),
        Client(name="franz_go", title="franz-go", command=franz_go),
        Client(
            name="kafkajs",
            title="kafkajs",
            command=kafkajs,
            lacks={"read": "its consumer knows groups only"},
            null_headers=False,
            assignor="RoundRobinAssigner",
            new_topics=False,
            named_offsets=("earliest", "latest"),
        ),
    )
}
REFERENCE: Final = CLIENTS["confluent"]
# Speaks the older protocol of transactions; the matrix has the newer one of these clients only.
OLD_JAVA: Final = Client(
    name="old_java",
    title="Kafka's Java clients of before version 4",
    command=lambda: java("old-client"),
)
