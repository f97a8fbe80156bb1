"""Commands that are run in this process against a broker."""

import io
import sys
from collections.abc import Sequence

import pytest

from trio_kafka.cli import main
from trio_kafka.testing.kafka.threaded import Kafka


class Shell:
    """Runs commands against a broker; returns what they print."""

    def __init__(
        self,
        kafka: Kafka,
        capture: pytest.CaptureFixture[bytes],
        monkeypatch: pytest.MonkeyPatch,
        address: str | None = None,
    ) -> None:
        self.kafka = kafka
        self.address = address
        self._capture = capture
        self._monkeypatch = monkeypatch

    @property
    def bootstrap(self) -> str:
        """Address that the commands ask."""
        return self.kafka.bootstrap if self.address is None else self.address

    def at(self, address: str) -> "Shell":
        """Return a shell whose commands ask another address."""
        return Shell(self.kafka, self._capture, self._monkeypatch, address)

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Standard output of a command that succeeds."""
        status, output, errors = self.result(*arguments, stdin=stdin)
        assert status == 0, errors
        assert errors == ""
        return output

    def fail(self, *arguments: str, stdin: bytes = b"", status: int = 1) -> str:
        """The one line of a command that fails."""
        code, _, errors = self.result(*arguments, stdin=stdin)
        assert code == status, errors
        (line,) = errors.splitlines()
        assert line.startswith("trio-kafka: ")
        return line

    def result(self, *arguments: str, stdin: bytes = b"") -> tuple[int, bytes, str]:
        """Status, standard output and standard error of a command."""
        words: Sequence[str] = (*arguments, "--bootstrap", self.bootstrap)
        if arguments[:1] == ("consume",):  # at its end it waits for the answer to its last Fetch
            words = (*words, "-X", "fetch.max.wait.ms=20")
        self._capture.readouterr()
        with self._monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            status = main(words)
        output, errors = self._capture.readouterr()
        return status, output, errors.decode()
