"""SSL listeners of a broker: stores of the start, and certificates that change while it runs."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.apis.configs import BROKER, SET, alter
from tests.certificates import CLIENT_NAME, authority, client, now, server, trusting, write_pem
from tests.network.secured import secured
from trio_kafka.broker.errors import StartError
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.security.tls.certificate import parse_certificate
from trio_kafka.security.tls.development import Identity
from trio_kafka.security.tls.errors import TlsError
from trio_kafka.security.tls.settings import TlsSettings
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.scripted_client import ScriptedClient
from trio_kafka.testing.simulation import simulated_world

ASK = ApiVersionsRequest("t", "1")
OK = (0, None)
LOCATION = "listener.name.ssl.ssl.keystore.location"


@pytest.fixture
def clock(autojump_clock: MockClock) -> MockClock:
    return autojump_clock


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return write_pem(server(), tmp_path / "broker.pem")


def of_file(store: Path) -> dict[str, str]:
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(store)}


@asynccontextmanager
async def tls_broker(settings: Mapping[str, str]) -> AsyncIterator[ServedBroker]:
    """A broker with one listener for changes, and one with TLS."""
    listeners = {"listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0"}
    async with served_broker(simulated_world(), listeners | dict(settings)) as served:
        yield served


async def connect(served: ServedBroker) -> ScriptedClient:
    """A client that the broker has answered."""
    asking = await secured(served.broker.world, served.broker.endpoints["SSL"])
    assert (await asking.ask(ASK, 3)).error_code == 0
    return asking


async def subject(served: ServedBroker) -> str:
    """Name in the certificate that a new connection gets."""
    asking = await connect(served)
    name = parse_certificate(asking.socket.peer_certificate).name
    asking.close()
    return name


@pytest.mark.parametrize("prefix", ["", "listener.name.ssl."])
async def test_a_listener_serves_the_certificate_of_its_settings(
    clock: MockClock, store: Path, prefix: str
) -> None:
    settings = {f"{prefix}{name}": text for name, text in of_file(store).items()}
    async with tls_broker(settings) as served:
        assert await subject(served) == "CN=broker"


async def test_the_broker_does_not_start_with_stores_that_cannot_be_used(
    clock: MockClock, tmp_path: Path, store: Path
) -> None:
    p12 = tmp_path / "broker.p12"
    p12.write_bytes(server().key_store("p4ss"))
    locked = write_pem(server(), tmp_path / "locked.pem", "k3y")
    foreign = tmp_path / "foreign.pem"
    foreign.write_text(server().key_pem() + client().pem)
    for settings, reason in (
        ({}, "ssl.keystore.location: listener SSL: is missing"),
        (of_file(tmp_path / "absent"), "absent: No such file"),
        (
            {"ssl.keystore.location": str(p12), "ssl.keystore.password": "wr0ng"},
            "broker.p12 cannot be opened: the password is wrong",
        ),
        ({"ssl.keystore.location": str(p12)}, "ssl.keystore.password: listener SSL: is missing"),
        (
            of_file(locked) | {"ssl.key.password": "wr0ng"},
            "locked.pem: the private key cannot be decrypted: check ssl.key.password",
        ),
        (of_file(foreign), "foreign.pem: the private key is not that of the first certificate"),
        (
            {"listener.name.ssl.ssl.keystore.location": str(tmp_path / "absent")},
            "listener.name.ssl.ssl.keystore.location: ",
        ),
        (of_file(store) | {"ssl.enabled.protocols": "TLSv1.1"}, "TLSv1.1 is not supported"),
        (
            of_file(store) | {"ssl.principal.mapping.rules": "RULE:x"},
            "ssl.principal.mapping.rules: 'RULE:x' is no rule",
        ),
    ):
        with pytest.raises(StartError) as caught:
            async with tls_broker(settings):
                pass
        assert reason in str(caught.value)
        assert "wr0ng" not in str(caught.value)


async def test_stores_of_the_controller_are_checked_and_its_listener_is_not_opened(
    clock: MockClock, tmp_path: Path, store: Path
) -> None:
    place = "listener.name.controller.ssl.keystore.location"
    settings = {
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:9093",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SSL",
        "ssl.keystore.type": "PEM",
    }
    with pytest.raises(StartError) as caught:
        async with tls_broker({**settings, place: str(tmp_path / "absent")}):
            pass
    assert str(caught.value).startswith(f"{place}: ")

    async with tls_broker({**settings, place: str(store)}) as served:
        assert list(served.broker.endpoints) == ["PLAINTEXT"]
        with pytest.raises(ConnectionRefusedError):
            await secured(served.broker.world, Endpoint("127.0.0.1", 9093))


async def test_an_expired_certificate_is_named_in_the_log(
    clock: MockClock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expired = authority().issue(now(), "broker", hosts=("broker",), days=-1)
    path = write_pem(expired, tmp_path / "old.pem")
    async with tls_broker(of_file(path)):
        pass

    (line,) = [r for r in caplog.records if r.getMessage() == "certificate is not valid now"]
    assert str(path) in str(vars(line))


async def test_a_new_certificate_serves_new_clients_and_keeps_open_connections(
    clock: MockClock, tmp_path: Path, store: Path
) -> None:
    renewed = write_pem(renewal(), tmp_path / "renewed.pem")
    async with tls_broker(of_file(store)) as served:
        first = await connect(served)
        before = first.socket.peer_certificate

        assert await alter(served, BROKER, "1", (LOCATION, SET, str(renewed))) == OK

        second = await connect(served)
        assert second.socket.peer_certificate != before
        for asking in (first, second):
            assert (await asking.ask(ASK, 3)).error_code == 0
            asking.close()


def renewal(
    name: str = "broker", hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "::1")
) -> Identity:
    return authority().issue(now(), name, hosts=hosts)


@pytest.mark.parametrize(
    ("name", "hosts", "allowed", "reason"),
    [
        ("other", ("localhost", "127.0.0.1", "::1"), "ssl.allow.dn.changes", "is of CN=other"),
        ("broker", ("localhost",), "ssl.allow.san.changes", "lacks alternative names"),
    ],
)
async def test_a_certificate_with_other_names_is_refused_unless_allowed(
    clock: MockClock,
    tmp_path: Path,
    store: Path,
    name: str,
    hosts: tuple[str, ...],
    allowed: str,
    reason: str,
) -> None:
    other = write_pem(renewal(name, hosts), tmp_path / "other.pem")
    for is_allowed in (False, True):
        settings = of_file(store) | {allowed: str(is_allowed).lower()}
        async with tls_broker(settings) as served:
            code, message = await alter(served, BROKER, "1", (LOCATION, SET, str(other)))

            assert code == (0 if is_allowed else ErrorCode.INVALID_REQUEST)
            assert is_allowed or reason in str(message)
            assert await subject(served) == f"CN={name if is_allowed else 'broker'}"


async def test_a_store_that_cannot_be_used_is_an_invalid_request(
    clock: MockClock, tmp_path: Path, store: Path
) -> None:
    async with tls_broker(of_file(store)) as served:
        code, message = await alter(served, BROKER, "1", (LOCATION, SET, str(tmp_path / "no")))

        assert code == ErrorCode.INVALID_REQUEST
        assert "no: No such file" in str(message)
        assert await subject(served) == "CN=broker"


async def test_a_changed_file_is_served_after_the_periodic_look_or_the_same_change(
    clock: MockClock, store: Path
) -> None:
    async with tls_broker(of_file(store)) as served:
        first = await certificate(served)
        write_pem(renewal(), store)
        await served.broker.parts.scheduler.run_now("trio-tls-certificates")
        second = await certificate(served)
        write_pem(renewal(), store)
        assert await alter(served, BROKER, "1", (LOCATION, SET, str(store))) == OK
        third = await certificate(served)
        write_pem(renewal(), store)
        assert await alter(served, BROKER, "1", (LOCATION, SET, str(store))) == OK

        assert len({first, second, third, await certificate(served)}) == 4


async def test_a_file_that_becomes_invalid_is_logged_once_and_not_used(
    clock: MockClock, store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with tls_broker(of_file(store)) as served:
        first = await certificate(served)
        store.write_text("-----BEGIN nonsense")
        for _ in range(3):
            await served.broker.parts.scheduler.run_now("trio-tls-certificates")

        assert await certificate(served) == first
    lines = [r for r in caplog.records if r.getMessage() == "certificate could not be used"]
    assert len(lines) == 1


async def certificate(served: ServedBroker) -> bytes | None:
    asking = await connect(served)
    peer_certificate: bytes | None = asking.socket.peer_certificate
    asking.close()
    return peer_certificate


async def test_an_ssl_listener_can_be_added_while_the_broker_runs(
    clock: MockClock, store: Path
) -> None:
    added = {"listener.name.ssl.ssl.keystore.type": "PEM", LOCATION: str(store)}
    async with served_broker(simulated_world(), {"listeners": "PLAINTEXT://127.0.0.1:0"}) as served:
        changes = [(name, SET, text) for name, text in added.items()]
        listeners = ("listeners", SET, "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0")
        code, message = await alter(served, BROKER, "1", listeners)
        assert code == ErrorCode.INVALID_REQUEST
        assert "ssl.keystore.location" in str(message)

        assert await alter(served, BROKER, "1", *changes, listeners) == OK

        assert await subject(served) == "CN=broker"


async def test_dynamic_stores_that_are_gone_at_the_next_start_are_replaced_by_those_of_the_files(
    clock: MockClock, tmp_path: Path, store: Path
) -> None:
    renewed = write_pem(renewal(), tmp_path / "renewed.pem")
    world = simulated_world()
    listeners = {"listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0"}
    async with served_broker(world, listeners | of_file(store)) as served:
        assert await alter(served, BROKER, "1", (LOCATION, SET, str(renewed))) == OK
    renewed.unlink()
    async with served_broker(world, listeners | of_file(store)) as served:
        assert await subject(served) == "CN=broker"


async def test_secrets_of_stores_are_not_described(clock: MockClock, store: Path) -> None:
    settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": server().key_pem(),
        "ssl.keystore.certificate.chain": server().pem,
    }
    async with tls_broker(settings) as served:
        assert "PRIVATE KEY" not in repr(served.broker.config)
        assert await subject(served) == "CN=broker"


async def test_certificates_are_swapped_under_load_without_an_error(
    clock: MockClock, store: Path
) -> None:
    async with tls_broker(of_file(store)) as served:
        answered = 0

        async def ask_often(until: trio.Event) -> None:
            nonlocal answered
            while not until.is_set():
                asking = await connect(served)
                for _ in range(3):
                    assert (await asking.ask(ASK, 3)).error_code == 0
                    answered += 1
                asking.close()

        done = trio.Event()
        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(ask_often, done)
            for _ in range(10):
                write_pem(renewal(), store)
                assert await alter(served, BROKER, "1", (LOCATION, SET, str(store))) == OK
                await trio.sleep(0.01)
            done.set()
        assert answered >= 30


async def test_what_a_listener_asks_and_trusts_changes_while_it_serves(
    clock: MockClock, store: Path
) -> None:
    own = "listener.name.ssl.ssl."
    stranger = Identity.authority(now(), "others")
    client_settings = trusting(client(), endpoint_identification_algorithm="")
    new = trusting(stranger.issue(now(), "CN=eve"), endpoint_identification_algorithm="")
    async with tls_broker(of_file(store)) as served:
        first = await connect(served)

        async def is_served(settings: TlsSettings | None) -> bool:
            try:
                asking = await secured(
                    served.broker.world, served.broker.endpoints["SSL"], settings
                )
                code = (await asking.ask(ASK, 3)).error_code
                asking.close()
            except (TlsError, EOFError, ConnectionError):
                return False
            return not code

        async def served_kinds() -> list[bool]:
            """Clients without a certificate, with one, and with one of another authority."""
            return [await is_served(settings) for settings in (None, client_settings, new)]

        assert await served_kinds() == [True] * 3
        trust = (f"{own}truststore.type", SET, "PEM")
        ours = (f"{own}truststore.certificates", SET, authority().pem)
        required = (f"{own}client.auth", SET, "required")
        assert await alter(served, BROKER, "1", trust, ours, required) == OK
        assert await served_kinds() == [False, True, False]

        both = (f"{own}truststore.certificates", SET, authority().pem + stranger.pem)
        assert await alter(served, BROKER, "1", both) == OK
        assert await served_kinds() == [False, True, True]

        theirs = (f"{own}truststore.certificates", SET, stranger.pem)
        requested = (f"{own}client.auth", SET, "requested")
        assert await alter(served, BROKER, "1", theirs, requested) == OK
        assert await served_kinds() == [True, False, True]

        assert (await first.ask(ASK, 3)).error_code == 0  # an open connection stays
        first.close()


async def test_a_listener_maps_names_by_rules_of_its_own(clock: MockClock, store: Path) -> None:
    listeners = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0,OWN://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,OWN:SSL",
        "ssl.client.auth": "required",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": authority().pem,
        "ssl.principal.mapping.rules": "DEFAULT",
        "listener.name.own.ssl.principal.mapping.rules": "RULE:^CN=([^,]+),.*$/$1/U",
    }
    async with tls_broker(listeners | of_file(store)) as served:
        principals = {}
        for name in ("SSL", "OWN"):
            settings = trusting(client(), endpoint_identification_algorithm="")
            asking = await secured(served.broker.world, served.broker.endpoints[name], settings)
            assert (await asking.ask(ASK, 3)).error_code == 0
            (connection,) = [
                connection
                for processor in served.broker.parts.planes[0].processors
                for connection in processor.connections.values()
                if connection.listener.name == name
            ]
            principals[name] = str(connection.principal)
            asking.close()

    assert principals == {"SSL": f"User:{CLIENT_NAME}", "OWN": "User:ANN"}


async def test_wrong_rules_of_a_listener_are_named_by_its_setting(
    clock: MockClock, store: Path
) -> None:
    own = {"listener.name.ssl.ssl.principal.mapping.rules": "RULE:x"}
    with pytest.raises(StartError, match=r"^listener\.name\.ssl\.ssl\.principal\.mapping\.rules"):
        async with tls_broker(own | of_file(store)):
            pass


@pytest.mark.parametrize(
    ("more", "lines"),
    [
        ({"ssl.client.auth": "requested"}, 1),
        ({}, 0),
        (
            {
                "ssl.client.auth": "required",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.certificates": authority().pem,
            },
            0,
        ),
    ],
)
async def test_a_listener_whose_clients_any_public_authority_can_name_is_logged(
    clock: MockClock,
    store: Path,
    caplog: pytest.LogCaptureFixture,
    more: dict[str, str],
    lines: int,
) -> None:
    async with tls_broker(more | of_file(store)):
        pass

    assert caplog.text.count("accepted from every public authority") == lines
