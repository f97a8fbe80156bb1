"""Verbs beside Kafka's tools: what is asked of each, and which facts of their answers are equal."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from tests.clients.verbs.printed import (
    NONE,
    acls,
    directories,
    fields,
    quotas,
    settings,
    tabbed,
    table,
)

GROUPS: Final = "consumer.group.ConsumerGroupCommand"
CONSUMER: Final = "consumer.ConsoleConsumer"
CONFIGS: Final = "kafka.admin.ConfigCommand"
TIME_MS: Final = 1_769_864_400_000  # 2026-01-31T13:00Z
DYNAMIC: Final = "DYNAMIC_"
_LEVELS: Final = {"3.3-IV3": 7}  # names of levels of metadata.version


@frozen(kw_only=True)
class Row:
    """A verb and the tools that say the same, each a class with its arguments.

    ours: facts of the verb's JSON. theirs: facts of what the tools print, one text for each.
    is_portable: the facts are the same on every broker that was filled by the scenario.
    """

    verb: str
    tools: Sequence[str]
    ours: Callable[[Any], object]
    theirs: Callable[..., object]
    is_portable: bool = True


def words_of(tool: str, bootstrap: str) -> list[str]:
    """Return the words of a tool, with its class first and the cluster in its place."""
    name, *arguments = tool.split()
    server = ["--bootstrap-server", bootstrap]
    return [name, *arguments, *server] if name == "ClusterTool" else [name, *server, *arguments]


# --- topics


def described_topics(text: str) -> dict[str, object]:
    """Return settings, and leader, replicas and ISR of partitions, by topic; none of Kafka's."""
    topics: dict[str, Any] = {}
    for row in map(fields, text.splitlines()):
        name = row["Topic"]
        if "Configs" in row:
            pairs = (pair.partition("=")[::2] for pair in row["Configs"].split(",") if pair)
            topics[name] = dict(pairs), []
        else:
            topics[name][1].append(
                tuple(row[column] for column in ("Partition", "Leader", "Replicas", "Isr"))
            )
    return {name: topic for name, topic in topics.items() if not name.startswith("__")}


def our_topics(answer: Any) -> dict[str, object]:
    return {
        topic["name"]: (
            topic["configs"],
            [
                (
                    str(row["partition"]),
                    str(row["leader"]),
                    ",".join(map(str, row["replicas"])),
                    ",".join(map(str, row["isr"])),
                )
                for row in topic["partitions"]
            ],
        )
        for topic in answer["topics"]
    }


def offsets(text: str) -> dict[tuple[str, int], int]:
    rows = (line.rsplit(":", 2) for line in text.splitlines())
    return {(topic, int(number)): int(offset) for topic, number, offset in rows}


def firsts_and_ends(earliest: str, latest: str) -> dict[tuple[str, int], tuple[int, int]]:
    firsts, ends = offsets(earliest), offsets(latest)
    return {at: (first, ends[at]) for at, first in firsts.items()}


# --- groups

Members = Iterable[Mapping[str, str]]


def lags(text: str) -> set[tuple[str, ...]]:
    columns = ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG")
    return {tuple(row[column] for column in columns) for row in table(text)}


def our_lags(answer: Any) -> set[tuple[str, ...]]:
    columns = ("group", "topic", "partition", "committed", "end", "lag")
    return {
        tuple(NONE if row[column] is None else str(row[column]) for column in columns)
        for row in answer["lags"]
    }


def owners(text: str) -> set[tuple[str, ...]]:
    return {
        (row["GROUP"], row["TOPIC"], row["PARTITION"], row["CONSUMER-ID"]) for row in table(text)
    }


def our_owners(answer: Any) -> set[tuple[str, ...]]:
    return {
        (group["group"], row["topic"], str(row["partition"]), row["member_id"] or NONE)
        for group in answer["groups"]
        for row in group["partitions"]
    }


