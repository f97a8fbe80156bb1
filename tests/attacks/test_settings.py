"""An anonymous client that sets every dynamic setting to hostile values, by AlterConfigs alone.

Nothing outside the broker's data directory may change, and the broker must serve while it is
attacked and after a restart.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

import pytest

from tests.attacks.harness import MIB, attacked_broker, with_descriptors
from trio_kafka.cli.broker_client import SendRequest, open_client
from trio_kafka.config.catalogue import every_setting
from trio_kafka.config.group import group_settings
from trio_kafka.config.setting import Setting, Update
from trio_kafka.config.topic import TOPIC_SETTINGS
from trio_kafka.config.values import Kind
from trio_kafka.introspect.levels import LEVELS
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from trio_kafka.protocol.messages.k33_alter_configs import AlterableConfig as WholeConfig
from trio_kafka.protocol.messages.k33_alter_configs import AlterConfigsRequest
from trio_kafka.protocol.messages.k33_alter_configs import AlterConfigsResource as WholeResource
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from trio_kafka.records.batch import Record, encode_batch
from trio_kafka.testing.processes import BrokerProcess, broker_process

Size = Callable[[int, int], int]
Resource = tuple[ConfigResourceType, str]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3
BROKER: Final = (ConfigResourceType.BROKER, "1")
ALL_BROKERS: Final = (ConfigResourceType.BROKER, "")
TOPIC: Final = (ConfigResourceType.TOPIC, "t")
GROUP: Final = (ConfigResourceType.GROUP, "g")
LOGGER: Final = (ConfigResourceType.BROKER_LOGGER, "1")
PRECIOUS: Final = b"precious\n"

# Few connections are few, for this client and the bystander too: as in Kafka, until an authorizer
# decides. See docs/design/dynamic-settings.md.
LOCKS_OUT: Final = {
    "max.connection.creation.rate",
    "max.connections",
    "max.connections.per.ip",
    "num.network.threads",  # a processor that goes closes its connections
}
NUMBERS: Final = [
    str(number)
    for bits in (0, 15, 16, 31, 32, 53, 63, 64)
    for number in (-(1 << bits) - 1, -(1 << bits), (1 << bits) - 1, 1 << bits)
] + ["1e308", "-1e308", "1e-308", "NaN", "Infinity", "0x7f", "9" * 5000, "٣"]


@contextmanager
def client(broker: BrokerProcess) -> Iterator[SendRequest]:
    host, port = broker.address
    with open_client(Endpoint(host, port), 900.0, unknown="no such API") as ask:
        yield ask


def alter(
    ask: SendRequest, resource: Resource, *settings: tuple[str, str | None], operation: int = SET
) -> tuple[int, str | None]:
    changes = [AlterableConfig(name, operation, text) for name, text in settings]
    changed = AlterConfigsResource(resource[0], resource[1], changes)
    try:
        (answer,) = ask(IncrementalAlterConfigsRequest([changed])).responses
    except OSError as error:
        excerpts = [(name, (text or "")[:100]) for name, text in settings]
        raise AssertionError(f"no answer: {resource} {excerpts} {operation}") from error
    return answer.error_code, answer.error_message


def replace(ask: SendRequest, resource: Resource, **settings: str) -> int:
    """Legacy AlterConfigs: `_` in a name stands for `.`; all other settings are removed."""
    changes = [WholeConfig(name.replace("_", "."), text) for name, text in settings.items()]
    changed = WholeResource(resource[0], resource[1], changes)
    (answer,) = ask(AlterConfigsRequest([changed])).responses
    return int(answer.error_code)


def create_topic(ask: SendRequest, name: str) -> None:
    request = MetadataRequest([MetadataRequestTopic(name=name)], allow_auto_topic_creation=True)
    while ask(request).topics[0].error_code:
        pass


def produce(ask: SendRequest, topic: str) -> int:
    batch = memoryview(bytearray(encode_batch([Record(value=b"v")])))
    partition = PartitionProduceData(index=0, records=batch)
    data = TopicProduceData(name=topic, topic_id=topic_id(ask, topic), partition_data=[partition])
    request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data])
    return int(ask(request).responses[0].partition_responses[0].error_code)


def topic_id(ask: SendRequest, topic: str) -> bytes:
    id_: bytes = ask(MetadataRequest([MetadataRequestTopic(name=topic)])).topics[0].topic_id
    return id_


@contextmanager
def unchanged(directory: Path, broker_data: Path) -> Iterator[None]:
    """Assert that no file below `directory` changes, but for the broker's data and log."""

    def content() -> dict[Path, bytes | None]:
        return {
            path: path.read_bytes() if path.is_file() else None
            for path in directory.rglob("*")
            if not path.is_relative_to(broker_data) and path.name != "broker.log"
        }

    before = content()
    yield
    assert content() == before


