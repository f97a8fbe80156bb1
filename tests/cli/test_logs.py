import json
import logging

from trio_kafka.cli.logs import log_warnings, logging_as
from trio_kafka.config.load import broker_config, load, options
from trio_kafka.introspect.log import get_logger

log = get_logger("trio_kafka.test_logs")


def test_log_events_are_written_to_standard_error_as_text(capsys):
    with logging_as(broker_config()):
        log.info("ready", port=9092)

    assert capsys.readouterr().err.endswith(" INFO    trio_kafka.test_logs: ready port=9092\n")


def test_log_events_are_json_with_log_format_json(capsys):
    with logging_as(broker_config({"trio.log.format": "json"})):
        log.info("ready", port=9092)

    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["port"]) == ("ready", 9092)


def test_log_level_is_that_of_the_setting(capsys):
    with logging_as(broker_config({"trio.log.level": "ERROR"})):
        log.warning("quiet")
        log.error("loud")

    assert [line.split(": ")[1] for line in capsys.readouterr().err.splitlines()] == ["loud"]


def test_log_events_of_other_libraries_are_written_too(capsys):
    with logging_as(broker_config()):
        logging.getLogger("hypercorn").warning("from %s", "outside")

    assert capsys.readouterr().err.endswith(" WARNING hypercorn: from outside\n")


def test_logging_configuration_is_restored_at_the_end_of_the_block(capsys):
    before = logging.getLogger().level, list(logging.getLogger().handlers)

    with logging_as(broker_config({"trio.log.level": "DEBUG"})):
        assert logging.getLogger().level == logging.DEBUG

    assert (logging.getLogger().level, logging.getLogger().handlers) == before


def test_each_setting_without_effect_is_logged_in_one_line(capsys):
    loaded = load(options(["share.coordinator.threads=2", "metric.reporters=A"]))

    with logging_as(loaded.config):
        log_warnings(loaded)

    first, second = capsys.readouterr().err.splitlines()
    assert 'setting="-c: share.coordinator.threads is not supported yet: ' in first
    assert 'setting="-c: metric.reporters does not apply here: ' in second
