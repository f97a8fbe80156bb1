"""The last events of the log, in memory."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.log_tail import MOST, LogTail, tail_of_log


@contextmanager
def logged(name: str) -> Iterator[tuple[logging.Logger, LogTail]]:
    """A logger of its own, and the tail of the root logger."""
    logger = logging.getLogger(name)
    logger.setLevel(logging.DEBUG)
    with tail_of_log(lambda: 1.5) as tail:
        yield logger, tail


def test_event_is_kept_with_level_logger_and_fields(request: pytest.FixtureRequest) -> None:
    with logged(request.node.name) as (logger, tail):
        get_logger(logger.name).warning("connection closed", peer="a b", count=3)

    [event] = [event for event in tail.events() if event.logger == logger.name]
    assert (event.time, event.level) == ("1970-01-01T00:00:01.500Z", "WARNING")
    assert event.text == 'connection closed peer="a b" count=3'


def test_only_the_last_events_are_kept_and_all_are_counted(
    request: pytest.FixtureRequest,
) -> None:
    with logged(request.node.name) as (logger, tail):
        for number in range(MOST + 3):
            logger.info("event %d", number)

    numbers = [event.number for event in tail.events()]
    assert len(numbers) == MOST
    assert numbers == list(range(tail.count - MOST + 1, tail.count + 1))
    assert tail.events()[-1].text == f"event {MOST + 2}"


def test_text_of_a_client_cannot_forge_an_event_or_fill_memory(
    request: pytest.FixtureRequest,
) -> None:
    with logged(request.node.name) as (logger, tail):
        get_logger(logger.name).info("seen", client="\x1b[31m\r\nERROR\u202e" + "x" * 100_000)

    [event] = [event for event in tail.events() if event.logger == logger.name]
    assert event.text.isascii()
    assert event.text.isprintable()
    assert len(event.text) < 2000


def test_lines_of_a_traceback_are_marked(request: pytest.FixtureRequest) -> None:
    with logged(request.node.name) as (logger, tail):
        try:
            raise ValueError("wrong\nline")
        except ValueError:
            logger.exception("failed")

    [event] = [event for event in tail.events() if event.logger == logger.name]
    first, *rest = event.text.split("\n")
    assert first == "failed"
    assert rest[-2:] == ["  | ValueError: wrong", "  | line"]
    assert all(line.startswith("  | ") for line in rest)


def test_event_that_cannot_be_formatted_is_reported_and_not_raised(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tail = LogTail(lambda: 0.0)
    record = logging.LogRecord("a", logging.INFO, "file", 1, "%d", ("no number",), None)

    tail.handle(record)

    assert tail.events() == []
    assert "no number" in capsys.readouterr().err


def test_nothing_is_kept_after_the_block(request: pytest.FixtureRequest) -> None:
    with logged(request.node.name) as (logger, tail):
        pass
    logger.warning("later")

    assert [event for event in tail.events() if event.logger == logger.name] == []
    assert tail not in logging.getLogger().handlers
