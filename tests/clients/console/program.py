"""Apache Kafka's command-line tools: all steps.

The console producer and consumer have a JVM for each question, the other tools share one.

Records are text without line breaks: a line of the console producer is headers, key and value.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tests.clients.build import APACHE_KAFKA, clients_cache, jar_directory
from tests.clients.kafka_tools.jvm import Done, ask_tool
from tests.clients.program import Step, StepError, path, serve, spans
from tests.clients.records import ReadRecord, Record, load_records, save_found

TIMEOUT_S = 100
# A JVM that is asked once: nothing in it gets hot.
JVM = "-Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xlog:disable"
NULL, FIELD_END, LINE_END = "(null)", "\x1f", "\x1e\n"
CODES = {
    "InvalidConfigurationException": 40,
    "InvalidTopicException": 17,
    "RecordTooLargeException": 10,
    "TopicExistsException": 36,
    "UnknownTopicOrPartitionException": 3,
    "does not exist as expected": 3,
    "Invalid value": 40,  # which the tool finds by itself
    "InvalidPartitionsException": 37,
}


def run(name: str, *arguments: str, stdin: str = "") -> str:
    """Run a tool and return its output. StepError if it failed, or printed an error."""
    alone = "Console" in name  # it reads standard input, or waits for records at its end
    done = ask_alone(name, *arguments, stdin=stdin) if alone else ask_tool(name, *arguments)
    codes = [code for name, code in CODES.items() if name in done.errors + done.printed[:100_000]]
    if done.status or codes:
        message = f"{name}: {done.printed[-2000:]}{done.errors}"
        raise StepError(codes[0] if codes else -1, message)
    return done.printed


def ask_alone(name: str, *arguments: str, stdin: str) -> Done:
    """Run a tool in a JVM of its own."""
    with brief_start(name) as environment:
        done = subprocess.run(
            [APACHE_KAFKA / "tool.sh", name, *arguments],
            input=stdin.encode(),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
            env=environment,
        )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@contextmanager
def brief_start(name: str) -> Iterator[dict[str, str]]:
    """The environment of tool.sh in which a tool takes its classes from an earlier start.

    The first start keeps them. The jars must have been fetched (`class_path`).
    """
    archive = archives() / f"{name}.jsa"
    new = archive.with_suffix(f".{os.getpid()}")
    shared = f"SharedArchiveFile={archive}" if archive.exists() else f"ArchiveClassesAtExit={new}"
    yield os.environ | {"KAFKA_HEAP_OPTS": f"{JVM} -XX:{shared}"}
    if new.exists():
        new.rename(archive)


def keep_classes(name: str) -> None:
    """Start a tool for nothing, if its classes are not kept yet: later starts take half the CPU."""
    if not (archives() / f"{name}.jsa").exists():
        ask_alone(name, "--version", stdin="")


def jvm_options(name: str) -> list[str]:
    """Return the JVM's options for one start of a tool, with its classes of an earlier start."""
    archive = archives() / f"{name}.jsa"
    return [*JVM.split(), *([f"-XX:SharedArchiveFile={archive}"] if archive.exists() else [])]


@cache
def archives() -> Path:
    """Where each tool leaves its classes as the JVM has them in memory: half of a start's CPU.

    They are good for the very jars that they were made with; those of older ones are removed.
    """
    marker = jar_directory("tools") / ".complete"
    home = clients_cache() / "console"
    current = home / f"{marker.stat().st_mtime_ns:x}"
    current.mkdir(parents=True, exist_ok=True)
    for other in home.iterdir():
        if other != current:
            shutil.rmtree(other, ignore_errors=True)
    return current


def tool(step: Step, name: str, *arguments: str, stdin: str = "") -> str:
    return run(name, "--bootstrap-server", step["bootstrap"], *arguments, stdin=stdin)


def topics(step: Step, *arguments: str) -> str:
    return tool(step, "TopicCommand", *arguments)


def create_topic(step: Step) -> None:
    configs = [f"{name}={value}" for name, value in step["configs"].items()]
    topics(
        step,
        *("--create", "--topic", step["topic"], "--partitions", str(step["partitions"])),
        *("--replication-factor", "1"),
        *(word for config in configs for word in ("--config", config)),
    )


def create_partitions(step: Step) -> None:
    topics(step, "--alter", "--topic", step["topic"], "--partitions", str(step["count"]))


def delete_topic(step: Step) -> None:
    topics(step, "--delete", "--topic", step["topic"])


def list_topics(step: Step) -> list[str]:
    return topics(step, "--list").split()


def describe_topic(step: Step) -> list[list[Any]]:
    row = r"Partition: (\d+)\s+Leader: (\d+)\s+Replicas: ([\d,]+)\s+Isr: ([\d,]+)"
    result = re.findall(row, topics(step, "--describe", "--topic", step["topic"]))
    return [
        [int(partition), int(leader), *([int(n) for n in ids.split(",")] for ids in lists)]
        for partition, leader, *lists in result
    ]


