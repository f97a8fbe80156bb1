"""kcat: what it writes and reads, offsets and the list of topics; a process for each.

Its records are text. One process writes records that have the partition, the headers and whether
there is a value in common, so a step takes as many as the file has runs of such records.
"""

import itertools
import re
import subprocess
from collections.abc import Iterator
from typing import Any

from tests.clients.program import Step, StepError, path, serve, spans
from tests.clients.records import ReadRecord, Record, load_records, save_found

TIMEOUT_S = 60
# Between records and behind keys: what no record here has in it.
RECORD_END, KEY_END = "\x1e\x1d", "\x1f\x1d"
# librdkafka's names of the errors that kcat prints.
CODES = {"Broker: Message size too large": 10, "Broker: Unknown topic or partition": 3}


def kcat(step: Step, *arguments: str, stdin: bytes = b"") -> bytes:
    """Run kcat and return its output. StepError if it failed."""
    done = subprocess.run(
        ["kcat", "-b", step["bootstrap"], *arguments],
        input=stdin,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    said = done.stderr.decode()
    if done.returncode or "Delivery failed" in said:
        codes = [code for name, code in CODES.items() if name in said]
        raise StepError(codes[0] if codes else -1, said)
    return done.stdout


def produce(step: Step) -> None:
    def alike(record: Record) -> Any:
        return record.partition, record.headers, record.key is None, record.value is None

    for (partition, headers, no_key, null), records in itertools.groupby(
        load_records(path(step)), alike
    ):
        named = [f"{name}={content.decode()}" for name, content in headers]
        settings = {
            "acks": step["acks"],
            "enable.idempotence": str(step["idempotent"]).lower(),
            "message.max.bytes": step["max_bytes"],
            "linger.ms": 5,
        }
        arguments = [
            "-P",
            *("-t", step["topic"], "-p", str(partition), "-z", step["codec"], "-D", RECORD_END),
            *([] if no_key else ["-K", KEY_END]),
            *(["-Z"] if null else []),
            *(word for header in named for word in ("-H", header)),
            *(word for name, value in settings.items() for word in ("-X", f"{name}={value}")),
        ]
        kcat(step, *arguments, stdin=b"".join(line(record) for record in records))


def line(record: Record) -> bytes:
    key = b"" if record.key is None else record.key + KEY_END.encode()
    return key + (record.value or b"") + RECORD_END.encode()


def read(step: Step) -> int:
    return save_found(path(step), found_by(step))


def found_by(step: Step) -> Iterator[ReadRecord]:
    """kcat prints sizes before the bytes, so that these may be any; -1 is the size of a null."""
    for span in spans(step):
        printed = kcat(
            step,
            *("-C", "-q", "-t", step["topic"], "-p", str(span.partition), "-o", str(span.start)),
            *("-c", str(span.end - span.start), "-f", "%o %T %K %S %h\n%k%s\n"),
        )
        position = 0
        while position < len(printed):
            head_end = printed.index(b"\n", position)
            offset, timestamp, *sizes, headers = printed[position:head_end].decode().split(" ", 4)
            position = head_end + 1
            contents: list[bytes | None] = []
            for size in map(int, sizes):
                contents.append(printed[position : position + size] if size >= 0 else None)
                position += max(size, 0)
            position += 1
            record = Record(
                partition=span.partition,
                timestamp=int(timestamp),
                key=contents[0],
                value=contents[1],
                headers=tuple(header(pair) for pair in headers.split(",") if pair),
            )
            yield ReadRecord(offset=int(offset), record=record)


def header(pair: str) -> tuple[str, bytes]:
    name, _, content = pair.partition("=")
    return name, content.encode()


def offsets(step: Step) -> list[int | None]:
    named = {"earliest": -2, "latest": -1}
    result: list[int | None] = []
    for time in step["times"]:
        query = f"{step['topic']}:{step['partition']}:{named.get(time, time)}"
        printed = kcat(step, "-Q", "-t", query).decode()
        [offset] = re.findall(r"offset (-?\d+)", printed)
        result.append(None if offset == "-1" else int(offset))
    return result


def list_topics(step: Step) -> list[str]:
    return re.findall(r'topic "([^"]+)"', kcat(step, "-L").decode())


def describe_topic(step: Step) -> list[list[Any]]:
    printed = kcat(step, "-L", "-t", step["topic"]).decode()
    rows = re.findall(r"partition (\d+), leader (\d+), replicas: ([\d,]+), isrs: ([\d,]+)", printed)
    return [
        [int(partition), int(leader), *([int(n) for n in ids.split(",")] for ids in lists)]
        for partition, leader, *lists in rows
    ]


if __name__ == "__main__":
    steps = (produce, read, offsets, list_topics, describe_topic)
    serve({step.__name__: step for step in steps})
