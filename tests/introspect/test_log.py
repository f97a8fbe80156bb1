import io
import json
import logging
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.introspect.log import fields_of, get_logger, make_handler

AT = 1_700_000_000.25


def written(kind, write, wall=lambda: AT):
    """Output of `write(logger)` on the stream of a handler of this kind."""
    stream = io.StringIO()
    handler = make_handler(kind, wall, stream)
    logger = get_logger("trio_kafka.test_log")
    logger.logger.addHandler(handler)
    logger.logger.setLevel(logging.DEBUG)
    logger.logger.propagate = False
    try:
        write(logger)
    finally:
        logger.logger.removeHandler(handler)
    return stream.getvalue()


def test_text_log_line_has_time_level_logger_event_and_fields():
    text = written("text", lambda log: log.info("connection closed", peer="[::1]:9", reason="idle"))

    assert text == (
        "2023-11-14T22:13:20.250Z INFO    trio_kafka.test_log: "
        "connection closed peer=[::1]:9 reason=idle\n"
    )


def test_json_log_line_is_one_object_and_keeps_field_types():
    text = written("json", lambda log: log.warning("slow sync", took_s=1.5, tries=2, path=None))

    assert text.count("\n") == 1
    assert json.loads(text) == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "WARNING",
        "logger": "trio_kafka.test_log",
        "event": "slow sync",
        "took_s": 1.5,
        "tries": 2,
        "path": None,
    }


def test_field_named_like_a_member_of_a_json_log_line_gets_an_underscore():
    line = json.loads(written("json", lambda log: log.info("elected", event="e", time=3)))

    assert (line["event"], line["event_"]) == ("elected", "e")
    assert (line["time"], line["time_"]) == ("2023-11-14T22:13:20.250Z", 3)


def test_log_time_is_the_worlds_time_even_before_1970():
    text = written("text", lambda log: log.info("x"), wall=lambda: -1.0)

    assert text.startswith("1969-12-31T23:59:59.000Z ")


def test_traceback_follows_the_text_line_and_is_a_member_of_the_json_line():
    def fail(log):
        try:
            raise OSError("disk is gone")
        except OSError:
            log.exception("job failed", job="retention")

    first, *rest = written("text", fail).splitlines()
    assert first.endswith("ERROR   trio_kafka.test_log: job failed job=retention")
    assert rest[0] == "  | Traceback (most recent call last):"
    assert rest[-1] == "  | OSError: disk is gone"
    assert json.loads(written("json", fail))["exception"].endswith("OSError: disk is gone")


FORGED = (
    "x\n2026-01-01T00:00:00.000Z INFO    trio_kafka.test_log: forged\r\x1b[2J\x9b\u2028y\x85z\x7f"
)


def test_traceback_with_peer_text_cannot_forge_a_log_line():
    def fail(log):
        try:
            raise ValueError(FORGED)
        except ValueError:
            log.exception("request failed", client=FORGED)

    text = written("text", fail)
    line, *trace = text.removesuffix("\n").split("\n")

    assert all(line_of_trace.startswith("  | ") for line_of_trace in trace)
    assert all(line_of_trace.isprintable() for line_of_trace in (line, *trace))
    assert text.splitlines() == [line, *trace]


def test_json_log_line_is_printable_ascii_for_any_peer_text():
    text = written("json", lambda log: log.info("%s", FORGED, client=FORGED))

    line = text.removesuffix("\n")
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["client"] == FORGED


@given(st.text(), st.text())
def test_peer_text_cannot_break_or_forge_a_log_line(event, field):
    text = written("text", lambda log: log.info("%s", event, field=field))

    line, end, rest = text.partition("\n")
    assert (end, rest) == ("\n", "")
    assert line.isprintable()
    assert " trio_kafka.test_log: " in line


@given(st.text())
def test_json_log_line_keeps_the_logged_value(field):
    assert json.loads(written("json", lambda log: log.info("x", field=field)))["field"] == field


def test_log_value_with_a_space_is_quoted():
    text = written("text", lambda log: log.info("x", client="a user=root"))

    assert text.endswith('x client="a user=root"\n')


def test_log_records_of_other_libraries_have_no_fields():
    record = logging.LogRecord("other", logging.INFO, "f", 1, "m", (), None)

    assert fields_of(record) == {}


@pytest.mark.parametrize("kind", ["text", "json"])
def test_log_line_is_short_for_any_length_of_peer_text(kind):
    def write(log):
        try:
            raise ValueError("v" * 100_000)
        except ValueError:
            log.exception("%s", "e" * 100_000, client="c" * 32_767, topics=["t" * 249] * 5000)

    text = written(kind, write)

    assert len(text) < 60_000
    assert "characters)" in text


def test_event_below_the_log_level_writes_nothing():
    def quiet(log):
        log.logger.setLevel(logging.INFO)
        log.debug("never", field=object())

    assert written("text", quiet) == ""


def test_log_module_does_not_import_structlog():
    code = "import sys, trio_kafka.introspect.log; print('structlog' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
