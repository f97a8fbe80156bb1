"""docs/reference/clients.md, written from the catalogue and the locks.

python -m tests.clients.page            write it
python -m tests.clients.page --check    end with status 1 if it is not as it would be written
"""

import json
import re
import sys
from pathlib import Path
from typing import Final

from tests.clients.build import APACHE_KAFKA, SOURCES
from tests.clients.catalogue import CLIENTS, Client

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "reference" / "clients.md"
# What the columns of the table say, by a step of each.
COLUMNS: Final = {
    "produce": "writes",
    "read": "reads",
    "subscribe": "groups",
    "offsets": "offsets by time",
    "describe_topic": "describes topics",
    "create_topic": "makes and deletes topics",
    "create_partitions": "adds partitions",
    "describe_configs": "describes settings",
    "alter_configs": "changes settings",
    "describe_cluster": "describes the cluster",
}
BEGIN: Final = "<!-- written by python -m tests.clients.page -->\n"
END: Final = "<!-- until here -->\n"


def locked(pattern: str, file: Path) -> str:
    match = re.search(pattern, file.read_text())
    if match is None:
        raise ValueError(f"no {pattern} in {file}")
    return match[1]


def versions() -> dict[str, str]:
    """The version of each client, where its lock says."""
    python, pom = ROOT / "requirements" / "test.txt", APACHE_KAFKA / "pom.xml"
    packages = json.loads((SOURCES / "kafkajs" / "package-lock.json").read_text())["packages"]
    return {
        "confluent": locked(r"confluent-kafka==(\S+)", python),
        "trio_kafka": "this one",
        "aiokafka": locked(r"aiokafka==(\S+)", python),
        "kafka_python": locked(r"kafka-python==(\S+)", python),
        "kcat": "Debian's",
        "console": locked(r"<kafka.tools.version>(.*)<", pom),
        "java": locked(r"<kafka.version>(.*)<", pom),
        "franz_go": locked(r"twmb/franz-go v(\S+)", SOURCES / "franz_go" / "go.mod"),
        "kafkajs": packages["node_modules/kafkajs"]["version"],
    }


def notes(client: Client) -> list[str]:
    """Limits of the client, which no test exceeds."""
    cannot = {
        "records are text only, headers need values, timestamps cannot be set": client.text,
        "no choice of partitions": not client.partitions,
        "no header without a value": not (client.null_headers or client.text),
        "no record with neither key nor value": not client.nothing,
        "a pattern is matched once, at the start": not client.new_topics,
        "no offset of the latest timestamp": "max_timestamp" not in client.named_offsets,
    }
    return [*dict.fromkeys(client.lacks.values()), *(note for note, so in cannot.items() if so)]


def table() -> str:
    versions_by_client = versions()
    rows = [["client", "version", *COLUMNS.values()]]
    rows.append(["---"] * len(rows[0]))
    rows += [
        [
            client.title,
            versions_by_client[client.name],
            *("yes" if client.can(s) else "" for s in COLUMNS),
        ]
        for client in CLIENTS.values()
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def page() -> str:
    """The page as it is, with the table and the notes as they should be."""
    head, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, tail = rest.partition(END)
    said = ((client.title, "; ".join(notes(client))) for client in CLIENTS.values())
    lines = "".join(f"- **{title}**: {note}.\n" for title, note in said if note)
    left_out = f"Left out, because the client cannot do it:\n\n{lines}"
    return f"{head}{BEGIN}\n{table()}\n{left_out}\n{END}{tail}"


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        return int(PAGE.read_text() != page())
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
