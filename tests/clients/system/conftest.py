"""Starts of verifiable clients, which end with their test."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.clients.system.verifiable import OURS, Member, Program, ending
from trio_kafka.testing.processes import BrokerProcess

QUICK = {
    "classic": ["--session-timeout", "6000"],
    "consumer": [],
}


class Starts:
    """Starts clients of one kind at a broker."""

    def __init__(self, kind: str, log: Path) -> None:
        self.kind = kind
        self.log = log
        self.programs: list[Program] = []

    def producer(self, broker: BrokerProcess, topic: str, *options: str) -> Program:
        common = ["--bootstrap-server", broker.bootstrap, "--topic", topic]
        program = Program(self.kind, "producer", [*common, *options], self.log)
        self.programs.append(program)
        return program

    def member(self, broker: BrokerProcess, topic: str, protocol: str, *options: str) -> Member:
        common = ["--bootstrap-server", broker.bootstrap, "--topic", topic]
        common += ["--group-id", f"{topic}-group", "--group-protocol", protocol, *QUICK[protocol]]

        def start(more: Sequence[str]) -> Program:
            program = Program(self.kind, "consumer", [*common, *more], self.log)
            self.programs.append(program)
            return program

        member = Member(start, options)
        member.begin()
        return member


@pytest.fixture
def kind() -> str:
    """The kind of the clients; tests of Kafka's own clients choose theirs."""
    return OURS


@pytest.fixture
def starts(kind: str, tmp_path: Path) -> Iterator[Starts]:
    starts = Starts(kind, tmp_path / "clients.log")
    with ending(starts.programs):
        yield starts
