"""One broker through the eyes of one client: its steps as functions, in records and names."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from attrs import frozen

from tests.clients.catalogue import Client
from tests.clients.driver import Driver
from tests.clients.records import Record, compare, rows, save_records

Spans = list[tuple[int, int, int]]
MAX_BYTES = 1_000_000  # of a batch, for the client: less than a topic's default


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@frozen(kw_only=True)
class Written:
    """Records that a client says it has written, and when."""

    topic: str
    file: Path
    offsets: list[int] | None
    since_ms: int
    until_ms: int


@frozen(kw_only=True)
class Cluster:
    """driver: from a step to the program that takes it; reference: the one that makes topics."""

    bootstrap: str
    client: Client
    driver: Callable[[str], Driver]
    reference: Callable[[], Driver]
    directory: Path

    def ask(self, do: str, **step: Any) -> Any:
        """The result of a step. ClientError: what the client says instead."""
        return self.driver(do).ask(do, bootstrap=self.bootstrap, **step)

    def file(self) -> Path:
        return self.directory / f"{uuid4().hex}.jsonl"

    def new_topic(
        self,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        *,
        name: str | None = None,
    ) -> str:
        """name: one that nobody else takes, where none is given."""
        name = name or f"{self.client.name}-{uuid4().hex[:12]}"
        self.reference().ask(
            "create_topic",
            bootstrap=self.bootstrap,
            topic=name,
            partitions=partitions,
            configs=dict(configs or {}),
        )
        return name

    def produce(
        self,
        topic: str,
        records: Iterable[Record],
        *,
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
        max_bytes: int = MAX_BYTES,
    ) -> Written:
        file = self.file()
        save_records(file, records)
        since_ms = now_ms()
        offsets = self.ask(
            "produce",
            topic=topic,
            file=str(file),
            codec=codec,
            acks=acks,
            idempotent=idempotent,
            max_bytes=max_bytes,
        )
        return Written(
            topic=topic,
            file=file,
            offsets=None if acks == "0" else offsets,  # nothing tells a client
            since_ms=since_ms,
            until_ms=now_ms(),
        )

    def read(self, topic: str, spans: Spans) -> Path:
        file = self.file()
        count = self.ask("read", topic=topic, spans=spans, file=str(file))
        want = sum(end - start for _, start, end in spans)
        assert count == want, f"{count} records were read, want {want}"
        return file

    def check(self, written: Written) -> None:
        """All of a topic is what was written to it, offsets included; read by this client."""
        counts: Counter[int] = Counter()
        expected = []
        for partition, *_ in rows(written.file):
            expected.append(counts[partition])
            counts[partition] += 1
        if written.offsets is not None:
            pairs = [*zip(written.offsets, expected, strict=True)]
            wrong = [pair for pair in pairs if pair[0] != pair[1]]
            assert not wrong, f"offsets that the client was told, and are: {wrong[:9]}"
        result = self.read(written.topic, [(p, 0, end) for p, end in counts.items()])
        compare(written.file, result, written.since_ms, written.until_ms)