def precious_file(directory: Path) -> Path:
    outside = directory / "outside"
    outside.mkdir()
    file = outside / "precious"
    file.write_bytes(PRECIOUS)
    return file


# --- files


def test_a_client_cannot_make_the_broker_write_to_a_file_of_its_choice(tmp_path: Path) -> None:
    victim = precious_file(tmp_path)
    paths = [str(victim), str(victim.parent / "new"), "relative", "../up", "/dev/full", "a\0b"]

    with (
        unchanged(tmp_path, tmp_path / "data"),
        attacked_broker(tmp_path) as attacked,
        client(attacked.broker) as ask,
    ):
        for resource in (BROKER, ALL_BROKERS):
            for path in paths:
                changes = ("trio.request.log", "file"), ("trio.request.log.file", path)
                assert alter(ask, resource, *changes)[0]
                assert alter(ask, resource, *changes, operation=APPEND)[0]
                assert replace(ask, resource, trio_request_log="file", trio_request_log_file=path)
                create_topic(ask, "t")


def test_a_client_cannot_direct_the_request_log_to_an_internal_topic(tmp_path: Path) -> None:
    with attacked_broker(tmp_path) as attacked, client(attacked.broker) as ask:
        for topic in ("__consumer_offsets", "__transaction_state", "__cluster_metadata", "a/b"):
            changes = ("trio.request.log", "topic"), ("trio.request.log.topic", topic)
            assert alter(ask, BROKER, *changes)[0]
        assert not list(attacked.broker.data.glob("__consumer_offsets-*"))


# --- a fuzz of all of them


