"""Log of a replayed run: every call to the world and every event of the broker, with its time."""

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import trio

from trio_kafka.world.simulated import Universe

LOG: Final = "TRIO_KAFKA_SIMULATE_LOG"  # file of the log; default: one in the temporary directory
_LOGGER: Final = "trio_kafka"


class ReplayLog:
    """File of one replayed run."""

    def __init__(self, name: str, seed: str) -> None:
        path = os.environ.get(LOG)
        clean = "".join(letter if letter.isalnum() else "_" for letter in name)
        directory = Path(tempfile.gettempdir()) / "trio-kafka-simulate"
        self.path = Path(path) if path else directory / f"{clean}-{seed}.log"

    @contextmanager
    def recording(self, universe: Universe) -> Iterator[None]:
        """Write the log at the end of the block, also if it raises."""
        handler = _Notes(universe.trace)
        logger = logging.getLogger(_LOGGER)
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text("".join(f"{line}\n" for line in universe.trace))
            print(f"log of the simulated run: {self.path}")


class _Notes(logging.Handler):
    """Adds events of the broker to the trace, and leaves its digest alone."""

    def __init__(self, trace: list[str]) -> None:
        super().__init__()
        self._trace = trace

    def emit(self, record: logging.LogRecord) -> None:
        try:
            now = f"{trio.current_time():.6f}"
        except RuntimeError:  # outside of the run
            now = "-"
        self._trace.append(f"{now} {record.levelname} {record.name}: {record.getMessage()}")