def describe_cluster(step: Step) -> dict[str, Any]:
    """It does not tell the controller."""
    at = ("--bootstrap-server", step["bootstrap"])
    [cluster_id] = re.findall(r"Cluster ID: (\S+)", run("ClusterTool", "cluster-id", *at))
    endpoints = run("ClusterTool", "list-endpoints", *at).splitlines()[1:]
    nodes = [line.split() for line in endpoints]
    return {
        "cluster_id": cluster_id,
        "controller": None,
        "nodes": [[int(node), host, int(port)] for node, host, port, *_ in nodes],
    }


def configs(step: Step, *arguments: str) -> str:
    entity = ["--entity-type", f"{step['kind']}s", "--entity-name", step["name"]]
    return tool(step, "kafka.admin.ConfigCommand", *entity, *arguments)


def describe_configs(step: Step) -> dict[str, Any]:
    row = r"^  ([\w.-]+)=(.*) sensitive=\w+ synonyms=\{(\w*).*\}$"
    result = re.findall(row, configs(step, "--describe", "--all"), re.MULTILINE)
    return {
        name: [None if value == "null" else value, source not in ("DEFAULT_CONFIG", "")]
        for name, value, source in result
    }


def alter_configs(step: Step) -> None:
    added = ",".join(f"{name}=[{value}]" for name, value in step["set"].items())
    deleted = ",".join(step["delete"])
    configs(
        step,
        "--alter",
        *(["--add-config", added] if added else []),
        *(["--delete-config", deleted] if deleted else []),
    )


def produce(step: Step) -> None:
    reader = {
        "parse.headers": "true",
        "parse.key": "true",
        "key.separator": FIELD_END,
        "headers.delimiter": FIELD_END,
        "null.marker": NULL,
    }
    settings = {
        "enable.idempotence": str(step["idempotent"]).lower(),
        "max.request.size": step["max_bytes"],
        "enable.metrics.push": "false",
    }
    tool(
        step,
        "ConsoleProducer",
        *("--topic", step["topic"], "--compression-codec", step["codec"]),
        *("--request-required-acks", step["acks"]),
        *(
            word
            for name, value in reader.items()
            for word in ("--reader-property", f"{name}={value}")
        ),
        *(
            word
            for name, value in settings.items()
            for word in ("--command-property", f"{name}={value}")
        ),
        stdin="".join(map(line, load_records(path(step)))),
    )


def line(record: Record) -> str:
    headers = ",".join(f"{name}:{content.decode()}" for name, content in record.headers)
    key, value = (NULL if part is None else part.decode() for part in (record.key, record.value))
    return FIELD_END.join([headers or NULL, key, value]) + "\n"


def read(step: Step) -> int:
    return save_found(path(step), found_by(step))


def found_by(step: Step) -> Iterator[ReadRecord]:
    shown = dict.fromkeys(("timestamp", "offset", "headers", "key", "value"), "true")
    formatter = {f"print.{name}": value for name, value in shown.items()}
    formatter |= {"key.separator": FIELD_END, "line.separator": LINE_END, "null.literal": NULL}
    for span in spans(step):
        printed = tool(
            step,
            "org.apache.kafka.tools.consumer.ConsoleConsumer",
            *("--topic", step["topic"], "--partition", str(span.partition)),
            *("--offset", str(span.start), "--max-messages", str(span.end - span.start)),
            *("--timeout-ms", "30000"),
            *(
                word
                for name, value in formatter.items()
                for word in ("--formatter-property", f"{name}={value}")
            ),
        )
        for row in printed.split(LINE_END)[:-1]:
            timestamp, offset, headers, key, value = row.split(FIELD_END)
            record = Record(
                partition=span.partition,
                timestamp=int(timestamp.partition(":")[2]),  # behind its type
                key=content(key),
                value=content(value),
                headers=tuple(header(pair) for pair in headers.split(",") if ":" in pair),
            )
            yield ReadRecord(offset=int(offset.removeprefix("Offset:")), record=record)


def content(text: str) -> bytes | None:
    return None if text == NULL else text.encode()


def header(pair: str) -> tuple[str, bytes]:
    name, _, value = pair.partition(":")
    return name, value.encode()


def offsets(step: Step) -> list[int | None]:
    named = {"max_timestamp": "max-timestamp"}
    partition = f"{step['topic']}:{step['partition']}"
    result: list[int | None] = []
    for time in step["times"]:
        printed = tool(
            step,
            "GetOffsetShell",
            *("--topic-partitions", partition, "--time", str(named.get(time, time))),
        )
        # One that is unknown is not printed.
        matches = re.findall(rf"^{re.escape(partition)}:(\d+)$", printed, re.MULTILINE)
        result.append(int(matches[0]) if matches else None)
    return result


if __name__ == "__main__":
    steps = (
        create_topic,
        create_partitions,
        delete_topic,
        list_topics,
        describe_topic,
        describe_cluster,
        describe_configs,
        alter_configs,
        produce,
        read,
        offsets,
    )
    serve({step.__name__: step for step in steps})
