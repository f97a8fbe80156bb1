"""Changes by a verb, and by the command of Kafka's tool that its --dry-run prints."""

import json
import re
import shlex
import tempfile
from typing import Any, Final

from attrs import frozen

from tests.clients.kafka_tools.jvm import AskTool
from tests.clients.verbs.scenario import run_patiently, run_verb

CLASSES: Final = {
    "kafka-topics.sh": "TopicCommand",
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-acls.sh": "AclCommand",
    "kafka-consumer-groups.sh": "consumer.group.ConsumerGroupCommand",
    "kafka-delete-records.sh": "DeleteRecordsCommand",
    "kafka-reassign-partitions.sh": "reassign.ReassignPartitionsCommand",
}
STDIN: Final = "/dev/stdin"
RECORDS: Final = b"a\nb\nc\nd\n"


QUOTAS: Final = "quota list --user NAME"


@frozen
class Row:
    """A change of something called NAME, and a verb whose JSON shows it. stdin: of the change."""

    change: str
    look: str
    stdin: bytes = b""


ROWS: Final = [
    Row("topic create NAME -p 2 -c retention.ms=1000 -c segment.ms=9", "topic describe NAME"),
    Row("topic alter NAME --set max.message.bytes=99 --unset segment.ms", "topic describe NAME"),
    Row("topic grow NAME -p 4", "topic describe NAME"),
    Row("config set topics NAME cleanup.policy=compact,delete", "config get topics NAME"),
    Row("config unset topics NAME cleanup.policy", "config get topics NAME"),
    Row("config set groups g-NAME consumer.session.timeout.ms=50000", "config get groups g-NAME"),
    Row("topic trim NAME --before-offset 2 -p 0 -p 1", "topic offsets NAME"),
    Row("group seek g-NAME --to 3 --topic NAME --partition 0", "group lag g-NAME"),
    Row(
        "quota set producer_byte_rate=5 request_percentage=0.5 --user NAME",
        "quota list --user NAME",
    ),
    Row("quota set consumer_byte_rate=5 --user NAME --default client-id", QUOTAS),
    Row("quota unset producer_byte_rate --user NAME", QUOTAS),
    Row(
        "acl create --principal User:NAME --allow READ,DESCRIBE_CONFIGS --topic NAME --prefix",
        "acl list --principal User:NAME",
    ),
    Row(
        "acl create --principal User:NAME --deny DESCRIBE --topic * --host 10.0.0.1 --group NAME"
        " --transactional-id NAME --token NAME --cluster",
        "acl list --principal User:NAME",
    ),
    Row(
        "acl create --principal User:NAME --allow CREATE_TOKENS --user User:NAME",
        "acl list --principal User:NAME",
    ),
    Row(
        "acl delete --principal User:NAME --operation DESCRIBE_CONFIGS",
        "acl list --principal User:NAME",
    ),
    Row("acl delete --principal User:NAME", "acl list --principal User:NAME"),
    Row("user create NAME --iterations 8192", "user list NAME", b"PASSWORD\n"),
    Row("user delete NAME --mechanism SCRAM-SHA-256", "user list NAME"),
    Row("user create NAME --mechanism SCRAM-SHA-256", "user list NAME", b"PASSWORD\n"),
    Row("user delete NAME", "user list"),
    Row("quota unset consumer_byte_rate --user NAME --default client-id", QUOTAS),
    Row("quota unset request_percentage --user NAME", QUOTAS),
    Row("config unset groups g-NAME consumer.session.timeout.ms", "config get groups g-NAME"),
    Row("group delete g-NAME", "group list"),
    Row("topic delete NAME", "topic list"),
]


def prepare(bootstrap: str, name: str, change: str) -> None:
    """Write the records that the topic and the group need, which exist by then."""
    if change.startswith("topic trim"):
        for number in ("0", "1"):
            run_patiently(bootstrap, "produce", name, "-p", number, stdin=RECORDS)
        run_patiently(bootstrap, "consume", name, "--group", f"g-{name}")


def by_verb(bootstrap: str, row: Row, name: str) -> None:
    prepare(bootstrap, name, row.change)
    run_patiently(bootstrap, *row.change.replace("NAME", name).split(), stdin=row.stdin)


def by_tool(bootstrap: str, row: Row, name: str, ask: AskTool) -> None:
    """Run each command of Kafka's that the dry run of the verb prints."""
    prepare(bootstrap, name, row.change)
    words = row.change.replace("NAME", name).split()
    answer = json.loads(run_patiently(bootstrap, *words, "--dry-run", "--json"))
    for command in dict.fromkeys(row["kafka_command"] for row in answer["changes"]):
        run_command(command, ask)


def run_command(command: str, ask: AskTool) -> None:
    """Run a command of Kafka's as bash would. Its standard input comes from a file."""
    script, *arguments = shlex.split(command)
    if "<<<" not in arguments:
        done = ask(CLASSES[script], *arguments)
    else:
        *arguments, _, text = arguments
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(text)
            file.flush()
            words = [file.name if word == STDIN else word for word in arguments]
            done = ask(CLASSES[script], *words)
    assert done.status == 0, (command, done)
    assert "Error" not in done.printed, (command, done)


def look(bootstrap: str, row: Row, name: str) -> Any:
    """Return what the verb shows of the thing, without its name and what no two of a kind share."""
    words = row.look.replace("NAME", name).split()
    answer = json.loads(run_verb(bootstrap, *words, "--json"))
    for topic in answer.get("topics", ()):
        topic.pop("id", None)
    if row.look.endswith(" list"):
        (rows,) = answer.values()
        return [entry for entry in rows if re.search(rf"\b{name}\b", json.dumps(entry))]
    return json.loads(json.dumps(answer).replace(name, "NAME"))
