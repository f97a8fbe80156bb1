import re
from collections import Counter
from pathlib import Path

import trio
from trio.testing import MockClock

from tests.broker.sasl import LISTENER, log_in, sasl_broker
from tests.certificates import server, write_pem
from tests.network.secured import secured
from tests.trio_kafka_metrics.kit import harness, read
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.scripted_client import request_frame
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_metrics.network import MOST_SOFTWARE, OTHER, read_network

OF_PROCESSORS = "kafka_server_socket_server_metrics_"
CONNECTIONS = f"{OF_PROCESSORS}connection_count"
SOFTWARE = f"{OF_PROCESSORS}connections_software"
SUITES = f"{OF_PROCESSORS}connections_tls_info"


def totals(samples: dict[str, float]) -> Counter[str]:
    """Sums over all processors, by the end of the name."""
    sums: Counter[str] = Counter()
    for name, value in samples.items():
        if name.startswith(OF_PROCESSORS):
            sums[name.removeprefix(OF_PROCESSORS).partition("{")[0]] += value
    return sums


async def test_connections_are_counted_by_listener_and_client_software(
    autojump_clock: MockClock,
) -> None:
    async with harness({"plugin.metrics.requests": "false"}) as plugin_harness:
        await plugin_harness.ask(
            ApiVersionsRequest(client_software_name="rd", client_software_version="2.1")
        )
        result = read(read_network, plugin_harness.parts)

    counts = [value for name, value in result.items() if name.startswith(CONNECTIONS)]
    assert sorted(counts) == [0, 1, 1]
    of_rd = [name for name in result if "clientSoftwareName=rd,clientSoftwareVersion=2.1" in name]
    assert len(of_rd) == 1
    assert result[of_rd[0]] == 1
    assert any("clientSoftwareName=unknown" in name for name in result)
    assert 0 <= result["kafka_network_socketserver_networkprocessoravgidle_percent"] <= 1
    assert 0 <= result["kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent"] <= 1
    assert result["kafka_network_requestchannel_requestqueuesize"] == 0


async def test_number_and_length_of_client_software_labels_are_bounded(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.ask(
            ApiVersionsRequest("a", "1")
        )  # it has come to its processor
        (processor,) = [
            candidate
            for candidate in plugin_harness.parts.planes[0].processors
            if candidate.connections
        ]
        (real,) = processor.connections.values()

        class Named:
            """A connection, as far as it is looked at."""

            def __init__(self, number: int) -> None:
                self.software = (f"{number}" * 500, "v")

        processor.connections.update({-n: Named(n) for n in range(1, 1000)})
        result = read(read_network, plugin_harness.parts)
        for n in range(1, 1000):
            del processor.connections[-n]
        assert list(processor.connections.values()) == [real]

    named = {name: value for name, value in result.items() if name.startswith(SOFTWARE)}
    assert len(named) == MOST_SOFTWARE + 1
    assert max(map(len, named)) < 300
    rest = [value for name, value in named.items() if f"clientSoftwareName={OTHER[0]}" in name]
    assert len(rest) == 1
    assert sum(named.values()) == 1000
    assert result["steps"] >= 3 + 1000 // 256


async def test_request_memory_metric_is_absent_if_the_memory_is_unbounded(
    autojump_clock: MockClock,
) -> None:
    async with harness({"plugin.metrics.max.series": "9"}) as free:
        assert "kafka_network_socketserver_memorypoolused" not in read(read_network, free.parts)


async def test_logins_and_sessions_are_counted_under_the_names_of_kafka(
    autojump_clock: MockClock,
) -> None:
    async with sasl_broker({"connections.max.reauth.ms": "2000"}) as served:
        async with served.connect(LISTENER) as client:
            await log_in(client)
            await trio.sleep(1.5)
            await log_in(client)
            await client.ask(SaslHandshakeRequest("PLAIN"), 1)  # too early for another renewal
            await trio.sleep(2.5)
            await client.send(request_frame(ApiVersionsRequest("a", "1"), 3))
            assert await client.wait_closed()
        async with served.connect(LISTENER) as client:
            await client.ask(SaslHandshakeRequest("PLAIN"), 1)
            old = await client.ask(SaslAuthenticateRequest(b"\0ann\0secret"), 0)
            assert old.error_code == 0
        async with served.connect(LISTENER) as client:
            assert (await log_in(client, "ann", "wrong")).error_code
        sums = totals(read(read_network, served.broker.parts))

    assert sums["successful_authentication_total"] == 2
    assert sums["successful_authentication_no_reauth_total"] == 1
    assert sums["failed_authentication_total"] == 1
    assert sums["successful_reauthentication_total"] == 1
    assert sums["failed_reauthentication_total"] == 0
    assert sums["expired_connections_killed_count"] == 1
    assert 0 <= sums["reauthentication_latency_avg"] <= sums["reauthentication_latency_max"] < 50


async def test_connections_with_tls_are_counted_by_suite_and_their_handshakes_are_logins(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    more = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(write_pem(server(), tmp_path / "broker.pem")),
    }
    async with served_broker(simulated_world(), more) as served:
        client = await secured(served.broker.world, served.broker.endpoints["SSL"])
        await client.ask(ApiVersionsRequest("a", "1"), 3)
        async with served.connect("SSL") as plain:
            await plain.send(request_frame(ApiVersionsRequest("a", "1"), 3))
            await plain.wait_closed()
        samples = read(read_network, served.broker.parts)
        client.close()

    suite = {name: value for name, value in samples.items() if name.startswith(SUITES)}
    ((name, count),) = suite.items()
    assert re.search(r"cipher=TLS_AES_\w+,listener=SSL,networkProcessor=\d+,protocol=TLSv1.3", name)
    assert count == 1
    assert totals(samples)["successful_authentication_total"] == 1
    assert totals(samples)["successful_authentication_no_reauth_total"] == 1
    assert totals(samples)["failed_authentication_total"] == 1
