"""Rules of records: what this broker answers and stores is what Apache Kafka 4.4 does, nearly."""

import re
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import NOW_MS, broker
from tests.apis.record_cases import cases
from tests.apis.record_rules import Answers, Talk, ask_all, recorded, run_all
from tests.benchmarks.brokers import apache_kafka_command
from tests.installed import APACHE_KAFKA, need_or_skip
from trio_kafka.testing.processes import broker_process

pytestmark = pytest.mark.slow

HIDDEN = {each.name for each in cases() if each.hidden}
REFUSED = "INVALID_RECORD offset -1 time -1 start 0"
# Refused here, on purpose; Apache Kafka stores them (see docs/reference/differences.md).
STRICTER = [
    r"NONE offset delta (7|-1)",
    r"(NONE )?deltas (gap|no order|equal)( to .*)?",
    r"(GZIP|SNAPPY|LZ4|ZSTD) length (a byte )?too (large|small)",
    r"GZIP bytes after the block( to uncompressed)?",
]
# Refused as well, with another code.
OTHER_ERROR = {"header: transactional, no producer"}
# Stored as well. The attributes of a record, in which no bit is in use, are kept.
KEPT = r"record attributes to .*"
PACKED_WITHIN = 0.1  # the compressors are not the same libraries


def has_size_of(lines: list[str], want: list[str]) -> bool:
    size, expected = (int(texts[0].partition(" ")[0]) for texts in (lines, want))
    return abs(size - expected) <= PACKED_WITHIN * expected


def agrees(name: str, lines: list[str], want: list[str]) -> bool:
    """Whether a case ends as it should."""
    if name.startswith("level "):
        return has_size_of(lines, want)
    if any(re.fullmatch(pattern, name) for pattern in STRICTER):
        return lines == [REFUSED] and want != lines
    if re.fullmatch(KEPT, name):
        return [line.rpartition(" ")[0] for line in lines] == [
            line.rpartition(" ")[0] for line in want
        ]
    # A batch that cannot be read is an unexpected exception there.
    want = [line.replace("UNKNOWN_SERVER_ERROR", "INVALID_RECORD") for line in want]
    return lines == want or name in OTHER_ERROR


def disagreements(answers: Answers) -> dict[str, tuple[list[str], list[str]]]:
    want = recorded()
    assert list(answers) == list(want)
    return {
        name: (lines, want[name])
        for name, lines in answers.items()
        if not agrees(name, lines, want[name])
    }


async def answers_with(validation: str) -> Answers:
    async with broker({"trio.record.validation": validation}) as served:
        began = trio.current_time()
        return await run_all(
            Talk(served.ask, lambda: NOW_MS + int((trio.current_time() - began) * 1000))
        )


async def test_full_validation_answers_as_apache_kafka(autojump_clock: MockClock) -> None:
    assert disagreements(await answers_with("full")) == {}


async def test_header_validation_accepts_only_errors_hidden_in_records(
    autojump_clock: MockClock,
) -> None:
    answers = await answers_with("header")

    differ = disagreements(answers)
    assert {name: differ[name] for name in differ.keys() - HIDDEN} == {}
    assert {name for name in differ if not answers[name][0].startswith("NONE offset 0")} == set()
    assert len(differ) > len(HIDDEN) // 2


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_recorded_answers_equal_those_of_a_running_apache_kafka(tmp_path: Path) -> None:
    need_or_skip(*APACHE_KAFKA)
    with broker_process(tmp_path, command=apache_kafka_command) as kafka:
        assert trio.run(ask_all, kafka.address) == recorded()
