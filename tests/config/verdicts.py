"""Verdicts of Apache Kafka about the configurations of `verdict_table`.

python -m tests.config.verdicts    writes the recorded ones
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from attrs import asdict, frozen

from tests.config.verdict_table import ROWS, Row
from tests.oracle import answers

RECORDED: Final = Path(__file__).parent / "data" / "verdicts-of-kafka-4.4.json"


@frozen
class Verdict:
    """Messages of Kafka's configuration and of its start; None: accepted."""

    config: str | None
    start: str | None

    @property
    def accepts(self) -> bool:
        return self.config is None and self.start is None


def verdicts_of_kafka(rows: Sequence[Row], *arguments: str) -> dict[str, Verdict]:
    """Return the verdicts by row. Raises MissingError if Java or Maven is not there.

    arguments: `tls` reads the stores, too.
    """
    settings = (json.dumps(row.settings) for row in rows)
    lines = answers(Path(__file__).parent / "oracle", settings, *arguments)
    return {row.name: Verdict(**json.loads(line)) for row, line in zip(rows, lines, strict=True)}


def recorded_verdicts() -> Mapping[str, Verdict]:
    content = json.loads(RECORDED.read_text())
    return {name: Verdict(**verdict) for name, verdict in content.items()}


def main() -> int:
    content = {name: asdict(verdict) for name, verdict in verdicts_of_kafka(ROWS).items()}
    RECORDED.write_text(json.dumps(content, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
