"""Warnings of a broker in this thread are kept, and still printed if nothing else prints them."""

import logging
import threading

from trio_kafka.introspect.log import get_logger
from trio_kafka.testing.kafka.broker_warnings import MOST, kept_warnings

_logger = get_logger("trio_kafka.log")


def test_the_latest_warnings_of_this_thread_are_kept_with_their_fields():
    with kept_warnings() as warnings:
        for number in range(MOST + 1):
            _logger.warning("disk nearly full", number=number)
        _logger.info("disk has space again")
        other = threading.Thread(target=_logger.warning, args=("of another broker",))
        other.start()
        other.join()
        try:
            raise OSError("gone")
        except OSError:
            _logger.exception("log failed")
    _logger.warning("after the end")

    assert len(warnings.lines) == MOST
    assert warnings.lines[-1] == "ERROR log failed (OSError('gone'))"
    assert warnings.lines[-2] == f"WARNING disk nearly full number={MOST}"


def test_kept_warnings_are_still_written_to_stderr_without_log_handlers(monkeypatch, capsys):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    with kept_warnings():
        _logger.warning("disk nearly full")

    assert "disk nearly full" in capsys.readouterr().err