def states(text: str) -> set[tuple[str, ...]]:
    columns = ("GROUP", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
    return {tuple(row[column] for column in columns) for row in table(text)}


def our_states(answer: Any) -> set[tuple[str, ...]]:
    return {
        (group["group"], group["assignor"] or NONE, group["state"], str(group["members"]))
        for group in answer["groups"]
    }


def members(text: str) -> set[tuple[str, ...]]:
    return {
        (
            row["GROUP"],
            row.get("GROUP-INSTANCE-ID") or NONE,
            row["HOST"],
            row["CLIENT-ID"],
            row["CURRENT-ASSIGNMENT"],
        )
        for row in table(text)
    }


def our_members(answer: Any) -> set[tuple[str, ...]]:
    return {
        (
            row["group"],
            row["group_instance_id"] or NONE,
            row["host"],
            row["client_id"],
            assignment(row["partitions"]),
        )
        for row in answer["members"]
    }


def assignment(partitions: Iterable[tuple[str, int]]) -> str:
    """Return partitions as Kafka's tool writes them: `a:0,1;b:0`."""
    numbers: dict[str, list[str]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(str(number))
    return ";".join(f"{topic}:{','.join(rows)}" for topic, rows in sorted(numbers.items()))


def listed_groups(groups: str, with_states: str) -> set[tuple[str, ...]]:
    in_state = {row["GROUP"]: row["STATE"] for row in table(with_states)}
    return {  # the tool writes in its own case what messages have in lower case
        (row["GROUP"], row["TYPE"].lower(), row["PROTOCOL"], in_state[row["GROUP"]])
        for row in table(groups)
    }


def our_groups(answer: Any) -> set[tuple[str, ...]]:
    columns = ("group", "type", "protocol_type", "state")
    return {tuple(row[column] for column in columns) for row in answer["groups"]}


# --- settings, quotas, ACLs


def our_settings(source: str) -> Callable[[Any], dict[str, str]]:
    """Return a reader of the settings with this source; empty: with any."""

    def read(answer: Any) -> dict[str, str]:
        return {
            row["name"]: "null" if row["value"] is None else row["value"]
            for row in answer["settings"]
            if row["source"].startswith(source)
        }

    return read


def our_quotas(answer: Any) -> dict[str, dict[str, float]]:
    return {
        " ".join(
            f"{kind}={'(default)' if row['entity'][kind] is None else row['entity'][kind]}"
            for kind in ("user", "client-id", "ip")
            if kind in row["entity"]
        ): row["quotas"]
        for row in answer["quotas"]
    }


def all_quotas(*texts: str) -> dict[str, dict[str, float]]:
    return quotas("\n".join(texts))


def our_acls(answer: Any) -> set[tuple[str, ...]]:
    return {tuple(row.values()) for row in answer["acls"]}


# --- the cluster


def cluster(cluster_id: str, endpoints: str) -> object:
    nodes = [(row["ID"], row["HOST"], row["PORT"]) for row in table(endpoints)]
    return cluster_id.partition(": ")[2].strip(), nodes


def our_cluster(answer: Any) -> object:
    nodes = [(str(row["node"]), row["host"], str(row["port"])) for row in answer["brokers"]]
    return answer["cluster_id"], nodes


def features(text: str) -> set[tuple[str, ...]]:
    rows = re.findall(
        r"^Feature: (\S+)\s+SupportedMinVersion: (.+?)\s+SupportedMaxVersion: (.+?)"
        r"\s+FinalizedVersionLevel: (.+?)\s+Epoch",
        text,
        re.MULTILINE,
    )
    return {(name, *map(_level, levels)) for name, *levels in rows}


def _level(text: str) -> str:
    return str(_LEVELS.get(text, text.removeprefix("UNKNOWN ")))


def our_features(answer: Any) -> set[tuple[str, ...]]:
    return {
        tuple(str(row[column]) for column in ("feature", "lowest", "highest", "level"))
        for row in answer["features"]
    }


def replicas(text: str) -> set[tuple[object, ...]]:
    return {
        (broker, path, row["partition"], row["size"], row["offsetLag"], row["isFuture"])
        for (broker, path), rows in directories(text).items()
        for row in rows
    }


def our_replicas(answer: Any) -> set[tuple[object, ...]]:
    return {
        (
            row["broker"],
            row["directory"],
            f"{row['topic']}-{row['partition']}",
            row["bytes"],
            row["offset_lag"],
            row["is_future"],
        )
        for row in answer["replicas"]
    }


# --- transactions


def transactions(text: str) -> set[tuple[str, ...]]:
    columns = ("TransactionalId", "ProducerId", "TransactionState")
    return {tuple(row[column] for column in columns) for row in tabbed(text)}


def our_transactions(answer: Any) -> set[tuple[str, ...]]:
    columns = ("transactional_id", "producer_id", "state")
    return {tuple(str(row[column]) for column in columns) for row in answer["transactions"]}


def transaction(text: str) -> list[tuple[str, ...]]:
    columns = ("ProducerId", "ProducerEpoch", "TransactionState", "TransactionTimeoutMs")
    return [(*(row[column] for column in columns), row["TopicPartitions"]) for row in tabbed(text)]


def our_transaction(answer: Any) -> list[tuple[str, ...]]:
    columns = ("producer_id", "producer_epoch", "state", "timeout_ms")
    return [
        (
            *(str(row[column]) for column in columns),
            ",".join(f"{topic}-{n}" for topic, rows in row["partitions"].items() for n in rows),
        )
        for row in answer["transactions"]
    ]


PRODUCERS: Final = (
    ("ProducerId", "producer_id"),
    ("ProducerEpoch", "producer_epoch"),
    ("LatestCoordinatorEpoch", "coordinator_epoch"),
    ("LastSequence", "last_sequence"),
    ("CurrentTransactionStartOffset", "start_offset"),
)


def producers(text: str) -> set[tuple[str, ...]]:
    return {tuple(row[name].replace("None", "-1") for name, _ in PRODUCERS) for row in tabbed(text)}


def our_producers(answer: Any) -> set[tuple[str, ...]]:
    return {tuple(str(row[name]) for _, name in PRODUCERS) for row in answer["producers"]}


# --- records


def records(*texts: str) -> set[tuple[str, ...]]:
    """Return partition, offset, time, key and value of the lines of kafka-console-consumer."""
    result = re.findall(
        r"^CreateTime:(\d+)\tPartition:(\d+)\tOffset:(\d+)\t(.*)\t(.*)$",
        "\n".join(texts),
        re.MULTILINE,
    )
    return {(partition, offset, time, *rest) for time, partition, offset, *rest in result}


def our_records(lines: Any) -> set[tuple[str, ...]]:
    return {
        (
            str(row["partition"]),
            str(row["offset"]),
            str(row["timestamp_ms"]),
            row["key"],
            row["value"],
        )
        for row in lines
    }


SHOWN: Final = " ".join(
    f"--formatter-property print.{field}=true"
    for field in ("timestamp", "partition", "offset", "key")
)
ROWS: Final = [
    Row(
        verb="topic list --internal",
        tools=["TopicCommand --list"],
        ours=lambda answer: {row["name"] for row in answer["topics"]},
        theirs=lambda text: set(text.split()),
    ),
    Row(
        verb="topic list",
        tools=["TopicCommand --list --exclude-internal"],
        ours=lambda answer: {row["name"] for row in answer["topics"]},
        theirs=lambda text: set(text.split()),
    ),
    Row(
        verb="topic describe *",
        tools=["TopicCommand --describe"],
        ours=our_topics,
        theirs=described_topics,
    ),
    Row(
        verb="topic describe orders",
        tools=["TopicCommand --describe --topic orders"],
        ours=lambda answer: [row["id"] for row in answer["topics"]],
        theirs=lambda text: [fields(text.splitlines()[0])["TopicId"]],
        is_portable=False,
    ),
    Row(
        verb="topic offsets *",
        tools=[
            f"GetOffsetShell --exclude-internal-topics --time {time}"
            for time in ("earliest", "latest")
        ],
        ours=lambda answer: {
            (row["topic"], row["partition"]): (row["first"], row["end"])
            for row in answer["offsets"]
        },
        theirs=firsts_and_ends,
    ),
    Row(
        verb="topic offsets orders --time 2026-01-31T13:00",
        tools=[f"GetOffsetShell --topic orders --time {TIME_MS}"],
        ours=lambda answer: {
            (row["topic"], row["partition"]): row["offset"]
            for row in answer["offsets"]
            if row["offset"] >= 0
        },
        theirs=offsets,
    ),
    Row(
        verb="group list",
        tools=["GroupsCommand --list", f"{GROUPS} --list --state"],
        ours=our_groups,
        theirs=listed_groups,
    ),
    Row(
        verb="group describe *",
        tools=[f"{GROUPS} --describe --all-groups --state"],
        ours=our_states,
        theirs=states,
    ),
    Row(
        verb="group describe *",
        tools=[f"{GROUPS} --describe --all-groups"],
        ours=our_owners,
        theirs=owners,
        is_portable=False,
    ),
    Row(
        verb="group lag",
        tools=[f"{GROUPS} --describe --all-groups"],
        ours=our_lags,
        theirs=lags,
    ),
    Row(
        verb="group members *",
        tools=[f"{GROUPS} --describe --all-groups --members --verbose"],
        ours=our_members,
        theirs=members,
    ),
    Row(
        verb="cluster describe",
        tools=["ClusterTool cluster-id", "ClusterTool list-endpoints"],
        ours=our_cluster,
        theirs=cluster,
        is_portable=False,
    ),
    Row(
        verb="cluster features",
        tools=["FeatureCommand describe"],
        ours=our_features,
        theirs=features,
        is_portable=False,
    ),
    Row(
        verb="cluster health",
        tools=[
            "TopicCommand --describe --unavailable-partitions",
            "TopicCommand --describe --under-replicated-partitions",
        ],
        ours=lambda answer: len(answer["problems"]),
        theirs=lambda *texts: sum(len(text.split()) for text in texts),
    ),
    *(
        Row(
            verb=f"config get {kind} {name}",
            tools=[f"{CONFIGS} --describe --entity-type {kind} {entity}"],
            ours=our_settings(source),
            theirs=settings,
        )
        for kind, name, entity, source in (
            ("topics", "audit", "--entity-name audit", "DYNAMIC_TOPIC"),
            ("topics", "grown", "--entity-name grown", "DYNAMIC_TOPIC"),
            ("brokers", "1", "--entity-name 1", "DYNAMIC_BROKER_CONFIG"),
            ("brokers", "default", "--entity-default", "DYNAMIC_DEFAULT"),
            ("groups", "billing", "--entity-name billing", "DYNAMIC_GROUP"),
        )
    ),
    Row(
        verb="config get topics audit --all",
        tools=[f"{CONFIGS} --describe --entity-type topics --entity-name audit --all"],
        ours=our_settings(""),
        theirs=settings,
    ),
    Row(
        verb="config get brokers 1 --all",
        tools=[f"{CONFIGS} --describe --entity-type brokers --entity-name 1 --all"],
        ours=our_settings(""),
        theirs=settings,
        is_portable=False,
    ),
    Row(
        verb="config get broker-loggers 1 --all",
        tools=[f"{CONFIGS} --describe --entity-type broker-loggers --entity-name 1"],
        ours=our_settings(""),
        theirs=settings,
        is_portable=False,
    ),
    Row(
        verb="quota list",
        tools=[
            f"{CONFIGS} --describe {types}"
            for types in (
                "--entity-type users",
                "--entity-type users --entity-type clients",
                "--entity-type clients",
                "--entity-type ips",
            )
        ],
        ours=our_quotas,
        theirs=all_quotas,
    ),
    Row(verb="acl list", tools=["AclCommand --list"], ours=our_acls, theirs=acls),
    Row(
        verb="acl list --principal User:ann",
        tools=["AclCommand --list --principal User:ann"],
        ours=our_acls,
        theirs=acls,
    ),
    Row(
        verb="acl list --topic orders --covering",
        tools=["AclCommand --list --topic orders --resource-pattern-type match"],
        ours=our_acls,
        theirs=acls,
    ),
    Row(
        verb="txn list",
        tools=["TransactionsCommand list"],
        ours=our_transactions,
        theirs=transactions,
    ),
    Row(
        verb="txn describe open",
        tools=["TransactionsCommand describe --transactional-id open"],
        ours=our_transaction,
        theirs=transaction,
    ),
    Row(
        verb="txn producers --topic audit",
        tools=["TransactionsCommand describe-producers --topic audit --partition 0"],
        ours=our_producers,
        theirs=producers,
    ),
    Row(
        verb="txn find-hanging --topic audit --partition 0",
        tools=["TransactionsCommand find-hanging --topic audit --partition 0"],
        ours=lambda answer: answer["hanging"],
        theirs=lambda text: list(tabbed(text)),
    ),
    Row(
        verb="partition list",
        tools=["LogDirsCommand --describe"],
        ours=our_replicas,
        theirs=replicas,
        is_portable=False,
    ),
    Row(
        verb="consume orders",
        tools=[
            f"{CONSUMER} --topic orders --partition {number} --offset earliest"
            f" --max-messages {count} {SHOWN}"
            for number, count in ((0, 17), (1, 20))
        ],
        ours=our_records,
        theirs=records,
    ),
]


def answer_of(printed: str) -> Any:
    """Return the document that a verb printed, or the list of those that it printed a line each."""
    try:
        return json.loads(printed)
    except json.JSONDecodeError:
        return [json.loads(line) for line in printed.splitlines()]
