"""IncrementalAlterConfigs: single settings, each error, what obeys them, and what stays."""

import logging
from collections.abc import Iterator

import pytest
import trio
from trio.testing import MockClock

from tests.apis.configs import (
    APPEND,
    BROKER,
    DELETE,
    GROUP,
    LOGGER,
    METRICS,
    SET,
    SUBTRACT,
    TOPIC,
    Change,
    alter,
    changes_of,
    described,
    results,
    value,
)
from tests.apis.kit import batch, broker, codes, fetch, produce, stable, write
from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
)
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import run_until_crash, simulated_world
from trio_kafka.world.simulated import SimulatedWorld

RETENTION = "retention.ms"
POLICY = "cleanup.policy"
LOG_RETENTION = "log.retention.ms"
OF_TOPIC, OF_BROKER, OF_ALL_BROKERS, WRITTEN_DOWN, DEFAULT = 1, 2, 3, 4, 5
OK = (0, None)
CONFIG = ErrorCode.INVALID_CONFIG
REQUEST = ErrorCode.INVALID_REQUEST


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """A logger of this broker whose level is put back."""
    result = logging.getLogger("trio_kafka.replication.table")
    levels = [(each, each.level) for each in (result, logging.getLogger())]
    yield result
    for target, level in levels:
        target.setLevel(level)


@pytest.mark.parametrize("version", stable(IncrementalAlterConfigsRequest))
async def test_single_settings_are_set_and_deleted_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t", configs={"segment.bytes": "2000000"})

        assert await alter(served, TOPIC, "t", (RETENTION, SET, "1000"), version=version) == OK
        assert await value(served, TOPIC, "t", RETENTION) == ("1000", OF_TOPIC)
        assert await value(served, TOPIC, "t", "segment.bytes") == ("2000000", OF_TOPIC)
        assert await alter(served, TOPIC, "t", (RETENTION, DELETE, None), version=version) == OK
        assert await value(served, TOPIC, "t", RETENTION) == ("604800000", DEFAULT)
        assert await value(served, TOPIC, "t", "segment.bytes") == ("2000000", OF_TOPIC)


async def test_append_and_subtract_start_from_the_inherited_list(autojump_clock: MockClock) -> None:
    async with broker({"log.cleanup.policy": "compact"}) as served:
        await served.create_topic("t")

        async def after(operation: int, text: str) -> str | None:
            assert await alter(served, TOPIC, "t", (POLICY, operation, text)) == OK
            return (await value(served, TOPIC, "t", POLICY))[0]

        assert await after(APPEND, "delete") == "compact,delete"
        assert await after(APPEND, "delete, compact") == "compact,delete"
        assert await after(SUBTRACT, "compact,none") == "delete"
        assert await after(SUBTRACT, "delete") == ""
        assert await after(SET, "delete,compact") == "delete,compact"
        assert await alter(served, BROKER, "1", ("log.cleanup.policy", APPEND, "compact")) == OK
        assert await value(served, BROKER, "1", "log.cleanup.policy") == (
            "delete,compact",  # Kafka's default is what a broker's list begins with
            OF_BROKER,
        )


async def test_every_level_of_precedence_is_described_and_applied(
    autojump_clock: MockClock,
) -> None:
    async with broker({"log.retention.hours": "1"}) as served:
        await served.create_topic("t")
        result = []
        for kind, name, key, text in (
            (BROKER, "", LOG_RETENTION, "4"),
            (BROKER, "1", LOG_RETENTION, "5"),
            (TOPIC, "t", RETENTION, "6"),
        ):
            assert await alter(served, kind, name, (key, SET, text)) == OK
            result.append(await value(served, TOPIC, "t", RETENTION))
            (partition,) = served.broker.replicas.partitions
            assert partition.log is not None
            assert partition.log.config.retention_ms == int(text)
        row = (await described(served, TOPIC, "t", RETENTION))[RETENTION]
        for kind, name, key in ((TOPIC, "t", RETENTION), (BROKER, "1", LOG_RETENTION)):
            assert await alter(served, kind, name, (key, DELETE, None)) == OK
            result.append(await value(served, TOPIC, "t", RETENTION))
        assert await alter(served, BROKER, "", (LOG_RETENTION, DELETE, None)) == OK
        result.append(await value(served, TOPIC, "t", RETENTION))

    assert result == [
        ("4", OF_ALL_BROKERS),
        ("5", OF_BROKER),
        ("6", OF_TOPIC),
        ("5", OF_BROKER),
        ("4", OF_ALL_BROKERS),
        # As in Kafka: hours that are written down are no synonym that stands for milliseconds.
        ("3600000", DEFAULT),
    ]
    assert [(synonym.name, synonym.value, synonym.source) for synonym in row.synonyms] == [
        (RETENTION, "6", OF_TOPIC),
        (LOG_RETENTION, "5", OF_BROKER),
        (LOG_RETENTION, "4", OF_ALL_BROKERS),
        ("log.retention.hours", "1", WRITTEN_DOWN),
        ("log.retention.hours", "168", DEFAULT),
    ]