def hostile(setting: Setting, victim: Path, random: Random, longest: int) -> Iterator[str]:
    """Values that a stranger might try, whatever the setting is for."""
    yield from ("", " ", "\0", "\r\n2026-01-01 INFO forged: line", "\x1b[2J", "\u2028", "%s%n{0}")
    yield from (str(victim), f"file://{victim}", "/dev/zero", "/proc/self/mem", "../../up", "~")
    yield from ("${env:HOME}", f"${{file:{victim}:precious}}", f"${{directory:{victim.parent}:x}}")
    yield "x" * longest
    yield ",".join(map(str, range(longest // 6)))
    yield ",".join(f"192.0.2.{number}:1" for number in range(longest // 16))
    if setting.kind is Kind.BOOLEAN:
        yield from ("true", "false", "TRUE")
    elif setting.choices:
        yield from setting.choices
        yield ",".join(setting.choices)
    elif setting.name in LOCKS_OUT:
        yield from ("-1", "0", "2147483647", "2147483648")
    elif setting.kind in (Kind.INT, Kind.SHORT, Kind.LONG, Kind.DOUBLE):
        yield from NUMBERS
        for bound in (setting.low, setting.high):
            if bound is not None:
                yield from (str(bound), str(bound - 1), str(bound + 1))
    if setting.name == "listeners":
        yield from (
            "PLAINTEXT://203.0.113.1:9092",
            "PLAINTEXT://h\0:1",
            "PLAINTEXT://127.0.0.1:99999",
            "X://127.0.0.1:0",
        )
    if setting.name not in LOCKS_OUT:
        yield str(random.getrandbits(64))


def dynamic_settings() -> dict[str, Setting]:
    """Settings that may change while a broker runs, some that only look so, and with a prefix."""
    all_settings = every_setting()
    dynamic = {
        name: setting
        for name, setting in all_settings.items()
        if setting.update is not Update.READ_ONLY or name.startswith("trio.")
    }
    prefixed = {f"listener.name.plaintext.{name}": setting for name, setting in dynamic.items()}
    of_plugin = {
        f"plugin.{name}": all_settings["trio.request.log.file"]
        for name in ("audit.topic", "http.listeners", "chaos.rules", "x.y")
    }
    return {**dynamic, **prefixed, **of_plugin}


def targets() -> Iterator[tuple[Resource, str, Setting]]:
    for name, setting in dynamic_settings().items():
        yield BROKER, name, setting
        yield ALL_BROKERS, name, setting
    for name, setting in TOPIC_SETTINGS.items():
        yield TOPIC, name, setting
        yield (ConfigResourceType.TOPIC, "__consumer_offsets"), name, setting
    for name, setting in group_settings().items():
        yield GROUP, name, setting


def test_a_broker_serves_and_restarts_with_hostile_values_of_every_dynamic_setting(
    tmp_path: Path, size: Size
) -> None:
    random, victim, longest = Random(1), precious_file(tmp_path), 32_767
    rounds = size(1, 2)
    accepted = 0

    with unchanged(tmp_path, tmp_path / "data"):
        with (
            attacked_broker(tmp_path, longest_stall_s=0.2) as attacked,
            client(attacked.broker) as ask,
        ):
            create_topic(ask, "t")
            for _ in range(rounds):
                for resource, name, setting in targets():
                    values = list(hostile(setting, victim, random, longest))
                    for value in random.sample(values, size(1, 12)):
                        operation = random.choice((SET, SET, APPEND))
                        error, _ = alter(ask, resource, (name, value), operation=operation)
                        accepted += not error
                        if not error and random.random() < 0.5:
                            alter(ask, resource, (name, None), operation=DELETE)
                for name in LEVELS:
                    alter(ask, LOGGER, ("root", name))
                alter(ask, LOGGER, ("root", "INFO"))
            assert accepted

        with (
            broker_process(tmp_path, port=attacked.broker.address[1]) as again,
            client(again) as ask,
        ):
            assert not replace(ask, ALL_BROKERS, min_insync_replicas="1")
            for resource in (BROKER, TOPIC):
                assert not replace(ask, resource)
            assert produce(ask, "t") == 0
            assert again.stop() == 0


# --- listeners and pools


def test_a_broker_starts_despite_a_stored_listener_address_of_another_machine(
    tmp_path: Path,
) -> None:
    with attacked_broker(tmp_path) as attacked, client(attacked.broker) as ask:
        port = attacked.broker.address[1]
        create_topic(ask, "t")
        error, message = alter(ask, BROKER, ("listeners", "PLAINTEXT://203.0.113.1:9092"))
        assert not error, message

    with broker_process(tmp_path, port=port) as again, client(again) as ask:
        assert produce(ask, "t") == 0
        assert again.stop() == 0


def test_a_broker_without_descriptors_for_more_processors_keeps_serving(
    tmp_path: Path,
) -> None:
    with (
        attacked_broker(tmp_path, command=with_descriptors(64)) as attacked,
        client(attacked.broker) as ask,
    ):
        for threads in (6, 12, 24, 48, 64):
            alter(ask, ALL_BROKERS, ("num.network.threads", str(threads)))
        create_topic(ask, "t")


# A listener with a processor has three descriptors: one of these limits is hit by each of them.
@pytest.mark.parametrize("limit", [64, 65, 66])
def test_a_broker_without_descriptors_for_more_listeners_keeps_serving(
    tmp_path: Path, limit: int
) -> None:
    with (
        attacked_broker(tmp_path, command=with_descriptors(limit)) as attacked,
        client(attacked.broker) as ask,
    ):
        ask(MetadataRequest([]))  # the first request of an API imports its handler: that is a file
        names = [f"L{number}" for number in range(30)]
        protocols = ",".join(f"{name}:PLAINTEXT" for name in ("PLAINTEXT", *names))
        for name in names:
            alter(ask, BROKER, (f"listener.name.{name.lower()}.num.network.threads", "1"))
        host, port = attacked.broker.address
        listeners = [f"PLAINTEXT://{host}:{port}"]
        for name in names:
            listeners.append(f"{name}://{host}:0")
            settings = {
                "listener.security.protocol.map": protocols,
                "listeners": ",".join(listeners),
            }
            alter(ask, BROKER, *settings.items())
        assert ask(MetadataRequest([])).topics == []


@pytest.mark.parametrize("setting", ["num.io.threads", "background.threads"])
def test_repeated_doubling_of_a_pool_setting_is_refused_at_a_limit(
    tmp_path: Path, setting: str
) -> None:
    with attacked_broker(tmp_path) as attacked, client(attacked.broker) as ask:
        size, error = 8, 0
        while not error and size < 1 << 31:
            size *= 2
            error, _ = alter(ask, ALL_BROKERS, (setting, str(size)))
        assert error
        assert attacked.resident_bytes < 200 * MIB
