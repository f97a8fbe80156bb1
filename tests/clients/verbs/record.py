"""Output of Kafka's tools about Apache Kafka 4.4 after the scenario, for the short tests.

`python -m tests.clients.verbs.record` records it anew.
"""

import json
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from tests.benchmarks.brokers import apache_kafka_command
from tests.clients.kafka_tools.jvm import ask_tool
from tests.clients.verbs.rows import ROWS, words_of
from tests.clients.verbs.scenario import SETTINGS, fill, live_clients
from trio_kafka.testing.processes import broker_process

RECORDED: Final = Path(__file__).parent / "recorded.json"
_ADDRESS: Final = "127.0.0.1:19092"  # as long as with a port that is chosen, for tables
_BRIEF_JVM: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.awt.headless=true"


@cache
def recorded() -> dict[str, str]:
    """Return what each tool has printed, by the tool with its arguments."""
    texts: dict[str, str] = json.loads(RECORDED.read_text())
    return texts


def record() -> None:
    """Start Apache Kafka, fill it, ask the tools, and write what they print."""
    os.environ.setdefault("APACHE_JVM_OPTS", _BRIEF_JVM)
    tools = sorted({tool for row in ROWS if row.is_portable for tool in row.tools})
    with (
        tempfile.TemporaryDirectory() as home,
        broker_process(Path(home), *SETTINGS, command=apache_kafka_command) as broker,
    ):
        fill(broker.bootstrap)
        with live_clients(broker.bootstrap):
            texts = {tool: ask_tool(*words_of(tool, broker.bootstrap)).printed for tool in tools}
    shown = json.dumps(texts, indent=1).replace(broker.bootstrap, _ADDRESS)
    RECORDED.write_text(f"{shown}\n")


if __name__ == "__main__":
    record()
