"""Directories before and after formatting, and those that formatting leaves alone."""

import pytest

from tests.broker.kit import APIS, config_of, content_of, live_once, logs_of
from tests.broker.sasl import LISTENER, SASL, sasl_broker
from trio_kafka.broker import Broker, StartError
from trio_kafka.broker.main import format_directories, format_in
from trio_kafka.broker.storage import open_storage
from trio_kafka.log.manager.meta_properties import MetaProperties, read_meta_properties
from trio_kafka.model import NodeId
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from trio_kafka.security.sasl.first_users import first_user
from trio_kafka.security.sasl.scram import SHA_256
from trio_kafka.security.sasl.scram_client import scram


async def format_once(world, config, *, cluster_id: str | None = None, again: bool = False) -> None:
    await format_in(world, config, cluster_id=cluster_id, ignore_formatted=again)
    assert world.locks == {}


async def test_formatted_directories_share_a_cluster_id_and_have_distinct_directory_ids(
    world, autojump_clock
) -> None:
    await format_once(world, config_of(log_dirs="/a,/b"), cluster_id="mine")

    first, second = [await read_meta_properties(world.directory(path)) for path in ("/a", "/b")]
    assert (first.node_id, first.cluster_id) == (second.node_id, second.cluster_id) == (1, "mine")
    assert first.directory_id != second.directory_id
    assert world.directory("/a").exists("__cluster_metadata-0")
    assert not world.directory("/b").exists("__cluster_metadata-0")


async def test_first_users_of_a_new_cluster_can_log_in(world, autojump_clock) -> None:
    user = first_user("SCRAM-SHA-256=[name=ann,password=secret]", world.random_bytes)
    await format_in(world, config_of(), cluster_id=None, ignore_formatted=False, users=[user])
    settings = {**SASL, "sasl.enabled.mechanisms": "SCRAM-SHA-256"}

    async with sasl_broker(settings, world) as served, served.connect(LISTENER) as client:
        exchange = scram(SHA_256, "ann", "secret", nonce="n")
        await client.ask(SaslHandshakeRequest("SCRAM-SHA-256"), 1)
        first = await client.ask(SaslAuthenticateRequest(next(exchange)), 2)
        last = await client.ask(SaslAuthenticateRequest(exchange.send(first.auth_bytes)), 2)

    assert (first.error_code, last.error_code) == (0, 0)


@pytest.mark.parametrize(
    ("advertised", "host"),
    [("PLAINTEXT://h:1,CONTROLLER://voter.example:9", b"voter.example"), (None, b"localhost")],
)
async def test_a_new_cluster_has_the_advertised_address_of_its_controller(
    world, autojump_clock, advertised, host
) -> None:
    settings = {
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://0.0.0.0:9093",
    }
    if advertised is not None:
        settings["advertised.listeners"] = advertised

    await format_once(world, config_of(settings))

    directory = "/data/__cluster_metadata-0"
    (checkpoint,) = world.directory(directory).names()
    assert host in content_of(world, directory, checkpoint)


async def test_formatting_a_formatted_directory_is_refused_unless_ignored(
    world, autojump_clock
) -> None:
    config = config_of()
    await format_once(world, config, cluster_id="mine")
    before = content_of(world, "/data", "meta.properties")

    with pytest.raises(StartError, match=r"^/data is already formatted for cluster mine: name an"):
        await format_once(world, config)
    await format_once(world, config, cluster_id="other", again=True)

    assert content_of(world, "/data", "meta.properties") == before


async def test_directory_that_is_not_empty_is_not_formatted(world, autojump_clock) -> None:
    world.directory("/b", create=True).create("photo.jpeg")

    with pytest.raises(StartError, match=r"^/b has no meta.properties and is not empty \(photo"):
        await format_once(world, config_of(log_dirs="/a,/b"))

    assert world.directory("/a").names() == [".lock"]


async def test_directory_with_only_lost_and_found_is_formatted(world, autojump_clock) -> None:
    world.directory("/data/lost+found", create=True)

    await format_once(world, config_of())

    assert world.directory("/data").exists("meta.properties")


async def test_lost_metadata_directory_is_not_formatted_again(world, autojump_clock) -> None:
    await format_once(world, config_of(log_dirs="/b"))

    with pytest.raises(StartError, match=r"^/a is not formatted, but /b is"):
        await format_once(world, config_of(log_dirs="/a,/b"), again=True)


async def test_empty_directory_joins_formatted_directories_at_the_start(
    world, autojump_clock
) -> None:
    await format_once(world, config_of(log_dirs="/a"), cluster_id="mine")

    async with Broker(config_of(log_dirs="/a,/b"), world, apis=APIS):
        pass

    assert (await read_meta_properties(world.directory("/b"))).cluster_id == "mine"


async def test_identity_without_a_directory_id_gets_a_directory_id_by_formatting(
    world, autojump_clock
) -> None:
    old = MetaProperties(node_id=NodeId(1), cluster_id="mine")
    world.directory("/data", create=True).create("meta.properties").append([old.encode()])

    await format_once(world, config_of(), again=True)

    properties = await read_meta_properties(world.directory("/data"))
    assert (properties.cluster_id, len(properties.directory_id)) == ("mine", 22)


async def test_formatting_again_keeps_the_checkpoints_of_the_logs(world, autojump_clock) -> None:
    world = await live_once(world, config_of(), clean=True)
    before = content_of(world, "/data", "recovery-point-offset-checkpoint")
    assert b"t 0 1" in before

    await format_once(world, config_of(), again=True)

    assert content_of(world, "/data", "recovery-point-offset-checkpoint") == before


async def test_formatting_interrupted_after_the_identity_is_completed_by_the_next_start(
    world, autojump_clock
) -> None:
    config = config_of()
    logs = logs_of(world, config)
    storage = await open_storage(world, config, logs, format_if_empty=True)
    metadata = world.directory("/data/__cluster_metadata-0")
    for name in metadata.names():
        await metadata.unlink(name)
    logs.abandon()

    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        assert broker.storage.identity == storage.identity


def test_format_directories_returns_status_0_once_and_then_1_with_messages(
    tmp_path, caplog
) -> None:
    config = config_of(log_dirs=str(tmp_path / "data"))

    with caplog.at_level("INFO"):
        statuses = [
            format_directories(config, cluster_id="mine", ignore_formatted=False) for _ in range(2)
        ]

    assert statuses == [0, 1]
    keys_of_passwords = tmp_path / "data" / "__cluster_metadata-0"
    assert keys_of_passwords.stat().st_mode & 0o777 == 0o700
    assert [record.getMessage() for record in caplog.records] == [
        "directories formatted",
        "nothing was formatted",
    ]