INVALID = [
    # What a request gets wrong by itself.
    (TOPIC, "t", [(RETENTION, SET, "1"), (RETENTION, SET, "2")], REQUEST),
    (TOPIC, "t", [(RETENTION, SET, None)], REQUEST),
    (TOPIC, "t", [(POLICY, APPEND, None)], REQUEST),
    (TOPIC, "t", [(RETENTION, 4, "1")], REQUEST),
    (TOPIC, "t", [(RETENTION, -1, "1")], REQUEST),
    (99, "t", [(RETENTION, SET, "1")], REQUEST),
    (0, "t", [(RETENTION, SET, "1")], REQUEST),
    (-1, "t", [], REQUEST),
    (METRICS, "m", [("interval.ms", SET, "1000")], REQUEST),
    # Groups.
    (GROUP, "", [("consumer.session.timeout.ms", SET, "50000")], REQUEST),
    (GROUP, "g", [("session.timeout.ms", SET, "50000")], CONFIG),
    (GROUP, "g", [("consumer.session.timeout.ms", SET, "x")], CONFIG),
    (GROUP, "g", [("consumer.session.timeout.ms", SET, "44999")], CONFIG),
    (GROUP, "g", [("consumer.session.timeout.ms", SET, "60001")], CONFIG),
    (GROUP, "g", [("consumer.session.timeout.ms", APPEND, "1")], CONFIG),
    # Topics.
    (TOPIC, "unknown", [(RETENTION, SET, "1")], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    (TOPIC, "unknown", [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    (TOPIC, "unknown", [(RETENTION, SET, "x")], CONFIG),
    (TOPIC, "a b", [(RETENTION, SET, "1")], ErrorCode.INVALID_TOPIC_EXCEPTION),
    (TOPIC, "", [(RETENTION, SET, "1")], REQUEST),
    (TOPIC, "t", [("no.such", SET, "1")], CONFIG),
    (TOPIC, "t", [("no.such", APPEND, "1")], CONFIG),
    (TOPIC, "t", [(RETENTION, SET, "x")], CONFIG),
    (TOPIC, "t", [(RETENTION, SET, "-2")], CONFIG),
    (TOPIC, "t", [("segment.bytes", SET, "1048575")], CONFIG),
    (TOPIC, "t", [(POLICY, SET, "shred")], CONFIG),
    (TOPIC, "t", [(POLICY, APPEND, "")], CONFIG),
    (TOPIC, "t", [(RETENTION, APPEND, "1")], CONFIG),
    (TOPIC, "t", [(RETENTION, SUBTRACT, "1")], CONFIG),
    (TOPIC, "t", [("remote.storage.enable", SET, "true")], CONFIG),
    (TOPIC, "t", [("leader.replication.throttled.replicas", SET, "0:1,*")], CONFIG),
    (
        TOPIC,
        "t",
        [("min.compaction.lag.ms", SET, "9"), ("max.compaction.lag.ms", SET, "8")],
        CONFIG,
    ),
    # Brokers.
    (BROKER, "2", [(LOG_RETENTION, SET, "1000")], REQUEST),
    (BROKER, "x", [(LOG_RETENTION, SET, "1000")], REQUEST),
    (BROKER, "-1", [(LOG_RETENTION, SET, "1000")], REQUEST),
    (BROKER, "99999999999", [(LOG_RETENTION, SET, "1000")], REQUEST),
    (BROKER, "1", [("num.partitions", SET, "3")], REQUEST),
    (BROKER, "", [("log.retention.hours", SET, "3")], REQUEST),
    (BROKER, "1", [("no.such", SET, "3")], REQUEST),
    (BROKER, "1", [(LOG_RETENTION, SET, "x")], REQUEST),
    (BROKER, "1", [(LOG_RETENTION, SET, "0")], REQUEST),
    (BROKER, "1", [("log.segment.bytes", SET, "1")], REQUEST),
    (BROKER, "1", [("log.cleanup.policy", SET, "x")], REQUEST),
    (BROKER, "", [("listeners", SET, "PLAINTEXT://127.0.0.1:1")], REQUEST),
    (BROKER, "1", [("ssl.keystore.location", SET, "/x")], REQUEST),
    (BROKER, "", [("listener.name.plaintext.ssl.keystore.type", SET, "JKS")], REQUEST),
    (BROKER, "1", [("num.io.threads", SET, "17")], REQUEST),
    (BROKER, "1", [("num.io.threads", SET, "3")], REQUEST),
    (BROKER, "1", [("num.io.threads", SET, "0")], REQUEST),
    (BROKER, "1", [(LOG_RETENTION, APPEND, "1")], CONFIG),
    (BROKER, "1", [("no.such", APPEND, "1")], CONFIG),
    (BROKER, "1", [("min.insync.replicas", SET, "1")], CONFIG),
    (BROKER, "", [("min.insync.replicas", DELETE, None)], CONFIG),
    (BROKER, "", [("min.insync.replicas", SET, "0")], REQUEST),
    # Loggers.
    (LOGGER, "", [("root", SET, "INFO")], REQUEST),
    (LOGGER, "2", [("root", SET, "INFO")], REQUEST),
    (LOGGER, "x", [("root", SET, "INFO")], REQUEST),
    (LOGGER, "1", [("root", SET, "info")], CONFIG),
    (LOGGER, "1", [("root", SET, "WARNING")], CONFIG),
    (LOGGER, "1", [("root", SET, "OFF")], CONFIG),
    (LOGGER, "1", [("root", SET, "")], CONFIG),
    (LOGGER, "1", [("root", DELETE, None)], REQUEST),
    (LOGGER, "1", [("root", APPEND, "INFO")], REQUEST),
    (LOGGER, "1", [("root", SUBTRACT, "INFO")], REQUEST),
    (LOGGER, "1", [("root", 9, "INFO")], REQUEST),
    (LOGGER, "1", [("no.such", SET, "INFO")], CONFIG),
    (LOGGER, "1", [("no.such", DELETE, None)], CONFIG),
]


@pytest.mark.parametrize("version", stable(IncrementalAlterConfigsRequest))
async def test_an_invalid_change_is_refused_and_nothing_is_changed(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        before = served.broker.metadata.image.configs, logging.getLogger("trio_kafka").level
        for kind, name, changes, code in INVALID:
            logger, segment = ("trio_kafka", SET, "TRACE"), ("segment.ms", SET, "77")
            good = logger if kind == LOGGER else segment
            together = [*changes] if kind == BROKER else [good, *changes]
            result, _ = await alter(served, kind, name, *together, version=version)
            after = served.broker.metadata.image.configs, logging.getLogger("trio_kafka").level

            assert result == code, (kind, name, changes)
            assert after == before, (kind, name, changes)


async def test_a_list_longer_than_a_protocol_string_is_refused(autojump_clock: MockClock) -> None:
    name = "leader.replication.throttled.replicas"
    items = ",".join(f"{number}:1" for number in range(4830))
    async with broker() as served:
        await served.create_topic("t")
        assert await alter(served, TOPIC, "t", (name, SET, items)) == OK
        more = ",".join(f"{number}:2" for number in range(100))
        code, text = await alter(served, TOPIC, "t", (name, APPEND, more))

    assert 32000 < len(items) < 32767
    assert (code, "at most 32767" in str(text)) == (CONFIG, True)


@pytest.mark.parametrize("version", stable(IncrementalAlterConfigsRequest))
async def test_validate_only_returns_the_results_and_changes_nothing(
    autojump_clock: MockClock, version: int, logger: logging.Logger
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        before, level = served.broker.metadata.image.configs, logger.level

        async def validate(kind: int, name: str, *changes: Change) -> int:
            return (await alter(served, kind, name, *changes, version=version, validate_only=True))[
                0
            ]

        assert await validate(TOPIC, "t", (RETENTION, SET, "1000")) == 0
        assert await validate(TOPIC, "t", (RETENTION, SET, "x")) == CONFIG
        assert await validate(BROKER, "1", (LOG_RETENTION, SET, "1000")) == 0
        assert await validate(BROKER, "1", ("num.partitions", SET, "1")) == REQUEST
        assert await validate(LOGGER, "1", (logger.name, SET, "ERROR")) == 0
        assert await validate(LOGGER, "1", (logger.name, SET, "LOUD")) == CONFIG
        assert served.broker.metadata.image.configs is before
        assert logger.level == level


async def test_a_setting_that_is_not_set_can_be_deleted(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")

        for kind, name in ((TOPIC, "t"), (BROKER, "1"), (BROKER, "")):
            for key in ("no.such", "segment.bytes", "num.partitions"):
                assert await alter(served, kind, name, (key, DELETE, None)) == OK
            assert await alter(served, kind, name) == OK


async def test_each_resource_is_answered_independently_in_the_order_of_the_request(
    autojump_clock: MockClock, logger: logging.Logger
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.create_topic("u")
        answer = await served.ask(
            IncrementalAlterConfigsRequest(
                [
                    changes_of(TOPIC, "u", (RETENTION, SET, "7")),
                    changes_of(TOPIC, "t", (RETENTION, SET, "8")),
                    changes_of(LOGGER, "1", (logger.name, SET, "FATAL")),
                    changes_of(TOPIC, "unknown", (RETENTION, SET, "9")),
                    changes_of(TOPIC, "t", (RETENTION, SET, "10")),
                    changes_of(BROKER, "", (LOG_RETENTION, SET, "11")),
                    changes_of(99, "t"),
                ]
            ),
            1,
        )

        assert results(answer) == [
            (0, TOPIC, "u"),
            (REQUEST, TOPIC, "t"),  # is named twice
            (0, LOGGER, "1"),
            (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, TOPIC, "unknown"),
            (REQUEST, TOPIC, "t"),
            (0, BROKER, ""),
            (REQUEST, 99, "t"),
        ]
        assert await value(served, TOPIC, "u", RETENTION) == ("7", OF_TOPIC)
        assert await value(served, TOPIC, "t", RETENTION) == ("11", OF_ALL_BROKERS)
        assert logger.level == logging.CRITICAL
        assert results(await served.ask(IncrementalAlterConfigsRequest([]), 1)) == []


async def test_a_secret_setting_is_stored_and_never_returned_or_logged(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    name = "listener.name.plaintext.ssl.keystore.password"
    world = simulated_world()
    async with served_broker(world) as served:
        assert await alter(served, BROKER, "1", (name, SET, "a secret")) == OK
    async with served_broker(world) as served:
        row = (await described(served, BROKER, "1", name))[name]
        config = served.broker.metadata.image.config(BROKER, "1")
        code, text = await alter(served, BROKER, "1", (name, SET, "another"), ("x", SET, "secret"))

    assert config == {name: "a secret"}
    assert (row.value, row.is_sensitive, row.config_source) == (None, True, OF_BROKER)
    assert [(synonym.value, synonym.source) for synonym in row.synonyms] == [(None, OF_BROKER)]
    assert (code, "secret" in str(text)) == (REQUEST, False)
    assert "secret" not in caplog.text


async def test_a_topic_setting_is_in_force_when_the_request_is_answered(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        big = batch(bytes(2000))
        (partition,) = served.broker.replicas.partitions
        assert partition.log is not None

        assert (await produce(served, "t", big)).error_code == 0
        await alter(served, TOPIC, "t", ("max.message.bytes", SET, "1000"))
        assert (await produce(served, "t", big)).error_code == ErrorCode.MESSAGE_TOO_LARGE
        await alter(served, TOPIC, "t", ("max.message.bytes", DELETE, None))
        await alter(served, BROKER, "", ("message.max.bytes", SET, "1000"))
        assert (await produce(served, "t", big)).error_code == ErrorCode.MESSAGE_TOO_LARGE
        await alter(served, BROKER, "1", ("message.max.bytes", SET, "3000"))
        assert (await produce(served, "t", big)).error_code == 0
        await alter(served, TOPIC, "t", (POLICY, SET, "compact"))
        assert (await produce(served, "t", batch(b"no key"))).error_code != 0
        await alter(
            served,
            TOPIC,
            "t",
            (POLICY, DELETE, None),
            ("message.timestamp.type", SET, "LogAppendTime"),
            ("segment.bytes", SET, "1048576"),
            ("segment.ms", SET, "1234"),
            ("retention.bytes", SET, "9000000"),
            ("flush.messages", SET, "1"),
            ("index.interval.bytes", SET, "11"),
            ("file.delete.delay.ms", SET, "12"),
        )
        assert (await produce(served, "t", batch(b"a", timestamp=5))).log_append_time_ms > 5
        config = partition.log.config

    assert (config.segment_bytes, config.segment_ms) == (1 << 20, 1234)
    assert (config.retention_bytes, config.flush_messages) == (9_000_000, 1)
    assert (config.index_interval_bytes, config.file_delete_delay_ms) == (11, 12)
    assert config.cleanup_policy == {"delete"}


async def test_retention_applies_a_changed_setting(autojump_clock: MockClock) -> None:
    async with broker({"log.retention.check.interval.ms": "1000"}) as served:
        await served.create_topic("t", configs={"segment.ms": "10"})
        await write(served, "t", b"old")
        await trio.sleep(1)
        await write(served, "t", b"new")  # rolls
        await trio.sleep(5)
        assert (await fetch(served, "t")).log_start_offset == 0

        await alter(served, TOPIC, "t", (RETENTION, SET, "2000"))
        await trio.sleep(3)

        assert (await fetch(served, "t")).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


async def test_the_number_of_handlers_follows_num_io_threads(autojump_clock: MockClock) -> None:
    def tokens(served: ServedBroker) -> object:
        (result,) = [
            node.figures()["tokens"]
            for _, node in served.broker.node.walk()
            if node.name == "num.io.threads"
        ]
        return result

    def tasks(served: ServedBroker) -> object:
        (result,) = [
            node.figures()["tasks"]
            for _, node in served.broker.node.walk()
            if node.name == "request-handlers"
        ]
        return result

    world = simulated_world()
    async with served_broker(world) as served:
        await alter(served, BROKER, "1", ("num.io.threads", SET, "16"))
        assert tokens(served) == 16
        assert 16 <= int(str(tasks(served))) <= 17  # one is kept for the next parked request
        await alter(served, BROKER, "1", ("num.io.threads", SET, "8"))
        assert tokens(served) == 8
        await alter(served, BROKER, "1", ("num.io.threads", SET, "4"))
        for _ in range(40):
            await served.ask(MetadataRequest(None), 12)
            await served.ask(IncrementalAlterConfigsRequest([]), 1)  # by a handler's task
        assert tokens(served) == 4
        assert 1 <= int(str(tasks(served))) < 16
    async with served_broker(world) as served:
        assert (tokens(served), tasks(served)) == (4, 4)


async def test_the_number_of_processors_follows_num_network_threads(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    result = []
    for size in "5", "3":
        async with served_broker(world) as served:
            assert await alter(served, BROKER, "1", ("num.network.threads", SET, size)) == OK
            listener = served.broker.plane.listeners["PLAINTEXT"]
            result.append(len(listener.processors))

    assert result == [5, 3]


async def test_the_level_of_a_logger_changes_at_once_and_its_deletion_restores_the_parents(
    autojump_clock: MockClock, logger: logging.Logger
) -> None:
    logging.getLogger().setLevel("INFO")
    async with broker() as served:
        for level, number in (
            ("TRACE", 5),
            ("DEBUG", logging.DEBUG),
            ("INFO", logging.INFO),
            ("WARN", logging.WARNING),
            ("ERROR", logging.ERROR),
            ("FATAL", logging.CRITICAL),
        ):
            assert await alter(served, LOGGER, "1", (logger.name, SET, level)) == OK
            assert logger.getEffectiveLevel() == number
            assert await value(served, LOGGER, "1", logger.name) == (level, 6)
        assert await alter(served, LOGGER, "1", (logger.name, DELETE, None)) == OK
        assert await alter(served, LOGGER, "1", ("root", SET, "ERROR")) == OK
        assert logger.getEffectiveLevel() == logging.ERROR
        assert await value(served, LOGGER, "1", "root") == ("ERROR", 6)
        assert (LOGGER, "1") not in served.broker.metadata.image.configs


async def change_all(served: ServedBroker) -> None:
    await served.create_topic("t")
    for kind, name, change in (
        (TOPIC, "t", (RETENTION, SET, "3")),
        (BROKER, "1", ("message.max.bytes", SET, "4000")),
        (BROKER, "", ("log.segment.bytes", SET, "5000000")),
    ):
        assert await alter(served, kind, name, change) == OK


async def kept(served: ServedBroker) -> list[tuple[str | None, int]]:
    return [
        await value(served, TOPIC, "t", key)
        for key in (RETENTION, "max.message.bytes", "segment.bytes")
    ]


KEPT = [("3", OF_TOPIC), ("4000", OF_BROKER), ("5000000", OF_ALL_BROKERS)]


async def test_changed_settings_survive_a_restart_and_are_applied(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await change_all(served)
    async with served_broker(world) as served:
        assert await kept(served) == KEPT
        (partition,) = served.broker.replicas.partitions
        assert partition.log is not None
        config = partition.log.config
        assert (config.retention_ms, config.max_message_bytes) == (3, 4000)
        assert config.segment_bytes == 5_000_000
        assert codes([await produce(served, "t", batch(bytes(5000)))]) == [
            ErrorCode.MESSAGE_TOO_LARGE
        ]


@pytest.mark.parametrize("power", [False, True])
async def test_answered_changes_survive_a_kill_and_a_power_loss(
    autojump_clock: MockClock, power: bool
) -> None:
    world = simulated_world()

    async def life(world: SimulatedWorld) -> None:
        async with served_broker(world) as served:
            await change_all(served)
            changed.set()
            await trio.sleep_forever()

    changed = trio.Event()
    await run_until_crash(world, life, 60, power=power, kept=0.0)
    assert changed.is_set()

    async with served_broker(world.universe.machine(world.name)) as served:
        assert await kept(served) == KEPT


async def test_settings_of_a_topic_are_deleted_with_the_topic(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await alter(served, TOPIC, "t", (RETENTION, SET, "3"))
        await served.broker.controller.delete_topics(["t"])
        await served.create_topic("t")

        image: MetadataImage = served.broker.metadata.image
        assert image.config(TOPIC, "t") == {}
        assert await value(served, TOPIC, "t", RETENTION) == ("604800000", DEFAULT)


async def test_a_group_can_have_settings_before_the_group_exists(
    autojump_clock: MockClock,
) -> None:
    name = "consumer.session.timeout.ms"
    async with broker() as served:
        await alter(served, GROUP, "g", (name, SET, "50000"))
        row = (await described(served, GROUP, "g", name))[name]
        assert (row.value, row.config_source) == ("50000", 8)
        assert [(synonym.name, synonym.value, synonym.source) for synonym in row.synonyms] == [
            (name, "50000", 8),
            (f"group.{name}", "45000", DEFAULT),
        ]
        coordinator = served.broker.groups
        assert coordinator.own_settings["g"].consumer_session_timeout_ms == 50000

        await alter(served, GROUP, "g", (name, DELETE, None))
        row = (await described(served, GROUP, "g", name))[name]
        assert (row.value, row.config_source) == ("45000", DEFAULT)
        assert coordinator.own_settings == {}
